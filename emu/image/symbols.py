"""Symbols of an image, by name and by address."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Literal

from emu.image.errors import SymbolError

Kind = Literal["function", "object", "label"]


@dataclass(frozen=True)
class Symbol:
    """``size`` may be 0 where the assembler file did not state it.

    ``is_absolute``: a value set by the linker.
    """

    name: str
    address: int
    size: int
    kind: Kind
    is_global: bool
    is_absolute: bool = False

    @property
    def end(self) -> int:
        """First address after the symbol."""
        return self.address + self.size


class Symbols:
    """All defined symbols of one image."""

    def __init__(self, symbols: Iterable[Symbol], image_name: str) -> None:
        self._image_name = image_name
        self._all = tuple(symbols)
        self._by_name: dict[str, list[Symbol]] = {}
        for symbol in self._all:
            self._by_name.setdefault(symbol.name, []).append(symbol)
        placed = [s for s in self._all if not s.is_absolute]
        # Of several symbols at one address the last one wins: functions, sized and global ones.
        placed.sort(key=lambda s: (s.address, s.kind == "function", s.size > 0, s.is_global, s.name))
        self._placed = placed
        self._absolute = {s.address: s for s in self._all if s.is_absolute}
        self._addresses = [s.address for s in placed]

    def __iter__(self) -> Iterator[Symbol]:
        return iter(self._all)

    def __len__(self) -> int:
        return len(self._all)

    def __contains__(self, name: object) -> bool:
        return name in self._by_name

    def get(self, name: str) -> Symbol:
        """The symbol called ``name``; a global one before local ones.

        Raises SymbolError when there is none (with similar names) or several local ones.
        """
        found = self._by_name.get(name, [])
        if len({s.address for s in found}) == 1:
            return found[0]
        global_ = [s for s in found if s.is_global]
        if len(global_) == 1:
            return global_[0]
        if found:
            places = ", ".join(f"{s.address:#010x}" for s in found)
            raise SymbolError(f"{self._image_name}: {name} is the name of several local symbols: {places}")
        similar = get_close_matches(name, self._by_name, n=3)
        hint = f"; did you mean {', '.join(similar)}?" if similar else ""
        raise SymbolError(f"{self._image_name}: no symbol is called {name!r}{hint}")

    def function(self, name: str) -> Symbol:
        """As :meth:`get`, for something that can be called. Raises SymbolError for data."""
        symbol = self.get(name)
        if symbol.kind == "object":
            raise SymbolError(f"{self._image_name}: {name} at {symbol.address:#010x} is data, not a function")
        return symbol

    def at(self, address: int) -> Symbol | None:
        """The symbol that an address belongs to:

        the innermost sized one around it, else the nearest before it.
        """
        place = bisect_right(self._addresses, address)
        nearest = self._placed[place - 1] if place else None
        for symbol in reversed(self._placed[max(0, place - 8) : place]):
            if symbol.address <= address < symbol.end:
                return symbol
        return nearest if nearest is not None and not nearest.size else None

    def absolute_at(self, address: int) -> Symbol | None:
        """A symbol that the linker was told to be exactly there, as for functions in the chip's ROM."""
        return self._absolute.get(address)

    def functions(self) -> tuple[Symbol, ...]:
        """All functions, by address."""
        return tuple(s for s in self._placed if s.kind == "function")
