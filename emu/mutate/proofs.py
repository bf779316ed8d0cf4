"""What can be seen of a mutant's instructions alone: rules by which two pieces of code compute the same.

They speak about outputs, status, memory and the return value; which flags of the FPU an operation has raised
is no result of a kernel.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from emu.image import Image
from emu.isa.decode import Insn
from emu.isa.operand import Operand
from emu.mutate import asm_source
from emu.mutate.code import instructions
from emu.mutate.mutant import Mutant
from emu.mutate.neighbours import uses

_ACCUMULATING = frozenset({"and", "or", "xor", "add", "add.n", "min", "max", "minu", "maxu"})
_IDEMPOTENT = frozenset({"and", "or", "min", "max", "minu", "maxu"})
"""With one register twice as source they give that register."""
_PLACES = {"s8i": 1, "l8ui": 1, "s16i": 2, "l16ui": 2, "l16si": 2, "s32i": 4, "l32i": 4, "ssi": 4, "lsi": 4}
_UPDATES = re.compile(r"ee\..*\.[ix]p(\..*)?")
"""Instructions that move their base register on after the access."""
_ARGUMENTS = frozenset(range(8, 16))
_RESULTS = frozenset({2, 3})
"""Registers of a call's arguments, and of a result of up to 64 bits."""


def proven(mutant: Mutant, source: bytes, before: Image, after: Image) -> str:
    """Why the mutant computes the same, "" when no rule says so. ``source``: its file, before the change."""
    if mutant.generator == "c":
        return ""
    if mutant.generator == "assembly" and mutant.rule == "order":
        return _order(mutant, source)
    pairs = list(_differing(mutant, before, after))
    if not pairs:
        return ""
    for rule in (_same_by_algebra, _dead_update):
        found = [rule(code, place, other) for code, place, other in pairs]
        if all(found):
            return found[0]
    return ""


def _differing(mutant: Mutant, before: Image, after: Image) -> Iterator[tuple[list[Insn], int, Insn]]:
    """(function, number in it, the instruction of the mutant) wherever the two images have another one.

    Nothing when an instruction has another length, or stands in another place: then no rule holds.
    """
    for symbol in before.symbols.functions():
        if not symbol.size or mutant.function not in ("", symbol.name):
            continue
        good = list(instructions(before, symbol))
        bad = [insn for s in after.symbols.functions() if s == symbol for insn in instructions(after, s)]
        if [i.pc for i in good] != [i.pc for i in bad]:
            return
        for place, (a, b) in enumerate(zip(good, bad, strict=True)):
            if a.word != b.word:
                yield good, place, b


def _order(mutant: Mutant, source: bytes) -> str:
    names = asm_source.defines(source)
    lines = [x for x in asm_source.read(source) if x.row and mutant.line <= x.number <= mutant.last_line]
    if len(lines) != 2:
        return ""
    a, b = ([names.get(o.text, o.text) for o in line.operands] for line in lines)
    if _accumulate(lines, a, b):
        return "both add to one register by the same operation, whose order does not matter"
    (a_in, a_out), (b_in, b_out) = (_uses(line, values) for line, values in zip(lines, (a, b), strict=True))
    apart = _apart(lines, (a, b), names)
    if apart:
        for part in (a_in, a_out, b_in, b_out):
            part.discard("memory")
    if a_out & (b_in | b_out) or b_out & a_in:
        return ""
    return "neither instruction reads or writes what the other one writes"


def _uses(line: asm_source.Line, values: Sequence[str]) -> tuple[set[str], set[str]]:
    assert line.row is not None
    reads, writes = uses(line.row, values)
    sticky = {state.name for state in line.row.states if state.name.endswith("Flag")}
    return reads - sticky, writes - sticky


def _accumulate(lines: Sequence[asm_source.Line], a: Sequence[str], b: Sequence[str]) -> bool:
    """``or r, r, x`` and ``or r, r, y``."""
    if lines[0].mnemonic != lines[1].mnemonic or lines[0].mnemonic not in _ACCUMULATING:
        return False
    r = a[0]
    return all(v[0] == v[1] == r != v[2] for v in (a, b))


