"""Kinds of instructions, and the cycles that a simple in-order pipeline needs for them.

The chip's manual gives no cycle counts, so all numbers here are assumptions (:data:`ASSUMED`); an estimate
prints them. Every instruction issues in one cycle; what it waits for comes on top.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from emu.isa.decode import Insn
from emu.profile.samples import Sampler
from emu.profile.sites import Code

ASSUMED: Final = {
    "taken branch or jump": 2,
    "call or return": 3,
    "load, until its result can be used": 1,
    "multiplication, until its result can be used": 1,
    "float sum, product or conversion, until its result can be used": 3,
    "integer division": 11,
}
"""Extra cycles, beside one for each instruction."""

_BRANCH, _CALL, _LOAD, _MUL, _FLOAT, _DIVIDE = ASSUMED.values()
_DISTANCE = 3
"""Results are late by at most this many cycles."""
_FLOAT_SOURCES = ("add.s", "sub.s", "mul.s", "madd.s", "msub.s", "float.s", "ufloat.s", "round.s", "trunc.s")
_LOADS = ("l8ui", "l16", "l32", "lsi", "lsx", "ssx", "ee.ld", "ee.vld")


def kind_of(insn: Insn) -> str:
    """The class that an instruction is counted in."""
    name, row = insn.mnemonic, insn.row
    if row.group == "pie":
        return _kind_of_vector(name)
    if row.flow == "call" or name == "entry" or name.startswith("ret"):
        return "call, entry, return"
    if row.flow in ("branch", "loop", "jump"):
        return "branch, loop, jump"
    if row.group == "fp" or name.endswith(".s"):
        return "float load, store" if name[:2] in ("ls", "ss") else "float"
    if name.startswith(_LOADS):
        return "load"
    if name.startswith(("s8i", "s16i", "s32i")):
        return "store"
    return "multiplication, division" if row.group in ("mul", "div", "mac16") else "integer"


def _kind_of_vector(name: str) -> str:
    if "vmulas" in name or "vmul." in name:
        return "vector multiply" + (" with load" if ".ld." in name or ".ld" in name[-8:] else "")
    if name.startswith(("ee.vld", "ee.ld", "ee.vst", "ee.st")):
        return "vector load, store"
    return "vector other"


def _registers(insn: Insn, written: bool) -> set[tuple[str, int]]:
    found = set()
    for operand in (*insn.row.operands, *insn.row.implicit):
        used = operand.is_written if written else operand.is_read
        if operand.kind.is_register and used:
            first = insn.operands[operand.name]
            found |= {(operand.kind.cls, first + i) for i in range(max(operand.kind.regs, 1))}
    return found


def _latency(insn: Insn, register: tuple[str, int]) -> int:
    """Extra cycles until another instruction can use this result."""
    name = insn.mnemonic
    if name.startswith(_LOADS) or ".ld." in name:
        return _LOAD
    if name in _FLOAT_SOURCES and register[0] in ("fr", "ar"):
        return _FLOAT
    return _MUL if insn.row.group == "mul" else 0


def waiting(code: Code, insn: Insn) -> int:
    """Cycles that an instruction waits for results of those in front of it in the text of its function."""
    wanted, longest = _registers(insn, False), 0
    for distance, earlier in enumerate(code.before(insn.pc, _DISTANCE)):
        made = _registers(earlier, True) & wanted
        for register in made:
            longest = max(longest, _latency(earlier, register) - distance)
        wanted -= made
    return longest


def own_cycles(insn: Insn) -> int:
    """Extra cycles of an instruction itself; a branch is not counted as taken."""
    name = insn.mnemonic
    if name.startswith(("call", "ret")):
        return _CALL
    if insn.row.flow == "jump":
        return _BRANCH
    return _DIVIDE if insn.row.group == "div" else 0


@dataclass(frozen=True)
class Mix:
    """What samples say: share of each class, cycles for each instruction by function and on the whole."""

    samples: int
    shares: dict[str, float]
    waits: dict[str, float]
    by_function: dict[str, float]
    average: float

    def cycles(self, function: str) -> float:
        """Cycles for each instruction of a function; the average where it was never met."""
        return self.by_function.get(function, self.average)


def mix_of(sampler: Sampler, code: Code, leave_out: Collection[str] = ()) -> Mix:
    """Classes and cycles from samples; ``waits``: extra cycles for each instruction, by reason.

    ``leave_out``: functions whose samples do not count.
    """
    kinds: Counter[str] = Counter()
    waits: Counter[str] = Counter()
    cycles: Counter[str] = Counter()
    counts: Counter[str] = Counter()
    for pc, n in sampler.found.items():
        insn, function = code.instructions.get(pc), code.at(pc)
        name = function.name if function else "?"
        if name in leave_out:
            continue
        late = waiting(code, insn) * n if insn else 0
        extra = own_cycles(insn) * n + _BRANCH * sampler.taken[pc] if insn else 0
        kinds[kind_of(insn) if insn else "?"] += n
        waits["results that are late"] += late
        waits["branches, calls, divisions"] += extra
        counts[name] += n
        cycles[name] += n + late + extra
    total = max(counts.total(), 1)
    return Mix(
        counts.total(),
        {kind: n / total for kind, n in kinds.most_common()},
        {why: n / total for why, n in waits.items()},
        {name: cycles[name] / n for name, n in counts.items()},
        cycles.total() / total if counts else 1.0,
    )
