"""A small bench for processor tests: an assembler for a few lines, and a machine to run them on."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from emu.cpu import state_tools
from emu.cpu.diagnostics import Diagnostics
from emu.cpu.memory import Memory
from emu.cpu.state import CpuState, ExitReason, new_state
from emu.cpu.stepper import Stepper
from emu.cpu.trapping import TrapMaker
from emu.isa.encode import assemble_one
from emu.isa.table import by_key

CODE = 0x40378000
DATA = 0x3FC98000
STACK_TOP = 0x3FCA8000
END = 0x4FFFFFF0
"""Return address of the bench: a jump there ends a run."""

_REGISTER = re.compile(r"[afqbm](\d+)")


@dataclass
class Assembled:
    """Bytes from ``origin`` on, and where the labels are."""

    origin: int
    data: bytes
    labels: dict[str, int] = field(default_factory=dict)


def assemble(text: str, origin: int = CODE, **names: int) -> Assembled:
    """``label: mnemonic operands`` lines; ``.word``, ``.byte``, ``.align``; ``names`` are further labels."""
    lines = [line.split("#")[0].strip() for line in text.splitlines()]
    labels = dict(names)
    at = origin
    statements: list[tuple[int, str]] = []
    for line in filter(None, lines):
        while match := re.match(r"(\w+):\s*", line):
            labels[match[1]] = at
            line = line[match.end() :]
        if line:
            statements.append((at, line))
            at += _size(line, at)
    return Assembled(origin, b"".join(_bytes(line, at, labels) for at, line in statements), labels)


def _size(line: str, at: int) -> int:
    word, _, rest = line.partition(" ")
    if word == ".word":
        return 4 * len(rest.split(","))
    if word == ".byte":
        return len(rest.split(","))
    if word == ".align":
        return -at % int(rest)
    return by_key()[word].length


def _bytes(line: str, at: int, labels: dict[str, int]) -> bytes:
    word, _, rest = line.partition(" ")
    values = [_value(part.strip(), labels) for part in rest.split(",") if part.strip()]
    if word == ".word":
        return b"".join((v & 0xFFFFFFFF).to_bytes(4, "little") for v in values)
    if word == ".byte":
        return bytes(values)
    if word == ".align":
        return bytes(-at % values[0])
    return assemble_one(word, *values, pc=at)


def _value(text: str, labels: dict[str, int]) -> int:
    if text in labels:
        return labels[text]
    if match := _REGISTER.fullmatch(text):
        return int(match[1])
    name, sign, number = text.partition("+")
    if sign:
        return labels[name] + int(number, 0)
    return int(text, 0)


class Bench:
    """RAM at CODE (alias of data RAM), DATA and a stack; a stepper that stops at END."""

    def __init__(self, text: str = "", use_vectors: bool = False, seed: int = 1, **names: int) -> None:
        self.memory = Memory()
        low = self.memory.add_ram("data", 0x3FC88000, 0x68000)
        self.memory.add_ram("code", CODE, 0x68000, "rwx", low.buffer)
        self.state: CpuState = new_state()
        state_tools.reset(self.state)
        state_tools.dirty(self.state, seed)
        state_tools.prepare_call(self.state)
        self.diagnostics = Diagnostics()
        traps = TrapMaker(self.state, self.memory, return_address=END)
        self.stepper = Stepper(self.state, self.memory, traps, self.diagnostics, END, use_vectors)
        self.state.PC = CODE
        self.state.set_a(0, END)
        self.state.set_a(1, STACK_TOP - 64)
        self.memory.write(STACK_TOP - 64 - 12, STACK_TOP.to_bytes(4, "little"))
        self.state.budget = 100_000
        self.labels: dict[str, int] = {}
        if text:
            self.put(text, **names)

    def put(self, text: str, origin: int = CODE, **names: int) -> Assembled:
        """Assemble into memory."""
        made = assemble(text, origin, **names)
        self.memory.write(origin, made.data)
        self.labels |= made.labels
        return made

    def run(self, budget: int = 100_000) -> ExitReason:
        """Run to END or until the budget is used up."""
        self.state.budget = budget
        return self.stepper.run()

    def a(self, index: int) -> int:
        """a<index> of the current window."""
        return self.state.get_a(index)

    def word(self, address: int) -> int:
        """A word of memory."""
        return int.from_bytes(self.memory.read(address, 4), "little")


def run(text: str, registers: dict[int, int] | None = None, **names: int) -> Bench:
    """Assemble at CODE, set a-registers, run to END."""
    bench = Bench(text, **names)
    for index, value in (registers or {}).items():
        bench.state.set_a(index, value)
    assert bench.run() == ExitReason.RETURN
    return bench