def _apart(lines: Sequence[asm_source.Line], values: Sequence[Sequence[str]], names: dict[str, str]) -> bool:
    """Whether both are accesses by one base register that share no byte."""
    ranges = []
    for line, (_, base, offset) in zip(lines, values, strict=False):
        width = _PLACES.get(line.mnemonic.removesuffix(".n"), 0)
        if not width or not re.fullmatch(r"\d+", names.get(offset, offset)):
            return False
        start = int(names.get(offset, offset))
        ranges.append((base, start, start + width))
    (base, low, high), (other, first, last) = ranges
    return base == other and (high <= first or last <= low)


def _same_by_algebra(code: list[Insn], place: int, other: Insn) -> str:
    insn = code[place]
    names, values = (insn.mnemonic, other.mnemonic), dict(insn.operands)
    if {name.removesuffix("p") for name in names} in ({"lsi"}, {"ssi"}):
        alike = insn.operands == other.operands and list(values.values())[-1] == 0
        return "the base register moves on by 0" if alike else ""
    sources = [values[o.name] for o in insn.row.operands if o.role == "in"]
    if set(names) <= _IDEMPOTENT and insn.operands == other.operands and len(set(sources)) == 1:
        return "either operation of a register with itself gives that register"
    return ""


def _dead_update(code: list[Insn], place: int, other: Insn) -> str:
    """Another step of a base register that nobody reads any more."""
    insn = code[place]
    if insn.row is not other.row or not _UPDATES.fullmatch(insn.mnemonic):
        return ""
    changed = [o for o in insn.row.operands if insn.operands[o.name] != other.operands[o.name]]
    base = [o for o in insn.row.operands if o.kind.cls == "ar" and o.is_written]
    if len(changed) != 1 or len(base) != 1 or not _is_step(changed[0], base[0]):
        return ""
    if _is_read_later(code, place, insn.operands[base[0].name]):
        return ""
    return "only the base register moves on by another step, and nothing reads it afterwards"


def _is_step(operand: Operand, base: Operand) -> bool:
    return operand is not base and operand.kind.cls in ("imm", "ar") and not operand.is_written


def _is_read_later(code: list[Insn], place: int, register: int) -> bool:
    """Whether an instruction that may follow reads the address register before it is written again."""
    at = {insn.pc: i for i, insn in enumerate(code)}
    loops = {int(i.operands[i.row.operands[-1].name]): i.next_pc for i in code if i.row.flow == "loop"}
    todo = list(_next(code[place], loops))
    seen: set[int] = set()
    while todo:
        pc = todo.pop()
        if pc in seen:
            continue
        seen.add(pc)
        if pc not in at:
            return True
        insn = code[at[pc]]
        if register in _registers(insn, written=False):
            return True
        if register not in _registers(insn, written=True):
            todo += _next(insn, loops)
    return False


def _next(insn: Insn, loops: dict[int, int]) -> Iterator[int]:
    """Addresses that may follow, those of loops back among them; none behind a return."""
    if insn.mnemonic.startswith("ret"):
        return
    targets = [int(insn.operands[o.name]) for o in insn.row.operands if o.kind.cls == "label"]
    if insn.row.flow in ("branch", "jump", "loop"):
        yield from targets
    if insn.row.flow != "jump":
        yield insn.next_pc
        if insn.next_pc in loops:
            yield loops[insn.next_pc]


def _registers(insn: Insn, written: bool) -> frozenset[int]:
    """Address registers that an instruction reads or writes, calls and returns with what they hand over."""
    found = {
        int(insn.operands[o.name])
        for o in (*insn.row.operands, *insn.row.implicit)
        if o.kind.cls == "ar" and o.name in insn.operands and (o.is_written if written else o.is_read)
    }
    if not written:
        found |= _ARGUMENTS if insn.row.flow == "call" else set()
        found |= _RESULTS if insn.mnemonic.startswith("ret") else set()
    return frozenset(found)
