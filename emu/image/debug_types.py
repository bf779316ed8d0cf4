"""C and C++ types as the debug information (DWARF 4 and 5) describes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from elftools.dwarf.die import DIE

Kind = Literal["void", "base", "pointer", "struct", "array", "enum", "function", "unknown"]

_QUALIFIERS = {
    "DW_TAG_const_type": "const",
    "DW_TAG_volatile_type": "volatile",
    "DW_TAG_restrict_type": "restrict",
    "DW_TAG_atomic_type": "_Atomic",
}
_POINTERS = {
    "DW_TAG_pointer_type": "*",
    "DW_TAG_reference_type": "&",
    "DW_TAG_rvalue_reference_type": "&&",
}
_STRUCTS = ("DW_TAG_structure_type", "DW_TAG_class_type", "DW_TAG_union_type")
_ENCODINGS = {2: "u", 4: "f", 5: "i", 6: "i", 7: "u", 8: "u", 16: "u"}
"""DW_ATE codes: boolean, float, signed, signed char, unsigned, unsigned char, UTF."""
_BOOLEAN = 2
_POINTER_SIZE = 4


@dataclass(frozen=True)
class Member:
    """A data member. ``offset`` in bytes; ``bits``: width of a bit field, 0 for others."""

    name: str
    offset: int
    type: CType
    bits: int = 0


@dataclass(frozen=True)
class CType:
    """``text``: as in C. ``code``: numpy's letter of a base type or enum (i, u, f), "" unknown; ``size`` in
    bytes.

    ``is_const``: of the type itself; of a pointer's target it says that the function only reads. ``target``:
    of pointers and arrays. ``count``: elements of an array. Members of structs are read when asked for.
    """

    text: str
    kind: Kind
    code: str = ""
    size: int = 0
    is_const: bool = False
    target: CType | None = None
    count: int = 0
    limits: tuple[int, int] | None = None
    """The least and the greatest value of an enum or a boolean."""
    read_members: Callable[[], tuple[Member, ...]] = field(default=tuple, repr=False, compare=False)

    @property
    def members(self) -> tuple[Member, ...]:
        """Data members in order, those of base classes included."""
        return self.read_members()

    @property
    def pointer(self) -> bool:
        """Whether an address is passed."""
        return self.kind == "pointer"

    @property
    def dtype(self) -> str:
        """numpy's name of a base type or enum, "" for everything else."""
        names = {"i": "int", "u": "uint", "f": "float"}
        is_number = self.kind in ("base", "enum") and self.code and self.size in (1, 2, 4, 8)
        return f"{names[self.code]}{8 * self.size}" if is_number else ""

    @property
    def align(self) -> int:
        """Alignment in bytes, as the ABI has it: of numbers their size, of the rest that of their parts."""
        if self.kind == "array" and self.target is not None:
            return self.target.align
        if self.kind == "struct":
            return max((m.type.align for m in self.members), default=1)
        return max(self.size, 1)


VOID = CType("void", "void")


def type_of(die: DIE, attribute: str = "DW_AT_type") -> CType:
    """The type that an attribute of a DIE names; void without one."""
    if attribute not in die.attributes:
        return VOID
    return read_type(die.get_DIE_from_attribute(attribute))


def name_of(die: DIE) -> str:
    """DW_AT_name, "" without one."""
    attribute = die.attributes.get("DW_AT_name")
    return attribute.value.decode("utf-8", "replace") if attribute is not None else ""


def _number(die: DIE, attribute: str, default: int = 0) -> int:
    found = die.attributes.get(attribute)
    return found.value if found is not None and isinstance(found.value, int) else default


