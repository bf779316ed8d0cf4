"""Finding a compiler for the chip: ESP-IDF's, Debian's, or the one unpacked in the cache."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from emu.toolchain.errors import ToolchainError
from emu.toolchain.install import install_missing, told_on_stderr
from emu.toolchain.plugin import build_plugin
from emu.toolchain.selftest import check
from emu.toolchain.tools import Toolchain, binutils_version, gcc_version
from emu.toolchain.unpacked import unpacked_gcc

FIRST_GCC = 13
INSTALL = "emu toolchain install"
IDF_NAMES = ("xtensa-esp32s3-elf-gcc", "xtensa-esp-elf-gcc")


@dataclass(frozen=True)
class Candidate:
    """A compiler driver that might do."""

    kind: str
    gcc: Path


@cache
def find_toolchain(install: bool = False) -> Toolchain:
    """The first toolchain that passes the self test, ESP-IDF's before Debian's; remembered for this process.

    `EMU_GCC=/path/to/xtensa-...-gcc` names one compiler and stops the search. With `install`, and nothing
    found, what is missing is fetched (`emu.toolchain.install`).

    Raises:
        ToolchainError: nothing usable was found; the message lists what was tried and why it was refused.
    """
    try:
        return search()
    except ToolchainError:
        if not install or "EMU_GCC" in os.environ:
            raise
    with told_on_stderr() as say:
        install_missing(say)
        return search()


def search() -> Toolchain:
    """`find_toolchain` without its memory and without installing anything."""
    refused: list[str] = []
    for candidate in candidates():
        try:
            return open_toolchain(candidate)
        except ToolchainError as error:
            refused.append(f"{candidate.gcc}: {error}")
    tried = "".join(f"\n  refused {line}" for line in refused)
    mend = "unset EMU_GCC, or name an ESP32-S3 compiler" if "EMU_GCC" in os.environ else INSTALL
    raise ToolchainError(f"no compiler for the ESP32-S3 was found{tried}", mend)


def candidates() -> Iterator[Candidate]:
    """Compilers present on this machine, best first; none of them is tried yet."""
    if named := os.environ.get("EMU_GCC"):
        yield Candidate("esp-idf" if Path(named).name in IDF_NAMES else "debian", Path(named))
        return
    yield from (Candidate("esp-idf", path) for path in _idf_compilers())
    if found := shutil.which("xtensa-lx106-elf-gcc"):
        yield Candidate("debian", Path(found))
    if unpacked := unpacked_gcc():
        yield Candidate("debian-unpacked", unpacked)


def _idf_compilers() -> Iterator[Path]:
    """ESP-IDF's tools on PATH, then in its tools folders, newest version first."""
    for name in IDF_NAMES:
        if found := shutil.which(name):
            yield Path(found)
    places = [os.environ.get("IDF_TOOLS_PATH", ""), "~/.espressif"]
    for place in filter(None, places):
        folder = Path(place).expanduser()
        for name in IDF_NAMES:
            yield from sorted(folder.glob(f"tools/xtensa-*/*/*/bin/{name}"), key=_release, reverse=True)


def _release(gcc: Path) -> list[int]:
    """Numbers of the version folder, such as esp-14.2.0_20241119, so that 14 comes after 9."""
    digits = "".join(char if char.isdigit() else " " for char in gcc.parents[2].name)
    return [int(part) for part in digits.split()]


def open_toolchain(candidate: Candidate) -> Toolchain:
    """Describe a candidate and prove by a self test that it makes ESP32-S3 code.

    Raises:
        ToolchainError: it does not run, is too old, or makes code for another core.
    """
    toolchain = describe(candidate)
    check(toolchain)
    return toolchain


def describe(candidate: Candidate) -> Toolchain:
    """Versions and core description of a candidate, without the self test.

    Raises:
        ToolchainError: it does not run or is too old to be re-targeted.
    """
    gcc = candidate.gcc
    version = gcc_version(gcc)
    if candidate.kind != "esp-idf" and int(version.split(".")[0]) < FIRST_GCC:
        raise ToolchainError(f"GCC {version} is too old: only GCC {FIRST_GCC} or newer can be re-targeted")
    plugin = _idf_plugin(gcc) if candidate.kind == "esp-idf" else build_plugin()
    env = {"XTENSA_GNU_CONFIG": str(plugin)} if plugin else {}
    return Toolchain(
        kind=candidate.kind,
        name=gcc.name.removesuffix("-gcc"),
        version=version,
        gcc=gcc,
        binutils=binutils_version(gcc, env),
        plugin=plugin,
        env=env,
    )


def _idf_plugin(gcc: Path) -> Path | None:
    """The vendor's core description for the compiler that serves several chips; ours if it is not there."""
    if gcc.name == IDF_NAMES[0]:
        return None
    own = gcc.resolve().parent.parent / "lib" / "xtensa_esp32s3.so"
    return own if own.is_file() else build_plugin()
