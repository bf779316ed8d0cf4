"""Instructions that are easily mistaken: same operands, another width, sign, rule or condition."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from emu.isa.table import Row

_GROUPS = (
    ("add", "sub"), ("add.n", "sub"), ("addx2", "addx4", "addx8"), ("subx2", "subx4", "subx8"),
    ("add", "addx2"), ("and", "or", "xor"), ("l8ui", "l16ui", "l16si", "l32i"), ("l16ui", "l16si"),
    ("s8i", "s16i", "s32i"), ("srai", "srli"), ("sra", "srl"), ("slli", "srli"),
    ("min", "max", "minu", "maxu"), ("min", "minu"), ("max", "maxu"), ("beqz", "bnez"), ("bltz", "bgez"),
    ("beq", "bne"), ("blt", "bge"), ("bltu", "bgeu"), ("blt", "bltu"), ("bge", "bgeu"), ("beqi", "bnei"),
    ("blti", "bgei"), ("bltui", "bgeui"), ("bbci", "bbsi"), ("loop", "loopnez", "loopgtz"),
    ("beqz.n", "bnez.n"), ("mull", "muluh"), ("mulsh", "muluh"), ("mul16s", "mul16u"), ("quos", "quou"),
    ("rems", "remu"), ("quos", "rems"), ("neg", "abs"), ("add.s", "sub.s"), ("add.s", "mul.s"),
    ("madd.s", "msub.s"), ("olt.s", "ole.s"), ("olt.s", "ult.s"), ("ole.s", "ule.s"), ("oeq.s", "ueq.s"),
    ("abs.s", "neg.s"), ("abs.s", "mov.s"), ("movt.s", "movf.s"), ("moveqz.s", "movnez.s"),
    ("movltz.s", "movgez.s"), ("moveqz", "movnez"), ("movltz", "movgez"), ("float.s", "ufloat.s"),
    ("trunc.s", "utrunc.s"), ("trunc.s", "floor.s"), ("round.s", "trunc.s"), ("bt", "bf"),
    ("sext", "clamps"), ("lsi", "lsip"), ("ssi", "ssip"),
)  # fmt: skip
_LANES = re.compile(r"(?<=\.)([su])(8|16|32)(?=\.|$)|(?<=\.)(8|16|32)(?=\.|$)")
_PIE = ((".low.", ".high."), ("min", "max"), ("vadds", "vsubs"), ("andq", "orq"), (".ld.ip", ".ld.xp"))


_COMMUTATIVE = re.compile(
    r"add(\.n|\.s)?|mul\.s|and|or|xor|mull|mul16[su]|muluh|mulsh|minu?|maxu?|ee\.(andq|orq|xorq|vadds|vmin|vmax|vmul).*"
    r"|ee\.vmulas\..*|oeq\.s|ueq\.s|un\.s|beq|bne|bany|bnone"
)


def commutes(row: Row | None, i: int, j: int) -> bool:
    """Whether the written operands number i and j of an instruction are sources that may be exchanged."""
    if row is None or not _COMMUTATIVE.fullmatch(row.mnemonic):
        return False
    roles = [operand.role for operand in row.operands]
    return roles[i] == roles[j] == "in"


def variants(row: Row, table: Sequence[Row]) -> Iterator[Row]:
    """Rows of the table with the same operands and length as ``row`` that do something similar."""
    for name in _similar_names(row.mnemonic):
        other = _by_name(tuple(table)).get(name)
        if other is not None and other is not row and _same_operands(row, other):
            yield other


@cache
def _by_name(table: tuple[Row, ...]) -> dict[str, Row]:
    return {row.mnemonic: row for row in table}


def _same_operands(a: Row, b: Row) -> bool:
    if len(a.operands) != len(b.operands):
        return False
    pairs = zip(a.operands, b.operands, strict=True)
    return all(x.kind.cls == y.kind.cls for x, y in pairs)


@cache
def _similar_names(name: str) -> tuple[str, ...]:
    found = [other for group in _GROUPS if name in group for other in group]
    if name.startswith("ee."):
        for match in _LANES.finditer(name):
            found += [name[: match.start()] + lanes + name[match.end() :] for lanes in _lanes(match[0])]
        for a, b in _PIE:
            found += [name.replace(a, b)] if a in name else [name.replace(b, a)] if b in name else []
    return tuple(other for other in dict.fromkeys(found) if other != name)


def _lanes(lanes: str) -> list[str]:
    if lanes[0] in "su":
        other = "u" if lanes[0] == "s" else "s"
        return [other + lanes[1:], *(lanes[0] + width for width in ("8", "16", "32") if width != lanes[1:])]
    return [width for width in ("8", "16", "32") if width != lanes]


def independent_text(a: Row, a_values: Sequence[str], b: Row, b_values: Sequence[str]) -> bool:
    """Whether two instructions, operands as written, can change places without any effect."""
    a_in, a_out = uses(a, a_values)
    b_in, b_out = uses(b, b_values)
    return not (a_out & (b_in | b_out) or b_out & a_in)


def uses(row: Row, values: Sequence[str]) -> tuple[set[str], set[str]]:
    """What an instruction reads and writes; memory counts as one thing."""
    reads, writes = set(), set()
    for operand, value in zip(row.operands, values, strict=False):
        if operand.kind.is_register:
            if operand.is_read:
                reads.add(value)
            if operand.is_written:
                writes.add(value)
    for state in row.states:
        (writes if state.role != "in" else reads).add(state.name)
        if state.role == "inout":
            reads.add(state.name)
    stores = _is_store(row.mnemonic)
    if stores:
        writes.add("memory")
    elif stores is not None:
        reads.add("memory")
    return reads, writes


def _is_store(name: str) -> bool | None:
    """True for a store, False for a load, None for neither."""
    if name.startswith(("s8i", "s16i", "s32", "ssi", "ssx", "ssip", "ee.vst", "ee.st.")) or ".st." in name:
        return True
    if name.startswith(("l8", "l16", "l32", "lsi", "lsx", "lsip", "ee.vld", "ee.ld")) or ".ld." in name:
        return False
    return None
