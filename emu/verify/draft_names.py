"""Parameters as far as a mangled C++ name tells them."""

from __future__ import annotations

import re

from emu.image.debug_types import CType
from emu.image.names import demangled
from emu.image.prototypes import Parameter

_NUMBERS = {
    "bool": ("u", 1),
    "char": ("u", 1),
    "signed char": ("i", 1),
    "unsigned char": ("u", 1),
    "short": ("i", 2),
    "unsigned short": ("u", 2),
    "int": ("i", 4),
    "unsigned int": ("u", 4),
    "long": ("i", 4),
    "unsigned long": ("u", 4),
    "long long": ("i", 8),
    "unsigned long long": ("u", 8),
    "float": ("f", 4),
    "double": ("f", 8),
}


def parameters_of_name(symbol: str) -> list[Parameter] | None:
    """What the name of a C++ function says; None for a name in C. Methods are taken to be not static."""
    text = demangled(symbol)
    if text == symbol or "(" not in text:
        return None
    head, _, inside = text.partition("(")
    inside = inside.rsplit(")", 1)[0]
    parts = [] if inside in ("", "void") else _split(inside)
    found = [Parameter(f"p{i}", _type(part.strip())) for i, part in enumerate(parts)]
    if "::" in re.sub(r"<.*>", "", head):
        whole = CType("struct", "struct", size=0)
        found.insert(0, Parameter("self", CType("this", "pointer", "u", 4, target=whole)))
    return found


def _split(text: str) -> list[str]:
    """At commas outside of brackets."""
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in "(<") - (letter in ")>")
        if letter == "," and not depth:
            parts.append("")
        else:
            parts[-1] += letter
    return parts


def _type(text: str) -> CType:
    is_const = text.endswith(" const")
    text = text.removesuffix(" const")
    if text.endswith(("*", "&")):
        return CType(text, "pointer", "u", 4, target=_type(text[:-1].strip()))
    if text in _NUMBERS:
        code, size = _NUMBERS[text]
        return CType(text, "base", code, size, is_const)
    if text.endswith(")"):
        return CType(text, "function")
    return CType(text, "void" if text == "void" else "struct", is_const=is_const)
