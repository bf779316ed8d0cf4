"""Native code by what it was made from: in this process, then in the cache folder, then newly made."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

from emu.cpu.cache import FileCache
from emu.cpu.translator import builtin
from emu.cpu.translator.checks import Checks
from emu.cpu.translator.discover import Code
from emu.cpu.translator.machine import Choices
from emu.cpu.translator.modes import Mode
from emu.cpu.translator.native import FULL, Loader, host_description, object_code

_SOURCES = ("cpu", "isa")


@cache
def source_digest() -> str:
    """Digest of the source code that translation depends on."""
    root = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256()
    for room in _SOURCES:
        for path in sorted((root / room).rglob("*")):
            if path.suffix in (".py", ".csv"):
                digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


@cache
def _origin() -> str:
    return f"{source_digest()} {host_description()}"


def unit_key(code: Code, mode: Mode, choices: Choices, effort: str) -> str:
    """Names the native code of a unit: equal keys, equal code."""
    digest = hashlib.sha256(f"unit {effort} {_origin()} {mode} {choices.text()}".encode())
    digest.update(f"{code.entry} {sorted(code.loop_ends)} {sorted(code.careful)} {code.has_nans}".encode())
    digest.update(f"{sorted(code.indirect.items())} {sorted(code.literals.items())}".encode())
    for start, data in code.ranges():
        digest.update(f" {start} {len(data)} ".encode() + data)
    return digest.hexdigest()


class Library:
    """Functions in this process by key. One for each cache folder, shared by all engines."""

    def __init__(self, cache_folder: Path) -> None:
        self._cache = FileCache(cache_folder)
        self._loader = Loader()
        self._functions: dict[str, dict[str, int]] = {}
        self.made = 0
        """Objects that had to be translated, not loaded."""

    def known_unit(self, key: str, symbol: str) -> int | None:
        """Address of a unit that is loaded or in the cache, else None."""
        found = self._functions.get(key) or self._from_cache(key, (symbol,))
        if found is None:
            return None
        self._functions[key] = found
        return found[symbol]

    def unit(self, key: str, symbol: str, make: Callable[[], str], effort: str) -> int:
        """Address of a unit; ``make`` writes its module when it is new."""
        return self._find(key, (symbol,), make, effort)[symbol]

    def helpers(self, checks: Checks) -> dict[str, int]:
        """Addresses of the functions of builtin.py by name."""
        key = hashlib.sha256(f"helpers {_origin()} {checks}".encode()).hexdigest()
        return self._find(key, builtin.NAMES, lambda: builtin.module(checks), FULL)

    def _find(
        self, key: str, symbols: tuple[str, ...], make: Callable[[], str], effort: str
    ) -> dict[str, int]:
        found = self._functions.get(key)
        if found is None:
            found = self._from_cache(key, symbols) or self._make(key, symbols, make, effort)
            self._functions[key] = found
        return found

    def _from_cache(self, key: str, symbols: tuple[str, ...]) -> dict[str, int] | None:
        code = self._cache.get(key)
        try:
            return None if code is None else self._loader.load_all(code, symbols)
        except RuntimeError:
            return None

    def _make(
        self, key: str, symbols: tuple[str, ...], make: Callable[[], str], effort: str
    ) -> dict[str, int]:
        code = object_code(make(), effort)
        self.made += 1
        self._cache.put(key, code)
        return self._loader.load_all(code, symbols)


@cache
def library(cache_folder: Path) -> Library:
    """The process's library for a cache folder."""
    return Library(cache_folder)
