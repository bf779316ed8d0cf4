"""C prototypes from debug information, held against specs before anything runs.

Only the compilation unit that holds the function is read. Without debug information, or for functions written
in assembly, there is nothing to check, and nothing is said.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from elftools.dwarf.die import DIE
from elftools.elf.elffile import ELFFile

from emu.image import Image
from emu.kernels.spec import Kernel, Param, Tensor

_THROUGH = ("DW_TAG_typedef", "DW_TAG_const_type", "DW_TAG_volatile_type", "DW_TAG_restrict_type")
_KINDS = {2: "u", 4: "f", 5: "i", 6: "i", 7: "u", 8: "u"}
"""DW_ATE encodings: boolean, float, signed, signed char, unsigned, unsigned char."""


@dataclass(frozen=True)
class CType:
    """A parameter or result: numpy kind and size of the value, or of what it points to; "" unknown."""

    text: str
    pointer: bool
    kind: str = ""
    size: int = 0


class Prototypes:
    """Prototypes of functions of one image, as far as its debug information has them."""

    def __init__(self, image: Image) -> None:
        self._image = image
        self._units: dict[int, dict[str, DIE]] = {}
        elf = ELFFile(io.BytesIO(image.data))
        self._dwarf: Any = elf.get_dwarf_info() if elf.has_dwarf_info() else None
        self._ranges = self._dwarf.get_aranges() if self._dwarf is not None else None

    def find(self, name: str) -> tuple[list[CType], CType | None] | None:
        """Parameters and result (None for void), or None when unknown."""
        if self._ranges is None:
            return None
        offset = self._ranges.cu_offset_at_addr(self._image.symbols.function(name).address)
        if offset is None:
            return None
        die = self._functions(offset).get(name)
        if die is None or "DW_AT_prototyped" not in die.attributes:
            return None
        parameters = [c for c in die.iter_children() if c.tag == "DW_TAG_formal_parameter"]
        return [_type_of(p) or CType("?", False) for p in parameters], _type_of(die)

    def _functions(self, offset: int) -> dict[str, DIE]:
        if offset not in self._units:
            top = self._dwarf.get_CU_at(offset).get_top_DIE()
            self._units[offset] = {
                c.attributes["DW_AT_name"].value.decode(): c
                for c in top.iter_children()
                if c.tag == "DW_TAG_subprogram" and "DW_AT_name" in c.attributes
            }
        return self._units[offset]


def _type_of(die: DIE) -> CType | None:
    """The C type that a DIE's DW_AT_type names; None for void."""
    kind, name = _stripped(die)
    if kind is None:
        return None
    if kind.tag == "DW_TAG_pointer_type":
        target, name = _stripped(kind)
        return CType(f"{name} *", True, *_value(target))
    return CType(name, False, *_value(kind))


def _stripped(die: DIE) -> tuple[DIE | None, str]:
    """The type without typedefs and qualifiers, and the first name on the way to it."""
    name = ""
    while "DW_AT_type" in die.attributes:
        die = die.get_DIE_from_attribute("DW_AT_type")
        if not name and "DW_AT_name" in die.attributes:
            name = die.attributes["DW_AT_name"].value.decode()
        if die.tag not in _THROUGH:
            return die, name or die.tag.removeprefix("DW_TAG_")
    return None, name or "void"


def _value(die: DIE | None) -> tuple[str, int]:
    if die is None or "DW_AT_byte_size" not in die.attributes:
        return "", 0
    size = int(die.attributes["DW_AT_byte_size"].value)
    if die.tag == "DW_TAG_base_type":
        return _KINDS.get(die.attributes["DW_AT_encoding"].value, ""), size
    return ("i" if die.tag == "DW_TAG_enumeration_type" else ""), size


def disagreements(image: Image, kernels: Sequence[Kernel]) -> list[str]:
    """One sentence for each kernel whose spec cannot be the function's C prototype."""
    # The parser raises whatever damaged debug information makes it raise; the check is a courtesy.
    try:
        prototypes = Prototypes(image)
        found = [(k, prototypes.find(k.symbol)) for k in kernels]
    except Exception:
        return []
    told = [_disagreement(kernel, *prototype) for kernel, prototype in found if prototype is not None]
    return [text for text in told if text]


def _disagreement(kernel: Kernel, parameters: list[CType], result: CType | None) -> str:
    name = kernel.symbol
    if len(parameters) != len(kernel.params):
        c = ", ".join(p.text for p in parameters)
        return f"{name} takes {len(parameters)} parameters in C ({c}), the spec lists {len(kernel.params)}"
    for param, actual in zip(kernel.params, parameters, strict=True):
        if not _fits(param, actual):
            mark = " *" if isinstance(param, Tensor) else ""
            return f"{name}: parameter {param.name} is {actual.text} in C, {param.dtype}{mark} in the spec"
    if kernel.returns is not None and result is None:
        return f"{name} returns nothing in C, {kernel.returns} in the spec"
    if (
        kernel.returns is not None
        and result is not None
        and not _same_value(kernel.returns, result, exact=False)
    ):
        return f"{name} returns {result.text} in C, {kernel.returns} in the spec"
    return ""


def _fits(param: Param, actual: CType) -> bool:
    if actual.text == "?":
        return True
    if isinstance(param, Tensor) != actual.pointer:
        return False
    return _same_value(param.dtype, actual, exact=actual.pointer)


def _same_value(dtype: str, actual: CType, exact: bool) -> bool:
    """Equal size and kind; a scalar or result may differ in sign, which no register shows."""
    if not actual.kind:
        return True
    wanted = np.dtype(dtype)
    if wanted.itemsize != actual.size:
        return False
    return wanted.kind == actual.kind if exact else (wanted.kind == "f") == (actual.kind == "f")
