"""Bytes of header and index (docs/models.md section 4): 64 bytes, then 80 for each tensor, little-endian."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from emu.models.modelfile.tensors import NAME_BYTES, TensorSpec

MAGIC: Final = b"EMUMODEL"
VERSION: Final = 1
SPEC_VERSION: Final = 1
MAX_TENSORS: Final = 255

_HEADER = struct.Struct("<8sHHIIIII8I")
_ENTRY = struct.Struct("<40sBBH4IIIII4s")
HEADER_BYTES: Final = _HEADER.size
ENTRY_BYTES: Final = _ENTRY.size
CRC_OFFSET: Final = 24


@dataclass(frozen=True)
class Header:
    """Fields of the header as they stand in the file; ``parameters`` are the eight words from byte 32."""

    magic: bytes
    version: int
    kind: int
    header_len: int
    file_len: int
    count: int
    crc: int
    spec_version: int
    parameters: tuple[int, ...]

    @classmethod
    def read(cls, data: bytes) -> Header:
        """The header in the first 64 bytes of ``data``."""
        f = _HEADER.unpack_from(data)
        return cls(f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7], f[8:])


@dataclass(frozen=True)
class Entry:
    """One entry of the index as it stands in the file; ``name`` has its 40 bytes."""

    name: bytes
    dtype: int
    ndim: int
    group: int
    shape: tuple[int, ...]
    row_bytes: int
    offset: int
    length: int
    crc: int
    reserved: bytes

    @classmethod
    def read(cls, data: bytes) -> Entry:
        """The entry in the first 80 bytes of ``data``."""
        f = _ENTRY.unpack_from(data)
        return cls(f[0], f[1], f[2], f[3], f[4:8], f[8], f[9], f[10], f[11], f[12])

    @property
    def label(self) -> str:
        """The name for a message, whatever bytes it has."""
        return self.name.split(b"\0", 1)[0].decode("ascii", "backslashreplace")


def pack_entry(spec: TensorSpec, offset: int, crc: int) -> bytes:
    """The index entry of a tensor at ``offset``."""
    name = spec.name.encode("ascii")
    if not 0 < len(name) < NAME_BYTES:
        raise ValueError(f"the tensor name {spec.name!r} must have 1 to {NAME_BYTES - 1} bytes")
    shape = (*spec.shape, 1, 1, 1)[:4]
    sizes = spec.row_bytes, offset, spec.length, crc
    return _ENTRY.pack(name, spec.dtype, len(spec.shape), spec.group, *shape, *sizes, b"")


def pack_header(kind: int, file_len: int, entries: Sequence[bytes], parameters: Sequence[int] = ()) -> bytes:
    """Header and index with their CRC."""
    words = (*parameters, *([0] * 8))[:8]
    length = HEADER_BYTES + ENTRY_BYTES * len(entries)
    fixed = MAGIC, VERSION, kind, length, file_len, len(entries)
    index = b"".join(entries)
    crc = zlib.crc32(_HEADER.pack(*fixed, 0, SPEC_VERSION, *words) + index)
    return _HEADER.pack(*fixed, crc, SPEC_VERSION, *words) + index


def header_crc(data: bytes) -> int:
    """CRC-32 of header and index ``data`` with the CRC field taken as 0."""
    return zlib.crc32(data[:CRC_OFFSET] + bytes(4) + data[CRC_OFFSET + 4 :])
