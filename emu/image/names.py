"""Names of functions as people write them: C symbols, mangled C++ names, and their readable forms."""

from __future__ import annotations

import re
from functools import lru_cache

import itanium_demangler

from emu.image.elf import Image
from emu.image.errors import SymbolError
from emu.image.symbols import Symbol

_CONSTRUCTOR = re.compile(r"(\w+)((?:<[^()]*>)?)::\{(?:\w+ )?(ctor|dtor)\}")
_CONST = re.compile(r"^([^()]*) const(\(.*\))$")


@lru_cache(maxsize=4096)
def demangled(name: str) -> str:
    """``Dense::run(signed char const*, int)`` for ``_ZN5Dense3runEPKai``; any other name as it is."""
    if not name.startswith("_Z"):
        return name
    try:
        tree = itanium_demangler.parse(name)
    except Exception:  # the library raises whatever it stumbles over
        return name
    return name if tree is None else _as_usual(str(tree))


def _as_usual(text: str) -> str:
    """The library's spelling as c++filt and people write it."""
    text = _CONSTRUCTOR.sub(lambda m: f"{m[1]}{m[2]}::{'~' if m[3] == 'dtor' else ''}{m[1]}", text)
    return _CONST.sub(r"\1\2 const", text)


def _plain(name: str) -> str:
    """Without spaces, in which spellings differ."""
    return "".join(name.split())


def find_function(image: Image, name: str) -> Symbol:
    """A function by its symbol, or by its C++ name: ``Dense::run(signed char const*, int)``, ``Dense::run``.

    Raises SymbolError for an unknown name, and for a C++ name that several overloads have.
    """
    if name in image.symbols or not _is_readable(name, image):
        return image.symbols.function(name)
    found = _by_readable_name(image, name)
    if len({s.address for s in found}) == 1:
        return found[0]
    if found:
        texts = ", ".join(sorted({f"{demangled(s.name)} ({s.name})" for s in found}))
        raise SymbolError(f"{image.name}: {name} is the name of several functions: {texts}; give one of them")
    return image.symbols.function(name)


def _is_readable(name: str, image: Image) -> bool:
    return "::" in name or "(" in name or any(s.name.startswith("_Z") for s in image.symbols)


def _by_readable_name(image: Image, name: str) -> list[Symbol]:
    wanted, is_whole = _plain(name), "(" in name
    found = []
    for symbol in image.symbols:
        if symbol.kind == "object" or not symbol.name.startswith("_Z"):
            continue
        text = _plain(demangled(symbol.name))
        if text == wanted or (not is_whole and text.split("(", 1)[0] == wanted):
            found.append(symbol)
    return found
