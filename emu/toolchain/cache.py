"""The cache folder: where fetched compilers and built plug-ins live, and how several processes share it.

`EMU_CACHE_DIR` names the folder; without it the platform's user cache is used. Things are made in
a temporary folder beside their final place, under a lock, and renamed at the end: readers see all or nothing.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import platformdirs
from filelock import FileLock

from emu.toolchain.errors import ToolchainError


def cache_dir() -> Path:
    """The cache folder as an absolute path (it need not exist yet)."""
    named = os.environ.get("EMU_CACHE_DIR")
    return Path(named).expanduser().absolute() if named else Path(platformdirs.user_cache_dir("esp32s3-emu"))


def make_once(name: str, build: Callable[[Path, Path], None], is_good: Callable[[Path], bool]) -> Path:
    """Folder `name` of the cache, built by `build(temporary, final)` unless it is there and good.

    Raises:
        ToolchainError: the cache folder cannot be written, or `build` failed; nothing is left behind then.
    """
    final = cache_dir() / name
    if final.is_dir() and is_good(final):
        return final
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(final.with_name(final.name + ".lock")):
            if not (final.is_dir() and is_good(final)):
                _replace(final, build)
    except OSError as error:
        raise ToolchainError(
            f"cannot write the cache folder {final.parent}: {error.strerror or error}",
            "make it writable, or name another one: export EMU_CACHE_DIR=/path/to/folder",
        ) from error
    return final


def _replace(final: Path, build: Callable[[Path, Path], None]) -> None:
    """Build beside `final` and rename; a bad older folder is moved out of the way first."""
    with tempfile.TemporaryDirectory(prefix=final.name + ".", dir=final.parent) as scratch:
        fresh = Path(scratch) / "new"
        fresh.mkdir()
        build(fresh, final)
        if final.exists():
            final.rename(Path(scratch) / "old")
        fresh.rename(final)


def remove(name: str) -> None:
    """Delete a folder of the cache, if it is there."""
    shutil.rmtree(cache_dir() / name, ignore_errors=True)
