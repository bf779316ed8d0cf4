"""Read a model file in place: memory-mapped, refused by name when anything is wrong with it."""

from __future__ import annotations

import mmap
from collections.abc import Mapping
from functools import cached_property
from hashlib import sha256
from pathlib import Path

import numpy as np

from emu.models.modelfile import checks, contents
from emu.models.modelfile.header import ENTRY_BYTES, HEADER_BYTES, Entry, Header
from emu.models.modelfile.kinds import Kind, layout_of
from emu.models.modelfile.tensors import DType, TensorSpec, by_name
from emu.models.modelfile.vocabulary import check_vocabulary
from emu.numerics.types import AnyArray

_VIEWS = {
    DType.F32: "<f4",
    DType.I8: "i1",
    DType.U8: "u1",
    DType.I32: "<i4",
    DType.F16: "<u2",
    DType.INT4: "u1",
    DType.TERNARY: "u1",
}


class ModelFile:
    """A model file that has passed every check.

    ``kind``; ``outputs`` of a ternary model (else 0); ``specs``: tensors by name; ``entries``: the index;
    ``data``: all bytes, read-only; ``source``: what to call it in messages.
    """

    def __init__(self, data: bytes | mmap.mmap, source: str = "model", expected: Kind | None = None) -> None:
        """Check everything. Raises ModelFileError with the first thing that is wrong.

        ``expected``: the only kind that will do, None for any.
        """
        self.data = np.frombuffer(data, np.uint8) if len(data) else np.zeros(0, np.uint8)
        self.source = source
        self.header: Header = checks.check_header(self.data, expected)
        self.kind = Kind(self.header.kind)
        self.outputs = self.header.parameters[0]
        specs = by_name(layout_of(self.kind, self.outputs or None))
        index = self._index()
        self.specs: Mapping[str, TensorSpec] = checks.IndexCheck(self.header, specs).run(index)
        self.entries: Mapping[str, Entry] = {e.label: e for e in index}
        self._check_contents(index)

    def _index(self) -> list[Entry]:
        places = range(HEADER_BYTES, self.header.header_len, ENTRY_BYTES)
        return [Entry.read(self.data[p : p + ENTRY_BYTES].tobytes()) for p in places]

    def _check_contents(self, index: list[Entry]) -> None:
        end = self.header.header_len
        for i, entry in enumerate(index):
            spec, content = self.specs[entry.label], self.raw(entry.label)
            contents.check_gap(self.data[end : entry.offset], spec.name, i)
            contents.check_content(spec, content, entry.crc, i)
            self._check_strings(spec, content, i)
            end = entry.offset + entry.length

    def _check_strings(self, spec: TensorSpec, content: checks.Bytes, i: int) -> None:
        if spec.name == "tok.words":
            contents.check_words(spec, content, i)
        if spec.name in ("tok.start", "tok.bytes"):
            check_vocabulary(spec.name, self.array("tok.start"), self.array("tok.bytes"), i)

    def raw(self, name: str) -> checks.Bytes:
        """The bytes of a tensor, in place."""
        entry = self.entries[name]
        return self.data[entry.offset : entry.offset + entry.length]

    def array(self, name: str) -> AnyArray:
        """A tensor in place, read-only: floats and bytes in their shape, codes as [rows][row_bytes].

        int8 codes are int8 with zero padding, int4 and ternary uint8 as packed, binary16 uint16 patterns.
        """
        spec = self.specs[name]
        values = self.raw(name).view(_VIEWS[spec.dtype])
        return values.reshape(spec.shape if spec.dtype not in _ROWS else (spec.rows, spec.row_bytes))

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the whole file (hex)."""
        return sha256(self.data.data).hexdigest()


_ROWS = frozenset((DType.I8, DType.INT4, DType.TERNARY))


def open_model(path: Path, expected: Kind | None = None) -> ModelFile:
    """Map and check the file at ``path``; ``expected``: the only kind that will do.

    Raises ModelFileError, or OSError when it cannot be read.
    """
    with path.open("rb") as file:
        size = file.seek(0, 2)
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if size else b""
    return ModelFile(data, str(path), expected)
