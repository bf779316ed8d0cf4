"""Guesses where an indirect jump goes: the tables of addresses that compilers make for ``switch``.

l32r a7, table ... addx4 a8, a8, a7 ; l32i.n a8, a8, 0 ; jx a8

A guess only decides which code becomes part of the unit: the jump compares its target with the guesses and
leaves the unit for any other.
"""

from __future__ import annotations

from collections.abc import Mapping

from emu.cpu.memory import Memory, MemoryFault
from emu.cpu.translator.steps import Step

LONGEST = 256
"""Entries of a table at most."""
NEAR = 0x4000
"""Distance of a target from the jump at most."""
_LOADS = ("l32i", "l32i.n")


def targets_of(memory: Memory, steps: Mapping[int, Step], jump: Step) -> tuple[int, ...]:
    """Likely targets of a ``jx``, in order, without repetition; empty when nothing is recognised."""
    load = _before(steps, jump)
    scale = _before(steps, load) if load is not None else None
    if load is None or scale is None or load.insn.mnemonic not in _LOADS or scale.insn.mnemonic != "addx4":
        return ()
    register, loaded, scaled = jump.insn.operands["s"], load.insn.operands, scale.insn.operands
    if loaded["t"] != register or loaded["s"] != scaled["r"]:
        return ()
    found: dict[int, None] = {}
    for literal in _literals(steps, scaled["t"]):
        table = _word(memory, literal)
        if table is not None:
            found.update(dict.fromkeys(_entries(memory, table + loaded["imm"], jump.insn.pc)))
    return tuple(found)


def _before(steps: Mapping[int, Step], step: Step) -> Step | None:
    """The instruction in front of another one."""
    for length in (3, 2, 4):
        previous = steps.get(step.insn.pc - length)
        if previous is not None and previous.insn.length == length:
            return previous
    return None


def _literals(steps: Mapping[int, Step], register: int) -> list[int]:
    """Addresses from which a register is loaded by ``l32r``."""
    loads = (step.insn for step in steps.values() if step.insn.mnemonic == "l32r")
    return sorted({insn.operands["literal"] for insn in loads if insn.operands["t"] == register})


def _entries(memory: Memory, table: int, jump: int) -> list[int]:
    entries: list[int] = []
    while len(entries) < LONGEST:
        target = _word(memory, table + 4 * len(entries))
        if target is None or abs(target - jump) > NEAR:
            break
        entries.append(target)
    return entries


def _word(memory: Memory, address: int) -> int | None:
    try:
        return int.from_bytes(memory.read(address & 0xFFFFFFFF, 4), "little")
    except MemoryFault:
        return None
