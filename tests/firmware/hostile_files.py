"""Model files with something wrong in them, and what C and Python say about each.

A file stands at the end of mapped memory: a read behind its end stops the process, not only the test.
"""

from __future__ import annotations

import ctypes
import mmap
import zlib
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from emu.models.errors import ModelFileError
from emu.models.modelfile.header import CRC_OFFSET, ENTRY_BYTES, HEADER_BYTES
from emu.models.modelfile.kinds import Kind
from emu.models.modelfile.reader import ModelFile
from tests.firmware import host_models as h

PROT_NONE = 0
HEADER = 0xFFFFFFFF


@dataclass(frozen=True)
class Answer:
    """reason (enum emu_model_fault) and index entry, HEADER for none."""

    reason: int
    tensor: int


class GuardedFile:
    """Room for files of up to `size` bytes, each ending within 16 bytes of an unreadable page."""

    def __init__(self, size: int) -> None:
        page = mmap.PAGESIZE
        self.room = -(-size // page) * page
        self.map = mmap.mmap(-1, self.room + page)
        self.view = np.frombuffer(self.map, np.uint8)
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mprotect(ctypes.c_void_p(self.view.ctypes.data + self.room), page, PROT_NONE):
            raise OSError(ctypes.get_errno(), "mprotect")

    def place(self, data: bytes) -> int:
        """The address of the file, a multiple of 16."""
        start = (self.room - len(data)) & ~15
        self.view[start : start + len(data)] = np.frombuffer(data, np.uint8)
        return int(self.view.ctypes.data) + start


def answer_of_c(library: ctypes.CDLL, guarded: GuardedFile, data: bytes, kind: int) -> Answer:
    """emu_model_open of the file."""
    model, fault = h.Model(), h.ModelFault()
    place = h.POINTER(guarded.place(data))
    status = library.emu_model_open(place, len(data), kind, 0, ctypes.byref(model), ctypes.byref(fault))
    assert status == (5 if fault.reason else 0)
    return Answer(fault.reason, fault.tensor)


def answer_of_python(data: bytes, kind: Kind | None) -> Answer:
    """The same from the reader of model files."""
    try:
        ModelFile(data, "hostile", kind)
    except ModelFileError as error:
        return Answer(int(error.reason), error.index & 0xFFFFFFFF)
    return Answer(0, HEADER)


class Forge:
    """A file to damage. Sealing makes checksums right again, so that what lies behind them is reached."""

    def __init__(self, data: bytes) -> None:
        self.data = bytearray(data)

    def count(self) -> int:
        return int.from_bytes(self.data[20:24], "little")

    def entry(self, i: int) -> int:
        """Where index entry i begins."""
        return HEADER_BYTES + ENTRY_BYTES * i

    def put(self, offset: int, value: int, size: int = 4) -> None:
        self.data[offset : offset + size] = (value & (1 << 8 * size) - 1).to_bytes(size, "little")

    def word(self, offset: int) -> int:
        return int.from_bytes(self.data[offset : offset + 4], "little")

    def seal_tensor(self, i: int) -> None:
        at = self.entry(i)
        offset, length = self.word(at + 64), self.word(at + 68)
        self.put(at + 72, zlib.crc32(self.data[offset : offset + length]))

    def seal(self) -> bytes:
        """Header CRC; the bytes."""
        length = min(self.word(12), len(self.data))
        self.put(CRC_OFFSET, 0)
        self.put(CRC_OFFSET, zlib.crc32(self.data[:length]))
        return bytes(self.data)


Damage = Callable[[Forge, np.random.Generator], bytes]


def flip_bit(forge: Forge, rng: np.random.Generator) -> bytes:
    """One bit anywhere, nothing mended."""
    at = int(rng.integers(len(forge.data)))
    forge.data[at] ^= 1 << int(rng.integers(8))
    return bytes(forge.data)


def flip_index_bit(forge: Forge, rng: np.random.Generator) -> bytes:
    """One bit of header or index, the header's CRC mended."""
    at = int(rng.integers(forge.entry(forge.count())))
    forge.data[at] ^= 1 << int(rng.integers(8))
    return forge.seal()


def strange_field(forge: Forge, rng: np.random.Generator) -> bytes:
    """A number of header or index gets a strange value, the CRC mended."""
    fields = [0, 4, 8, 10, 12, 16, 20, 28, 32, 36, 60]
    base, numbers = 0, fields
    if rng.random() < 0.8:
        base = forge.entry(int(rng.integers(forge.count())))
        numbers = [0, 39, 40, 41, 42, 44, 48, 52, 56, 60, 64, 68, 72, 76]
    values = [0, 1, 2, 15, 16, 17, 255, 256, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF0, 0xFFFFFFFF]
    at, value = base + int(rng.choice(numbers)), int(rng.choice(values))
    change = forge.word(at) + int(rng.choice([-16, -1, 1, 16])) if rng.random() < 0.5 else value
    forge.put(at, change)
    return forge.seal()


def bad_content(forge: Forge, rng: np.random.Generator) -> bytes:
    """A few bytes of a tensor change and all CRCs are mended: codes, padding, infinities, signs."""
    i = int(rng.integers(forge.count()))
    at = forge.entry(i)
    offset, length = forge.word(at + 64), forge.word(at + 68)
    place = offset + int(rng.integers(length))
    value = int(rng.choice([0x00, 0x01, 0x55, 0x7C, 0x7F, 0x80, 0x88, 0xFF, int(rng.integers(256))]))
    forge.data[place] = value
    if rng.random() < 0.3:
        forge.data[offset + length - 1] = value
    forge.seal_tensor(i)
    return forge.seal()


def bad_gap(forge: Forge, rng: np.random.Generator) -> bytes:
    """A byte between tensors."""
    gaps = []
    for i in range(1, forge.count()):
        before = forge.entry(i - 1)
        end = forge.word(before + 64) + forge.word(before + 68)
        gaps += list(range(end, forge.word(forge.entry(i) + 64)))
    if not gaps:
        return flip_bit(forge, rng)
    forge.data[int(rng.choice(gaps))] = int(rng.integers(1, 256))
    return bytes(forge.data)


def cut(forge: Forge, rng: np.random.Generator) -> bytes:
    """Bytes missing or too many at the end; sometimes the length field follows."""
    size = len(forge.data)
    near = [0, 1, 63, 64, 65, 144, forge.entry(forge.count()), size - 1, size - 16, size + 1, size + 16]
    new = int(rng.choice(near)) if rng.random() < 0.7 else int(rng.integers(size))
    forge.data = forge.data[:new] + bytes(max(0, new - size))
    if rng.random() < 0.5 and new >= HEADER_BYTES:
        forge.put(16, new)
        return forge.seal()
    return bytes(forge.data)


def swap_entries(forge: Forge, rng: np.random.Generator) -> bytes:
    """Two index entries change places or names, or one is there twice."""
    i, j = (forge.entry(int(k)) for k in rng.integers(forge.count(), size=2))
    size = int(rng.choice([40, ENTRY_BYTES]))
    one, other = forge.data[i : i + size], forge.data[j : j + size]
    forge.data[i : i + size] = other
    if rng.random() < 0.5:
        forge.data[j : j + size] = one
    return forge.seal()


def overlap(forge: Forge, rng: np.random.Generator) -> bytes:
    """A tensor moves over its neighbour, or away from it."""
    at = forge.entry(int(rng.integers(forge.count()))) + 64
    forge.put(at, forge.word(at) + 16 * int(rng.integers(-40, 41)))
    return forge.seal()


DAMAGES: tuple[Damage, ...] = (
    flip_bit,
    flip_index_bit,
    strange_field,
    bad_content,
    bad_content,
    bad_gap,
    cut,
    swap_entries,
    overlap,
)