def read_type(die: DIE) -> CType:
    """The type of a type DIE; typedefs and qualifiers are looked through, names are kept."""
    if die.tag == "DW_TAG_typedef":
        inner = type_of(die)
        return _renamed(inner, name_of(die))
    if die.tag in _QUALIFIERS:
        inner = type_of(die)
        return _qualified(inner, _QUALIFIERS[die.tag])
    if die.tag in _POINTERS:
        target = type_of(die)
        mark = _POINTERS[die.tag]
        return CType(f"{target.text} {mark}", "pointer", "u", _POINTER_SIZE, target=target)
    if die.tag in _STRUCTS:
        return _struct(die)
    if die.tag == "DW_TAG_array_type":
        return _array(die)
    if die.tag == "DW_TAG_base_type":
        encoding = _number(die, "DW_AT_encoding")
        limits = (0, 1) if encoding == _BOOLEAN else None
        code = _ENCODINGS.get(encoding, "")
        return CType(name_of(die), "base", code, _number(die, "DW_AT_byte_size"), limits=limits)
    if die.tag == "DW_TAG_enumeration_type":
        return _enum(die)
    if die.tag == "DW_TAG_subroutine_type":
        return CType("function", "function")
    return CType(name_of(die) or die.tag.removeprefix("DW_TAG_"), "unknown")


def _renamed(inner: CType, name: str) -> CType:
    return replace(inner, text=name)


def _qualified(inner: CType, word: str) -> CType:
    text = f"{inner.text} {word}" if inner.kind == "pointer" else f"{word} {inner.text}"
    return replace(inner, text=text, is_const=inner.is_const or word == "const")


def _struct(die: DIE) -> CType:
    whole = _whole(die)
    word = "union" if die.tag == "DW_TAG_union_type" else "struct"
    name = name_of(die) or f"an unnamed {word}"

    def read() -> tuple[Member, ...]:
        return tuple(_members(whole))

    return CType(name, "struct", "", _number(whole, "DW_AT_byte_size"), read_members=read)


def _whole(die: DIE) -> DIE:
    """The definition of a struct that is only declared here, as far as this unit has one."""
    if "DW_AT_declaration" not in die.attributes:
        return die
    name = name_of(die)
    for other in die.cu.get_top_DIE().iter_children():
        if other.tag in _STRUCTS and name_of(other) == name and "DW_AT_declaration" not in other.attributes:
            return other
    return die


def _members(die: DIE) -> list[Member]:
    found: list[Member] = []
    for child in die.iter_children():
        if child.tag == "DW_TAG_inheritance":
            base, at = type_of(child), _offset(child)
            found += [Member(m.name, m.offset + at, m.type, m.bits) for m in base.members]
        elif child.tag == "DW_TAG_member" and "DW_AT_external" not in child.attributes:
            found += _member(child)
    return found


def _member(child: DIE) -> list[Member]:
    kind, at, name = type_of(child), _offset(child), name_of(child)
    if not name and kind.kind == "struct":  # an anonymous struct or union: its members are ours
        return [Member(m.name, m.offset + at, m.type, m.bits) for m in kind.members]
    return [Member(name, at, kind, _number(child, "DW_AT_bit_size"))]


def _offset(die: DIE) -> int:
    found: Any = die.attributes.get("DW_AT_data_member_location")
    if found is None:
        return _number(die, "DW_AT_data_bit_offset") // 8
    if isinstance(found.value, int):
        return found.value
    # DW_OP_plus_uconst n, as DWARF 2 wrote it
    return int(found.value[1]) if len(found.value) == 2 and found.value[0] == 0x23 else 0


def _array(die: DIE) -> CType:
    target, count = type_of(die), 1
    for child in die.iter_children():
        if child.tag == "DW_TAG_subrange_type":
            count *= _number(child, "DW_AT_count", _number(child, "DW_AT_upper_bound", -1) + 1)
    size = count * target.size
    return CType(f"{target.text}[{count or ''}]", "array", "", size, target=target, count=count)


def _enum(die: DIE) -> CType:
    inner = type_of(die)
    code = inner.code or "i"
    values = [
        int(child.attributes["DW_AT_const_value"].value)
        for child in die.iter_children()
        if child.tag == "DW_TAG_enumerator" and "DW_AT_const_value" in child.attributes
    ]
    size = _number(die, "DW_AT_byte_size", inner.size or 4)
    limits = (min(values), max(values)) if values else None
    return CType(name_of(die) or "enum", "enum", code, size, limits=limits)
