"""A folder of small binary files by key, shared by any number of processes.

Entries are written beside their place and renamed, so a reader sees all of one or none. Each carries a
digest of its contents; a damaged one counts as missing and is replaced. A folder that cannot be written is
no error: then nothing is kept.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import tempfile
from pathlib import Path

import platformdirs

_MAGIC = b"emu-object-1\n"
_DIGEST = 32
LIMIT = 256 << 20
"""Bytes that the folder may hold; above that the files that were used least recently go."""


def default_folder() -> Path:
    """``EMU_CACHE_DIR``, or the platform's user cache of this program; in it, the folder of native code."""
    named = os.environ.get("EMU_CACHE_DIR")
    base = Path(named).expanduser().absolute() if named else Path(platformdirs.user_cache_dir("esp32s3-emu"))
    return base / "translated"


class FileCache:
    """Contents by key; a key is a hexadecimal digest."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._is_pruned = False

    def get(self, key: str) -> bytes | None:
        """The contents stored under ``key``; None when there are none or they are damaged."""
        path = self._path(key)
        try:
            data = path.read_bytes()
        except OSError:
            return None
        head = len(_MAGIC) + _DIGEST
        contents = data[head:]
        if data[:head] != _MAGIC + hashlib.sha256(contents).digest():
            with contextlib.suppress(OSError):
                path.unlink()
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return contents

    def put(self, key: str, contents: bytes) -> None:
        """Store; does nothing where the folder cannot be written."""
        path = self._path(key)
        with contextlib.suppress(OSError):
            path.parent.mkdir(parents=True, exist_ok=True)
            handle, scratch = tempfile.mkstemp(dir=path.parent, prefix=".new-")
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(_MAGIC + hashlib.sha256(contents).digest() + contents)
                os.replace(scratch, path)
            except OSError:
                Path(scratch).unlink(missing_ok=True)
                raise
            self._prune_once()

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / key

    def _prune_once(self) -> None:
        """Once in a process: drop the oldest files while the folder holds more than LIMIT bytes."""
        if self._is_pruned:
            return
        self._is_pruned = True
        found = []
        for path in self.folder.glob("*/*"):
            with contextlib.suppress(OSError):
                status = path.stat()
                found.append((status.st_mtime, status.st_size, path))
        total = sum(size for _, size, _ in found)
        for _, size, path in sorted(found):
            if total <= LIMIT:
                return
            with contextlib.suppress(OSError):
                path.unlink()
                total -= size
