"""What `emu doctor` says about compilers: what was found, what is missing, and the command that mends it."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from emu.toolchain.cache import cache_dir
from emu.toolchain.errors import ToolchainError
from emu.toolchain.find import search
from emu.toolchain.plugin import build_plugin, host_compiler, source_hash
from emu.toolchain.unpacked import find_patchelf, suite


@dataclass(frozen=True)
class Check:
    """One line of the doctor: `mend` is the exact command, empty when nothing has to be done.

    `needed` is False for what only matters while a compiler is being installed.
    """

    name: str
    ok: bool
    found: str
    mend: str = ""
    needed: bool = True


def checks() -> list[Check]:
    """All checks of this room; none of them installs anything or raises."""
    compiler = _check("xtensa compiler", lambda: search().describe())
    return [
        compiler,
        _check("host C compiler", lambda: " ".join(host_compiler())),
        _check("core description", lambda: f"{build_plugin()} (source {source_hash()[:12]})"),
        _check("cache folder", _writable_cache),
        _check("patchelf", find_patchelf, needed=not compiler.ok),
        _check("system to install on", lambda: f"Debian packages of {suite()}", needed=not compiler.ok),
    ]


def report(results: list[Check] | None = None) -> str:
    """The checks as plain text, one per line, with the commands that mend what is wrong."""
    return "\n".join(_line(result) for result in (checks() if results is None else results))


def _line(result: Check) -> str:
    state = "ok     " if result.ok else "MISSING" if result.needed else "not now"
    mend = f"\n        to mend: {result.mend}" if result.mend and result.needed else ""
    return f"{state} {result.name}: {result.found}{mend}"


def _check(name: str, look: Callable[[], str], needed: bool = True) -> Check:
    try:
        return Check(name, True, look(), needed=needed)
    except ToolchainError as error:
        return Check(name, False, error.problem, error.mend, needed)


def _writable_cache() -> str:
    folder = cache_dir()
    existing = next(place for place in (folder, *folder.parents) if place.exists())
    if not (existing.is_dir() and os.access(existing, os.W_OK)):
        raise ToolchainError(f"{folder} cannot be written", f"export EMU_CACHE_DIR={Path.cwd() / '.cache'}")
    return str(folder)
