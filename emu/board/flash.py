"""The flash chip: NOR cells in a file. Programming clears bits, erasing sets them, in the file as it happens.

The file is mapped into the guest's memory and shared with the system, so whatever was programmed when the
process is killed is in the file: a half-written page is half-written there too, as after a power cut.
"""

from __future__ import annotations

import fcntl
import mmap
import os
from pathlib import Path

import numpy as np

from emu.cpu.memory import Buffer

SECTOR, BLOCK, PAGE = 4096, 65536, 256
MIB = 1 << 20
MANUFACTURER, MEMORY_TYPE = 0xC8, 0x40
"""GigaDevice, as many modules have it."""
BUSY, WRITE_ENABLED = 1, 2
SIZES = tuple(1 << n for n in range(20, 26))
"""1 to 32 MiB."""


class FlashError(Exception):
    """A flash file that cannot be used."""


class FileBuffer(Buffer):
    """Bytes of a file, at a page-aligned address that never moves. Raises OSError."""

    def __init__(self, descriptor: int, size: int) -> None:
        self.size = size
        self._map = mmap.mmap(descriptor, size)
        self.view = memoryview(self._map)
        self.array = np.frombuffer(self.view, np.uint8)
        self.address = int(self.array.ctypes.data)


def parse_size(text: str) -> int:
    """Bytes of a flash size: "16MB" and "16MiB" mean MiB, "16384KB" KiB, a number bytes.

    Raises FlashError for anything that is no size of a flash chip, with what it was read as.
    """
    plain = text.strip().upper().replace("IB", "B")
    unit = 1
    for suffix, factor in (("MB", MIB), ("KB", 1024), ("M", MIB), ("K", 1024)):
        if plain.endswith(suffix):
            plain, unit = plain[: -len(suffix)], factor
            break
    if not plain.isdigit():
        raise FlashError(f"flash size {text!r}: a number of bytes, or like 8MB (MiB), is needed")
    size = int(plain) * unit
    if size not in SIZES:
        known = ", ".join(f"{n // MIB}MB" for n in SIZES)
        raise FlashError(f"flash size {text!r} is {size} bytes; chips have {known} (1MB is {MIB} bytes)")
    return size


class Flash:
    """A chip of ``size`` bytes. ``buffer``: its cells, which the cache shows to the guest."""

    def __init__(self, size: int, path: Path | None = None) -> None:
        """``path``: the file that keeps the contents, made (erased) if it is missing. None: lost at the end.

        Raises FlashError when the file cannot be used, is in use, or has another size.
        """
        self.size = size
        self.path = path
        self.is_write_enabled = False
        self.status = [0, 2, 0]
        """Status registers 1..3; quad mode is enabled."""
        self.erased = 0
        self.programmed = 0
        self._file = -1
        self.buffer = self._open(path) if path is not None else Buffer(size)
        if path is None:
            self.buffer.array[:] = 0xFF

    def _open(self, path: Path) -> Buffer:
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            found = os.fstat(self._file).st_size
            if found == 0:
                self._fill(path)
            elif found != self.size:
                raise FlashError(
                    f"{path}: {found} bytes, but the chip has {self.size}; give its size with --flash-size, "
                    "or another file"
                )
            return FileBuffer(self._file, self.size)
        except BlockingIOError:
            raise FlashError(f"{path}: another board is using this flash file") from None
        except OSError as error:
            raise FlashError(f"{path}: {error.strerror or error}") from None

    def _fill(self, path: Path) -> None:
        """A new chip, whole or not at all: a cut here leaves an empty file, which is filled again."""
        fresh = path.with_name(path.name + ".new")
        with open(fresh, "wb") as file:
            for _ in range(self.size // MIB):
                file.write(b"\xff" * MIB)
        os.replace(fresh, path)
        os.close(self._file)
        self._file = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def close(self) -> None:
        """Let another board use the file."""
        if self._file >= 0:
            fcntl.flock(self._file, fcntl.LOCK_UN)  # the mapping keeps the file open
            os.close(self._file)
            self._file = -1

    @property
    def id(self) -> tuple[int, int, int]:
        """The three bytes of RDID."""
        return MANUFACTURER, MEMORY_TYPE, self.size.bit_length() - 1

    def read(self, address: int, size: int) -> bytes:
        """Cells from ``address`` on; addresses wrap at the end of the chip."""
        address %= self.size
        first = bytes(self.buffer.view[address : min(address + size, self.size)])
        return first if len(first) == size else first + self.read(0, size - len(first))

    def program(self, address: int, data: bytes) -> None:
        """Clear the bits that are 0 in ``data``; page by page, as the chip is told."""
        done = 0
        while done < len(data):
            at = (address + done) % self.size
            length = min(len(data) - done, PAGE - at % PAGE)
            cells = self.buffer.array[at : at + length]
            cells &= np.frombuffer(data[done : done + length], np.uint8)
            done += length
        self.programmed += len(data)

    def program_page(self, address: int, data: bytes) -> None:
        """One page program command: data beyond the page's end comes back at its start."""
        page = address % self.size & -PAGE
        for i, value in enumerate(data[-PAGE:]):
            at = page + (address + len(data) - len(data[-PAGE:]) + i) % PAGE
            self.buffer.view[at] &= value
        self.programmed += len(data)

    def erase(self, address: int, size: int) -> None:
        """Set the bits of the whole sectors that the range touches; sector by sector."""
        start = address & -SECTOR
        for at in range(start, address + size, SECTOR):
            place = at % self.size
            self.buffer.array[place : place + SECTOR] = 0xFF
        self.erased += size
