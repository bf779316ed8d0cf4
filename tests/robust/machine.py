"""Random bytes and instructions as code, in random states, on an engine between protected pages."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from pathlib import Path

from emu.cpu import state_tools
from emu.cpu.engine import RETURN_ADDRESS, Engine
from emu.cpu.options import EngineOptions
from emu.cpu.traps import Trap
from emu.image import Image, load_image
from emu.isa.encode import encode_word
from emu.isa.table import Row, rows
from tests.cpu.lab import CODE, DATA, assemble
from tests.cpu.test_windows import VECTORS
from tests.image.elf_files import Name, Part, make_elf

BUDGET = 200
SIZE = 96
"""Bytes of a program; what it jumps to lies mostly inside."""
VECTOR_BASE = CODE + 0x8000
READ_ONLY = 0x3C010000
PATTERN = bytes(range(256)) * 16
ARENA_SHOWN = 8192
"""Bytes of PSRAM that programs point into."""
_SKIP = """
    wsr.excsave1 a0
    rsr.epc1 a0
    addi a0, a0, 3
    wsr.epc1 a0
    rsr.excsave1 a0
    rfe
"""
"""General exceptions go on behind the instruction, so that programs get somewhere."""
_HANDLERS = {
    0x180: "rfi 2",
    0x1C0: "rfi 3",
    0x200: "rfi 4",
    0x240: "rfi 5",
    0x280: "rfi 6",
    0x2C0: "rfi 7",
    0x300: _SKIP,
    0x340: _SKIP,
    0x3C0: "l32r a0, end\n jx a0",
}
"""By offset; a double exception ends the run."""


def image() -> Image:
    """Room for the programs, window handlers, and a page that nobody may change."""
    parts = [
        Part(CODE, bytes(256)),
        Part(VECTOR_BASE - 16, bytes(16) + _vectors(), name=".vectors"),
        Part(READ_ONLY, PATTERN, "r", name=".rodata"),
    ]
    return load_image(make_elf(parts, [Name("program", CODE, 256)]), "random.elf")


def _vectors() -> bytes:
    code = bytearray(assemble(VECTORS, VECTOR_BASE).data.ljust(0x400, b"\0"))
    for offset, text in _HANDLERS.items():
        made = assemble(text, VECTOR_BASE + offset, end=VECTOR_BASE - 4).data
        code[offset : offset + len(made)] = made
    return bytes(code)


def random_row_word(row: Row, rng: random.Random) -> bytes:
    """An instruction of a row with random fields; labels go somewhere near."""
    values = {}
    for operand in row.operands:
        kind = operand.kind
        value = kind.value(rng.randrange(1 << kind.width))
        values[operand.name] = (CODE + value) & 0xFFFFFFFF if kind.cls == "label" else value
    word = encode_word(row, values, CODE) | rng.getrandbits(8 * row.length) & row.ignored
    return word.to_bytes(row.length, "little")


def program(rng: random.Random) -> bytes:
    """Random bytes, random instructions, or those with a few bits flipped."""
    kind = rng.randrange(3)
    if kind == 0:
        return rng.randbytes(SIZE)
    table = rows()
    code = b"".join(random_row_word(rng.choice(table), rng) for _ in range(SIZE // 3))
    flipped = bytearray(code)
    for _ in range(4 * (kind - 1)):
        flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
    return bytes(flipped)


@dataclass
class Ended:
    """How a program ended: a trap kind or exit reason, and everything that can be compared."""

    how: str
    values: dict[str, int] = field(repr=False)
    memory: bytes = field(repr=False)
    instructions: int


class Machine:
    """One engine for many programs."""

    def __init__(self, tier: str, exceptions: str, cache: Path | None = None) -> None:
        options = EngineOptions(
            tier=tier,  # type: ignore[arg-type]
            exceptions=exceptions,  # type: ignore[arg-type]
            guard_pages=True,
            track_fsr=True,
            watch=False,
            cache_dir=cache,
        )
        self.engine = Engine(image(), options)
        self.engine.memory.write(VECTOR_BASE - 4, RETURN_ADDRESS.to_bytes(4, "little"))
        self.vectors = self.engine.memory.read(VECTOR_BASE, 0x400)
        self.shown = (
            self.engine.memory.view(DATA, 8192),
            self.engine.memory.view(self.engine.arena.start, ARENA_SHOWN),
            self.engine.memory.view(self.engine.stack.start, self.engine.stack.size),
            self.engine.memory.view(CODE, 4096),
        )

    def run(self, seed: int) -> Ended:
        """Run program number ``seed`` in its random state. Raises what is no classified end."""
        rng = random.Random(seed)
        engine, state = self.engine, self.engine.state
        self._prepare(rng)
        before = state.instructions
        try:
            how = engine.advance().name
        except Trap as trap:
            text = str(trap)
            assert text.strip()
            assert "0x" in text
            how = trap.kind.name
        assert state.instructions - before <= BUDGET, (
            f"seed {seed}: {state.instructions - before} instructions"
        )
        assert engine.memory.read(READ_ONLY, len(PATTERN)) == PATTERN, (
            f"seed {seed}: read-only memory changed"
        )
        memory = b"".join(bytes(view) for view in self.shown)
        return Ended(how, state_tools.values(state), memory, state.instructions - before)

    def _prepare(self, rng: random.Random) -> None:
        engine, state = self.engine, self.engine.state
        engine.reset()
        state_tools.dirty(state, rng.getrandbits(32))
        state_tools.prepare_call(state)
        places = (DATA, engine.arena.start, engine.stack.start + 4096, READ_ONLY, CODE)
        for i in range(16):
            if rng.random() < 0.8:
                state.set_a(i, rng.choice(places) + rng.randrange(4096))
            elif rng.random() < 0.5:
                state.set_a(i, rng.randrange(64))
        state.WindowStart = rng.choice((1, 1, 1 | rng.getrandbits(16)))
        state.LCOUNT = rng.choice((0, 0, 3))
        state.LBEG, state.LEND = CODE, CODE + rng.randrange(SIZE)
        state.CPENABLE = rng.choice((0xFF, 0xFF, 0xFF, rng.getrandbits(8)))
        state.RoundMode = rng.choice((0, 0, 0, rng.randrange(4)))
        if engine.options.exceptions == "vectors":
            self._arm(rng)
        state.PC, state.VECBASE = CODE, VECTOR_BASE >> 10
        state.budget = BUDGET
        for view in self.shown:
            view[:] = 0
        engine.memory.write(CODE, program(rng).ljust(4096, b"\0"))
        if engine.memory.read(VECTOR_BASE, 0x400) != self.vectors:
            engine.memory.write(VECTOR_BASE, self.vectors)
        engine.stepper.begin()
        engine.interrupts.reset()

    def _arm(self, rng: random.Random) -> None:
        """Timers that may fire, and interrupts that random code may request."""
        state = self.engine.state
        state.INTENABLE = rng.choice((0, rng.getrandbits(32)))
        for timer in range(3):
            setattr(state, f"CCOMPARE{timer}", rng.randrange(2 * BUDGET))


def check_widths(machine: Machine) -> None:
    """Every value lies within its width: whatever ran, the state is one that a chip could have."""
    state = machine.engine.state
    for name, value in state_tools.values(state).items():
        width = state_tools.STATES.get(name)
        assert width is None or value < 1 << width, name
    for name in ("QACC_H", "QACC_L"):
        assert not any(bytes(getattr(state, name))[20:])
