"""A processor on a bench: any PIE instruction on any contents, on the reference stepper.

`Case` holds an instruction and everything it may read; `Bench.step` runs it and returns the processor's
state and memory; `expect` makes the same from the second formulation in pie_reference.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pie_reference as reference

from emu.cpu.diagnostics import Diagnostics
from emu.cpu.memory import Memory
from emu.cpu.readings import choose
from emu.cpu.state import CpuState, new_state
from emu.cpu.state_tools import compare, copy, dirty, reset
from emu.cpu.stepper import Stepper
from emu.cpu.trapping import TrapMaker
from emu.isa.encode import assemble_one, encode
from emu.isa.table import Operand, Row, by_key, rows

PIE_ROWS = [row for row in rows() if row.group == "pie"]
CODE, DATA, SIZE = 0x40370000, 0x3FC90000, 0x3000
TOP = 0xFFFFF000
"""A page at the end of the address space, so that pointers wrap."""
STATES = ("ACCX", "QACC_L", "QACC_H", "SAR", "SAR_BYTE", "UA_STATE", "FFT_BIT_WIDTH", "GPIO_OUT", "GPIO_IN")
WIDTHS = {"ACCX": 40, "QACC_L": 160, "QACC_H": 160, "SAR": 6, "SAR_BYTE": 4, "UA_STATE": 128}
WIDTHS |= {"FFT_BIT_WIDTH": 4, "GPIO_OUT": 8, "GPIO_IN": 8}


@dataclass
class Case:
    """Operand values by name, a0..a15, q0..q7, f0..f15 and states (what is left out stays dirty)."""

    mnemonic: str
    operands: dict[str, int]
    a: dict[int, int] = field(default_factory=dict)
    q: dict[int, int] = field(default_factory=dict)
    f: dict[int, int] = field(default_factory=dict)
    state: dict[str, int] = field(default_factory=dict)


class Bench:
    """One stepper with a page of code, `SIZE` bytes of data and a page at the top of memory."""

    def __init__(self, readings: Mapping[str, str] | None = None, seed: int = 1) -> None:
        self.memory = Memory()
        self.memory.add_ram("code", CODE, 0x1000, "rwx")
        self.memory.add_ram("data", DATA, SIZE)
        self.memory.add_ram("top", TOP, 0x1000)
        self.state: CpuState = new_state()
        reset(self.state)
        dirty(self.state, seed)
        self.state.PSEXCM, self.state.WindowBase, self.state.WindowStart = 0, 13, 1 << 13
        self.diagnostics = Diagnostics()
        self.stepper = Stepper(self.state, self.memory, TrapMaker(self.state, self.memory), self.diagnostics)
        self.stepper.machine.readings = choose(readings)
        self.fill(random.Random(seed).randbytes(SIZE))

    def fill(self, data: bytes, address: int = DATA) -> None:
        """Put bytes into memory."""
        self.memory.write(address, data)

    def put(self, case: Case) -> None:
        """Load the case's registers and states, and its instruction at CODE."""
        for number, value in case.a.items():
            self.state.set_a(number, value)
        for number, value in case.q.items():
            self.state.set_q(number, value)
        for number, value in case.f.items():
            self.state.f[number] = value
        for name, value in case.state.items():
            self.state.set(name, value)
        row = by_key()[case.mnemonic]
        self.memory.write(CODE, encode(row, case.operands))
        self.state.PC, self.state.budget = CODE, 1000

    def step(self, case: Case) -> CpuState:
        """Run the case's instruction; the state before it is returned."""
        self.put(case)
        before = copy(self.state)
        self.stepper.step()
        return before

    def run(self, *program: tuple[str | int, ...], at: int = CODE) -> None:
        """Place instructions, each a mnemonic and its operands in assembler order, and step through them.

        Stops behind the last one, also after loops.
        """
        code = b""
        for mnemonic, *operands in program:
            code += assemble_one(str(mnemonic), *map(int, operands), pc=at + len(code))
        self.memory.write(at, code)
        self.state.PC, self.state.budget = at, 100_000
        while at + len(code) != self.state.PC:
            self.stepper.step()

    def q(self, number: int, kind: str = "u8") -> list[int]:
        """Lanes of a vector register: kind "s8", "u32", ..."""
        return reference.items(self.state.get_q(number).to_bytes(16, "little"), kind)

    def set_q(self, number: int, values: Sequence[int], bits: int) -> None:
        """Fill a vector register; one value fills all lanes."""
        lanes = list(values) * (128 // bits // len(values))
        self.state.set_q(number, int.from_bytes(reference.pack(lanes, bits), "little"))

    def processor(self, state: CpuState) -> reference.Processor:
        """What the second formulation sees."""
        q = [state.get_q(i).to_bytes(16, "little") for i in range(8)]
        states = {name: state.get(name) for name in STATES}
        memory = _Bytes(self.memory)
        return reference.Processor([state.get_a(i) for i in range(16)], list(state.f), q, states, memory)

    def expect(self, case: Case, before: CpuState) -> tuple[CpuState, dict[int, int]]:
        """State and changed bytes that the second formulation gives. Call it before the step for memory."""
        state, memory = copy(before), {}
        for place, value in reference.run(case.mnemonic, case.operands, self.processor(before)).items():
            if isinstance(place, int):
                memory[place] = value
            elif isinstance(place, str):
                state.set(place, value)
            elif place[0] == "q":
                state.set_q(place[1], int.from_bytes(value, "little"))
            elif place[0] == "a":
                state.set_a(place[1], value)
            else:
                state.f[place[1]] = value
        state.PC = CODE + by_key()[case.mnemonic].length
        return state, memory

    def check(self, case: Case) -> None:
        """The stepper and the second formulation agree on every register, state and byte of memory."""
        self.put(case)
        expected, writes = self.expect(case, self.state)
        image = {start: self.memory.read(start, size) for start, size in ((DATA, SIZE), (TOP, 0x1000))}
        self.stepper.step()
        for start, old in image.items():
            new = bytearray(old)
            for address, value in writes.items():
                if start <= address < start + len(new):
                    new[address - start] = value
            assert self.memory.read(start, len(new)) == bytes(new), f"memory differs after {case}"
        expected.instructions, expected.budget = self.state.instructions, self.state.budget
        if bytes(expected) != bytes(self.state):
            raise AssertionError(f"{case}\n(expected, stepper): {compare(expected, self.state)}")


class _Bytes(dict[int, int]):
    """Guest memory as a mapping from address to byte."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory

    def __missing__(self, address: int) -> int:
        return self.memory.read(address, 1)[0]


# --- random cases -----------------------------------------------------------------------------------
def random_case(row: Row, rng: random.Random) -> Case:
    """Any operands (results in different registers), extreme contents, pointers at all alignments."""
    operands = {operand.name: _value(operand, rng) for operand in row.operands}
    while _double_destination(row, operands):
        operands = {operand.name: _value(operand, rng) for operand in row.operands}
    case = Case(row.mnemonic, operands)
    case.q = {i: lanes(rng) for i in range(8)}
    case.a = {operands[o.name]: word(rng) for o in row.operands if o.kind.cls == "ar"}
    case.f = {operands[o.name]: rng.getrandbits(32) for o in row.operands if o.kind.cls == "fr"}
    case.state = {name: _state(name, rng) for name in STATES}
    if any(use.name == "QACC_L" for use in row.states):
        case.state["QACC_L"], case.state["QACC_H"] = _accumulator(row, rng), _accumulator(row, rng)
    if _reaches_memory(row):
        case.a[operands["as"]] = _pointer(case, rng)
    return case


def lanes(rng: random.Random) -> int:
    """128 bits in which every lane width meets its extremes."""
    size = rng.choice((1, 2, 4))
    ends = [0, 1, 2, 1 << (8 * size - 1), (1 << (8 * size - 1)) - 1, (1 << 8 * size) - 1, (1 << 8 * size) - 2]
    how = rng.random()
    if how < 0.1:
        return int.from_bytes(rng.choice(ends).to_bytes(size, "little") * (16 // size), "little")
    if how < 0.5:
        return rng.getrandbits(128)
    parts = [rng.choice(ends) if rng.random() < 0.7 else rng.getrandbits(8 * size) for _ in range(16 // size)]
    return int.from_bytes(b"".join(part.to_bytes(size, "little") for part in parts), "little")


def word(rng: random.Random) -> int:
    """32 bits: small counts, sign bits, anything."""
    choices = (
        rng.randrange(64),
        rng.getrandbits(32),
        rng.randrange(-200, 200),
        1 << rng.randrange(32),
        0x8000,
    )
    return rng.choice(choices) & 0xFFFFFFFF


def _value(operand: Operand, rng: random.Random) -> int:
    kind = operand.kind
    if kind.is_register:
        return rng.choice([v for v in kind.values() if v < 3] if rng.random() < 0.6 else list(kind.values()))
    return rng.choice((kind.min, kind.max, kind.value(rng.randrange(1 << kind.width))))


def _double_destination(row: Row, operands: Mapping[str, int]) -> bool:
    places = [(o.kind.cls, operands[o.name]) for o in row.operands if o.is_written and o.kind.is_register]
    return len(set(places)) < len(places)


def _state(name: str, rng: random.Random) -> int:
    return _near_an_end(WIDTHS[name], rng) if name == "ACCX" else rng.getrandbits(WIDTHS[name])


def _near_an_end(width: int, rng: random.Random) -> int:
    """A lane of an accumulator: mostly so near an end of the signed or unsigned range that sums cross it."""
    if rng.random() < 0.2:
        return rng.getrandbits(width)
    end, distance = rng.choice((0, 1 << (width - 1))), rng.getrandbits(rng.randrange(1, width - 2))
    return (end + rng.choice((-distance, distance))) % (1 << width)


def _accumulator(row: Row, rng: random.Random) -> int:
    """160 bits of 20- or 40-bit lanes near the ends of their ranges, or anything."""
    width = 20 if "8" in row.mnemonic.split(".")[2] else 40
    return sum(_near_an_end(width, rng) << at for at in range(0, 160, width))


def _reaches_memory(row: Row) -> bool:
    words = row.mnemonic.split(".")
    plain = row.mnemonic.startswith(("ee.movi", "ee.slc", "ee.src.", "ee.srcx", "ee.srs", "ee.srcmb"))
    return any(o.name == "as" for o in row.operands) and (not plain or "ld" in words)


def _pointer(case: Case, rng: random.Random) -> int:
    """An address such that the access is mapped: aligned or not, sometimes at the end of memory."""
    target = DATA + 0x1000 + rng.randrange(0x1000)
    if rng.random() < 0.1:
        target = TOP + 0x1000 - rng.randrange(1, 64)
    elif rng.random() < 0.3:
        target &= ~15
    offset = case.operands.get("imm", 0) if case.mnemonic.endswith(".qr") else 0
    if case.mnemonic.endswith("xq.32"):
        offset = 4 * (case.q[case.operands["qs"]] >> 16 * case.operands["sel8"] & 0xFFFF)
    if target >= TOP and offset:
        target = DATA + 0x1000
    return (target - offset) & 0xFFFFFFFF
