"""Prototypes of functions and types of variables from the debug information of an image."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from elftools.dwarf.die import DIE
from elftools.elf.elffile import ELFFile

from emu.image.debug_types import VOID, CType, name_of, type_of
from emu.image.elf import Image
from emu.image.errors import SymbolError
from emu.image.names import find_function
from emu.image.ranges import Ranges, listed_ranges

_CPP = (0x04, 0x1A, 0x21, 0x2B, 0x3A)
"""DW_LANG codes of C++ (98, 11, 14, 17, 20)."""


@dataclass(frozen=True)
class Parameter:
    """``name`` is "" where the source has none."""

    name: str
    type: CType


@dataclass(frozen=True)
class Prototype:
    """A function as its source declares it; a method's first parameter is ``this``."""

    name: str
    parameters: tuple[Parameter, ...]
    result: CType
    is_variadic: bool = False
    is_prototyped: bool = True
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        inside = [f"{p.type.text} {p.name}".rstrip() for p in self.parameters]
        return f"{self.result.text} {self.name}({', '.join(inside + ['...'] * self.is_variadic) or 'void'})"


class Prototypes:
    """What the debug information of one image has. Whatever damaged debug information makes the parser raise
    counts as having none: ``warning`` says so.
    """

    def __init__(self, image: Image) -> None:
        self._image = image
        self._units: dict[int, dict[int, DIE]] = {}
        self.warning = ""
        self._dwarf: Any = None
        self._ranges = Ranges([])
        try:
            elf = ELFFile(io.BytesIO(image.data))
            if elf.has_dwarf_info():
                self._dwarf = elf.get_dwarf_info()
                self._ranges = Ranges(listed_ranges(self._dwarf))
        except Exception as error:
            self._damaged(error)

    def _damaged(self, error: Exception) -> None:
        self._dwarf = None
        self.warning = f"damaged debug information ({type(error).__name__}: {error}); no prototypes"

    @property
    def has_debug_info(self) -> bool:
        """Whether there is anything to look at."""
        return self._dwarf is not None

    def function(self, name: str) -> Prototype | None:
        """The prototype of a function (see :func:`emu.image.names.find_function`), None when unknown.

        Raises SymbolError for a name that the image does not have.
        """
        address = find_function(self._image, name).address
        if self._dwarf is None:
            return None
        try:
            die = self._function_at(address)
            return None if die is None else _prototype(die)
        except Exception as error:
            self._damaged(error)
            return None

    def variable(self, name: str, near: str = "") -> CType | None:
        """The type of a global variable; the unit of the function ``near`` is looked at first."""
        if self._dwarf is None:
            return None
        try:
            for unit in self._units_from(near):
                for die in unit.get_top_DIE().iter_children():
                    if (
                        die.tag == "DW_TAG_variable"
                        and name_of(die) == name
                        and "DW_AT_type" in die.attributes
                    ):
                        found = type_of(die)
                        if found.size:
                            return found
        except Exception as error:
            self._damaged(error)
        return None

    def _units_from(self, near: str) -> Iterator[Any]:
        first = None
        with contextlib.suppress(SymbolError):
            first = self._ranges.unit_at(find_function(self._image, near).address) if near else None
        if first is not None:
            yield self._dwarf.get_CU_at(first)
        for unit in self._dwarf.iter_CUs():
            if unit.cu_offset != first:
                yield unit

    def _function_at(self, address: int) -> DIE | None:
        offset = self._ranges.unit_at(address)
        if offset is not None:
            return self._functions(offset).get(address)
        listed = self._ranges.units()
        for unit in self._dwarf.iter_CUs():
            if unit.cu_offset not in listed:
                found = self._functions(unit.cu_offset).get(address)
                if found is not None:
                    return found
        return None

    def _functions(self, offset: int) -> dict[int, DIE]:
        """Functions with code by their address; of one unit, namespaces included."""
        if offset not in self._units:
            top = self._dwarf.get_CU_at(offset).get_top_DIE()
            self._units[offset] = dict(_with_code(top))
        return self._units[offset]


def _with_code(die: DIE) -> Iterator[tuple[int, DIE]]:
    for child in die.iter_children():
        if child.tag == "DW_TAG_subprogram" and "DW_AT_low_pc" in child.attributes:
            yield child.attributes["DW_AT_low_pc"].value, child
        elif child.tag == "DW_TAG_namespace":
            yield from _with_code(child)


def _declarations(die: DIE) -> list[DIE]:
    """The DIE itself, then what it refers to: the abstract function, the declaration in its class."""
    found = [die]
    for attribute in ("DW_AT_abstract_origin", "DW_AT_specification"):
        while attribute in found[-1].attributes:
            found.append(found[-1].get_DIE_from_attribute(attribute))
    return found


def _prototype(die: DIE) -> Prototype | None:
    dies = _declarations(die)
    name = next((n for d in dies if (n := name_of(d))), "")
    # a concrete copy of an inlined function has its parameters too, with their types in the abstract one
    source = next(
        (d for d in dies if any(c.tag == "DW_TAG_formal_parameter" for c in d.iter_children())), dies[-1]
    )
    parameters = tuple(_parameter(c) for c in source.iter_children() if c.tag == "DW_TAG_formal_parameter")
    variadic = any(c.tag == "DW_TAG_unspecified_parameters" for c in source.iter_children())
    result = next((type_of(d) for d in dies if "DW_AT_type" in d.attributes), VOID)
    line = next((d.attributes["DW_AT_decl_line"].value for d in dies if "DW_AT_decl_line" in d.attributes), 0)
    language = die.cu.get_top_DIE().attributes.get("DW_AT_language")
    is_cpp = language is not None and language.value in _CPP
    prototyped = is_cpp or any("DW_AT_prototyped" in d.attributes for d in dies)
    return Prototype(name, parameters, result, variadic, prototyped, _file(die), line)


def _file(die: DIE) -> str:
    return name_of(die.cu.get_top_DIE())


def _parameter(die: DIE) -> Parameter:
    dies = _declarations(die)
    name = next((n for d in dies if (n := name_of(d))), "")
    return Parameter(name, next((type_of(d) for d in dies if "DW_AT_type" in d.attributes), VOID))
