"""Two processors with equal memories, one for the stepper and one for translated code."""

import ctypes
import random

import numpy as np

from emu.cpu.diagnostics import Diagnostics
from emu.cpu.memory import Memory
from emu.cpu.options import EngineOptions
from emu.cpu.readings import choose
from emu.cpu.shadow import INIT, READ, WRITE
from emu.cpu.state import OFFSETS, SIZE, STATES, CpuState, ExitReason, address_of, new_state
from emu.cpu.stepper import Stepper
from emu.cpu.trapping import TrapMaker
from emu.cpu.traps import Trap
from tests.cpu.ir_harness import FLOAT_EDGES, interesting

CODE, CODE_SIZE = 0x40380000, 0x10000
DATA, DATA_SIZE = 0x3FC90000, 0x2000
STOP = 0x4FFFFFF0

_ENGINE_64 = slice(OFFSETS["instructions"], OFFSETS["engine_data"] + 8)
_EXITS = OFFSETS["exit_reason"]


class Side:
    """A processor with its memory; looks like an Engine to the translator."""

    def __init__(self, options):
        self.options = options
        self.memory = Memory()
        self.memory.add_ram("code", CODE, CODE_SIZE, "rwx")
        self.memory.add_ram("data", DATA, DATA_SIZE, "rw")
        if options.bounds:
            self.memory.shadow.enable(options.check_init)
            self.memory.shadow.allow(CODE, CODE_SIZE, READ | WRITE | INIT)
        self.state = new_state()
        self.readings = choose(options.readings)
        self.track_fsr = bool(options.track_fsr)
        self.diagnostics = Diagnostics()
        traps = TrapMaker(self.state, self.memory, return_address=STOP)
        vectors = options.exceptions == "vectors"
        self.stepper = Stepper(self.state, self.memory, traps, self.diagnostics, STOP, vectors)
        machine = self.stepper.machine
        machine.fused, machine.track_fsr, machine.watch = options.fused == "fused", self.track_fsr, False
        machine.readings = self.readings
        machine.run_service = lambda name, values: 0x5A5A5A5A
        self.connect()

    def connect(self):
        self.state.read_pages = self.memory.read_pages_address
        self.state.write_pages = self.memory.write_pages_address
        self.state.shadow_pages = self.memory.shadow.pages_address

    def load(self, snapshot, data, permissions):
        """All but the engine's pointers from ``snapshot``; ``data`` and, under the map, ``permissions``."""
        ctypes.memmove(address_of(self.state), snapshot, SIZE)
        self.connect()
        self.memory.view(DATA, DATA_SIZE)[:] = data
        if self.options.bounds:
            for part in self.memory.shadow._parts(DATA, DATA_SIZE):
                part[:] = permissions

    def image(self):
        """The architectural state, instructions, the data region, its permissions."""
        raw = ctypes.string_at(address_of(self.state), _EXITS)
        count = self.state.instructions
        return (
            raw[: _ENGINE_64.start] + raw[_ENGINE_64.stop :],
            count,
            bytes(self.memory.view(DATA, DATA_SIZE)),
        )

    def step_through(self, start, limit=6):
        """Step while PC stays at ``start`` and there is budget; the trap's kind, or None."""
        try:
            for _ in range(limit):
                self.stepper.step()
                if start != self.state.PC or self.state.budget <= 0:
                    break
        except Trap as trap:
            return trap.kind
        return None


def difference(a: CpuState, b: CpuState):
    """Names and values that differ, for messages."""
    from emu.cpu.state_tools import compare

    return {name: (hex(x), hex(y)) for name, (x, y) in compare(a, b).items()}


_MODE = {"PSEXCM": 0, "PSWOE": 1, "RoundMode": 0, "CPENABLE": 0xFF}
_QUIET = (
    "INTENABLE",
    "INTERRUPT",
    "ICOUNT",
    "ICOUNTLEVEL",
    "IBREAKENABLE",
    "DBREAKC0",
    "DBREAKC1",
    "InOCDMode",
)


def random_state(rng, pc, next_pc, loop_begin):
    """A dirty machine at ``pc``: pointers into the data region, extremes, windows, loops."""
    state = new_state()
    for i in range(64):
        state.ar[i] = random_word(rng)
    for i in range(8):
        state.set_q(i, interesting(rng, 128))
    for i in range(16):
        state.f[i] = rng.choice(FLOAT_EDGES) if rng.random() < 0.5 else interesting(rng, 32)
    for i in range(4):
        state.mr[i] = interesting(rng, 32)
    state.br = rng.getrandbits(16)
    for name, width in STATES.items():
        state.set(name, 0 if name in _QUIET else interesting(rng, width))
    for name, value in _MODE.items():
        state.set(name, value)
    state.VECBASE = CODE >> 10
    state.PSCALLINC = rng.randrange(4)
    state.PSINTLEVEL = rng.randrange(16)
    state.WindowBase = rng.randrange(16)
    starts = 1 << state.WindowBase
    for _ in range(rng.choice([0, 0, 0, 1, 2, 3, 5, 64])):
        starts |= 1 << rng.randrange(16)
    state.WindowStart = starts
    if rng.random() < 0.6:
        # A return address that fits: retw needs it, and everything else takes it as a number.
        state.ar[4 * state.WindowBase] = rng.randrange(4) << 30 | (CODE + rng.randrange(256)) & 0x3FFFFFFF
    state.LCOUNT = rng.choice([0, 0, 1, 2, 0xFFFFFFFF, rng.getrandbits(32)])
    ends = [0, 0xFFFFFFFF]
    state.LEND = rng.choice(
        [next_pc, next_pc, next_pc, rng.getrandbits(32), CODE + rng.randrange(512), *ends]
    )
    state.LBEG = rng.choice([loop_begin, loop_begin, pc, next_pc, CODE + 0x400, *ends])
    state.PC = pc
    state.instructions = rng.getrandbits(40)
    state.budget = 3
    return state


def random_bytes(rng):
    """Contents of the data region."""
    return np.frombuffer(rng.randbytes(64) * (DATA_SIZE // 64), np.uint8)


def random_permissions(rng):
    """Shadow bytes of the data region: mostly everything is allowed, in stretches something is not."""
    found = np.full(DATA_SIZE, READ | WRITE | INIT, np.uint8)
    for _ in range(rng.choice([0, 0, 4, 40])):
        start = rng.randrange(DATA_SIZE)
        found[start : start + rng.choice([1, 1, 2, 7, 16, 100])] = rng.randrange(8)
    return found


def random_word(rng):
    """32 bits: mostly an address inside the data region, at any alignment."""
    if rng.random() < 0.6:
        return DATA + 512 + rng.randrange(DATA_SIZE - 1024)
    if rng.random() < 0.1:
        return DATA + rng.choice([0x1000 - 4, 0x1000, 0, DATA_SIZE]) + rng.randint(-20, 20)
    return interesting(rng, 32)


def options(**changes):
    return EngineOptions(**{"track_fsr": True, "watch": False, **changes})


__all__ = ["CODE", "DATA", "STOP", "ExitReason", "Side", "difference", "options", "random", "random_state"]
