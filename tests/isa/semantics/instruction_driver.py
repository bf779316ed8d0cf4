"""Runs single instructions on the reference stepper and reports everything that changed.

A test names registers as the manual does: a0..a15, f0.., b0.., m0.., states (SAR, ACC, WindowBase), memory
words as "[address]". Whatever a test does not name starts with a pattern of its own and must not change.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from emu.cpu import state_tools
from emu.cpu.machine import Cause
from emu.cpu.memory import Memory
from emu.cpu.state import STATES, CpuState, new_state
from emu.cpu.stepper import Stepper
from emu.cpu.trapping import TrapMaker
from emu.isa.encode import assemble_one
from emu.isa.table import by_key

CODE, DATA, SIZE = 0x40380000, 0x3FC90000, 0x1000
_WORD = re.compile(r"\[(?P<address>0x[0-9a-f]+)\]")
_REGISTER = re.compile(r"(?P<file>[afbm])(?P<number>\d+)")


def assemble(text: str, pc: int = CODE) -> bytes:
    """One instruction from text: registers by name, numbers, labels as absolute addresses."""
    mnemonic, _, operands = text.partition(" ")
    values = [_value(part.strip()) for part in operands.split(",")] if operands else []
    return assemble_one(mnemonic, *values, pc=pc)


def _value(text: str) -> int:
    register = re.fullmatch(r"[abfmq](\d+)", text)
    return int(register[1]) if register else int(text, 0)


@dataclass
class Cpu:
    """A processor with a page of code and a page of data, in supervisor state with windows on."""

    state: CpuState = field(default_factory=new_state)
    memory: Memory = field(default_factory=Memory)

    def __post_init__(self) -> None:
        self.memory.add_ram("code", CODE, SIZE, "rwx")
        self.memory.add_ram("data", DATA, SIZE, "rw")
        traps = TrapMaker(self.state, self.memory)
        self.stepper = Stepper(self.state, self.memory, traps, use_vectors=True)
        self.services: list[tuple[str, tuple[int, ...]]] = []
        self.stepper.machine.run_service = self._service
        self.fill()

    def _service(self, name: str, values: tuple[int, ...]) -> int:
        self.services.append((name, values))
        return 0x5E41CE00 + len(self.services)

    def fill(self) -> None:
        """A pattern in every register, so that a write to the wrong one shows."""
        state_tools.reset(self.state)
        state_tools.dirty(self.state, seed=1)
        state_tools.prepare_call(self.state)
        for name in ("InvalidFlag", "DivZeroFlag", "OverflowFlag", "UnderflowFlag", "InexactFlag"):
            self.state.set(name, 0)
        self.state.CPENABLE = 0xFF
        self.state.PC = CODE
        self.state.budget = 1000

    def set(self, name: str, value: int) -> None:
        """Set a register, state or memory word."""
        word, register = _WORD.fullmatch(name), _REGISTER.fullmatch(name)
        if word:
            self.memory.write(int(word["address"], 0), (value & 0xFFFFFFFF).to_bytes(4, "little"))
        elif register:
            self._set_register(register["file"], int(register["number"]), value)
        else:
            self.state.set(name, value)

    def _set_register(self, file: str, number: int, value: int) -> None:
        if file == "a":
            self.state.set_a(number, value)
        elif file == "b":
            self.state.br = self.state.br & ~(1 << number) | value << number
        else:
            (self.state.f if file == "f" else self.state.mr)[number] = value & 0xFFFFFFFF

    def get(self, name: str) -> int:
        """Value of a register, state or memory word."""
        word, register = _WORD.fullmatch(name), _REGISTER.fullmatch(name)
        if word:
            return int.from_bytes(self.memory.read(int(word["address"], 0), 4), "little")
        if not register:
            return self.state.get(name)
        number = int(register["number"])
        if register["file"] == "a":
            return self.state.get_a(number)
        if register["file"] == "b":
            return self.state.br >> number & 1
        return (self.state.f if register["file"] == "f" else self.state.mr)[number]

    def load(self, *code: str) -> int:
        """Put instructions at the start of the code page; returns the address behind them."""
        at = CODE
        for text in code:
            data = assemble(text, at)
            self.memory.write(at, data)
            at += len(data)
        return at

    def run(self, *code: str) -> int:
        """Execute straight-line code; returns the address behind it."""
        end = self.load(*code)
        for _ in code:
            self.stepper.step()
        return end


def changes(before: Cpu, after: CpuState) -> dict[str, int]:
    """Values that are not what they were, without PC and the engine's counters."""
    found = state_tools.compare(before.state, after, ignore=frozenset({"PC"}))
    return {name: new for name, (_, new) in found.items()}


def physical(cpu: Cpu, name: str) -> str:
    """The name under which state_tools.compare knows a register."""
    register = re.fullmatch(r"a(\d+)", name)
    return f"ar{(cpu.state.WindowBase * 4 + int(register[1])) & 63}" if register else name


def check(text: str, given: dict[str, int], expected: dict[str, int], pc: int | None = None) -> None:
    """Run one instruction: ``expected`` and nothing else may differ; ``pc`` is where it goes, if not behind
    it.
    """
    cpu, twin = Cpu(), Cpu()
    for name, value in given.items():
        cpu.set(name, value)
        twin.set(name, value)
    end = cpu.run(text)
    twin.load(text)
    _apply(twin, expected)
    found = state_tools.compare(cpu.state, twin.state, ignore=frozenset({"PC"}))
    assert not found, f"{text}: " + "; ".join(f"{n} is {a:#x}, not {b:#x}" for n, (a, b) in found.items())
    assert cpu.memory.read(DATA, SIZE) == twin.memory.read(DATA, SIZE), f"{text}: memory differs"
    assert (end if pc is None else pc) == cpu.state.PC, f"{text}: goes to {cpu.state.PC:#x}"


def _apply(twin: Cpu, expected: dict[str, int]) -> None:
    """Registers are named in the window from before the instruction."""
    base = twin.state.WindowBase
    for name, value in expected.items():
        register = re.fullmatch(r"a(\d+)", name)
        if register:
            twin.state.ar[(base * 4 + int(register[1])) & 63] = value & 0xFFFFFFFF
        else:
            twin.set(name, value)


def check_raises(text: str, given: dict[str, int], cause: Cause) -> None:
    """Run one instruction that must leave with an exception and write nothing of its own."""
    cpu, twin = Cpu(), Cpu()
    for name, value in given.items():
        cpu.set(name, value)
        twin.set(name, value)
    seen: list[Cause] = []
    cpu.stepper._exception = lambda raised, vaddr, plan: seen.append(raised)  # type: ignore[method-assign]
    cpu.run(text)
    twin.load(text)
    assert seen == [cause], f"{text}: raised {seen}"
    found = state_tools.compare(cpu.state, twin.state)
    assert not found, f"{text} raised, but wrote {found}"


def has_state(name: str) -> bool:
    """True for names of processor states."""
    return name in STATES


def mnemonic_of(text: str) -> str:
    """The mnemonic, checked against the table."""
    return by_key()[text.split(" ")[0]].mnemonic
