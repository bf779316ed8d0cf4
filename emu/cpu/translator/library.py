"""Native code by what it was made from: shared by all engines of the process."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path

from emu.cpu.translator import builtin
from emu.cpu.translator.checks import Checks
from emu.cpu.translator.discover import Code
from emu.cpu.translator.machine import Choices
from emu.cpu.translator.modes import Mode
from emu.cpu.translator.native import HOT, Loader, host_description, object_code

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


def unit_key(code: Code, mode: Mode, choices: Choices) -> str:
    """Names the native code of a unit: equal keys, equal code."""
    digest = hashlib.sha256(f"{source_digest()} {host_description()} {mode} {choices.text()}".encode())
    digest.update(f"{code.entry} {sorted(code.loop_ends)}".encode())
    for start, data in code.ranges():
        digest.update(f" {start} {len(data)} ".encode() + data)
    return digest.hexdigest()


class Library:
    """Functions in this process by key."""

    def __init__(self) -> None:
        self._loader = Loader()
        self._functions: dict[str, int] = {}
        self._helpers: dict[Checks, dict[str, int]] = {}

    def unit(self, key: str, symbol: str, make: Callable[[], str]) -> int:
        """Address of a unit; ``make`` writes its module when it is new."""
        address = self._functions.get(key)
        if address is None:
            address = self._loader.load(object_code(make(), HOT), symbol)
            self._functions[key] = address
        return address

    def helpers(self, checks: Checks) -> dict[str, int]:
        """Addresses of the functions of builtin.py by name."""
        if checks not in self._helpers:
            code = object_code(builtin.module(checks), HOT)
            self._helpers[checks] = self._loader.load_all(code, builtin.NAMES)
        return self._helpers[checks]


@cache
def library() -> Library:
    """The process's library."""
    return Library()
