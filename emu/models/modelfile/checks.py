"""What a loader refuses in header and index, in the order in which the firmware's loader looks for it.

The first failure wins, so both sides name the same reason and the same tensor. Nothing is read before it is
known to lie inside the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NoReturn

import numpy as np

from emu.models.errors import ModelFileError
from emu.models.modelfile.header import (
    ENTRY_BYTES,
    HEADER_BYTES,
    MAGIC,
    MAX_TENSORS,
    SPEC_VERSION,
    VERSION,
    Entry,
    Header,
    header_crc,
)
from emu.models.modelfile.kinds import MAX_OUTPUTS, Kind
from emu.models.modelfile.reasons import Reason
from emu.models.modelfile.tensors import ALIGNMENT, TensorSpec
from emu.models.tinylm.layout import TEXT_BYTES
from emu.numerics.packed import padded

Bytes = np.ndarray[Any, np.dtype[np.uint8]]
KINDS: Final = frozenset(int(k) for k in Kind)
VARIABLE: Final = "tok.bytes"
"""The one tensor whose size the file chooses."""


def check_header(data: Bytes, kind: Kind | None = None) -> Header:
    """The header of a file ``data`` [bytes]; ``kind``: the only one that is taken, None for any.

    Raises ModelFileError.
    """
    if len(data) < HEADER_BYTES:
        _refuse(Reason.TOO_SHORT, f"it has {len(data)} bytes; a header alone needs {HEADER_BYTES}")
    header = Header.read(data[:HEADER_BYTES].tobytes())
    _check_identity(header, kind)
    _check_lengths(header, len(data))
    found = header_crc(data[: header.header_len].tobytes())
    if found != header.crc:
        what = f"CRC-32 0x{found:08X}, the file says 0x{header.crc:08X}"
        _refuse(Reason.HEADER_CRC, f"header or index is damaged: {what}")
    _check_parameters(header)
    return header


def _refuse(reason: Reason, what: str) -> NoReturn:
    raise ModelFileError(reason, what)


def _check_identity(header: Header, kind: Kind | None) -> None:
    if header.magic != MAGIC:
        _refuse(Reason.MAGIC, f"this is no model file: it begins with {header.magic!r}, not {MAGIC!r}")
    if header.version != VERSION:
        _refuse(Reason.VERSION, f"version {header.version} of the format; this reads version {VERSION}")
    if header.kind not in KINDS:
        _refuse(Reason.KIND, f"kind {header.kind} is none of 1 t2i, 2 ternary, 3 tinylm")
    if kind is not None and header.kind != kind:
        _refuse(Reason.KIND, f"this is a {Kind(header.kind).label} model; a {kind.label} model is needed")
    if header.spec_version != SPEC_VERSION:
        what = f"made for version {header.spec_version} of the arithmetic; this is version {SPEC_VERSION}"
        _refuse(Reason.SPEC_VERSION, what)


def _check_lengths(header: Header, size: int) -> None:
    if not 1 <= header.count <= MAX_TENSORS:
        _refuse(Reason.COUNT, f"{header.count} tensors; 1 to {MAX_TENSORS} are possible")
    index = HEADER_BYTES + ENTRY_BYTES * header.count
    if header.header_len != index:
        what = f"header and index of {header.count} tensors have {index} bytes, not {header.header_len}"
        _refuse(Reason.HEADER_LENGTH, what)
    if header.file_len < index:
        _refuse(
            Reason.FILE_LENGTH, f"the file length {header.file_len} does not even hold the index ({index})"
        )
    if size < header.file_len:
        _refuse(Reason.TRUNCATED, f"cut off: {size} of {header.file_len} bytes are there")
    if size > header.file_len:
        _refuse(Reason.TRAILING, f"{size - header.file_len} bytes follow the end of the model")


def _check_parameters(header: Header) -> None:
    outputs, *rest = header.parameters
    if header.kind == Kind.TERNARY:
        if not 1 <= outputs <= MAX_OUTPUTS:
            _refuse(Reason.PARAMETER, f"{outputs} outputs; 1 to {MAX_OUTPUTS} are possible")
    elif outputs:
        rest.append(outputs)
    if any(rest):
        _refuse(Reason.HEADER_PADDING, "an unused word of the header is not 0")


class IndexCheck:
    """Entries one after the other: each must be known, new, of the right shape, and follow the one before."""

    def __init__(self, header: Header, specs: Mapping[str, TensorSpec]) -> None:
        self.specs = dict(specs)
        self._header = header
        self._seen: set[str] = set()
        self._end = header.header_len

    def run(self, entries: Sequence[Entry]) -> dict[str, TensorSpec]:
        """Check all; returns the tensors with their sizes. Raises ModelFileError."""
        for i, entry in enumerate(entries):
            self._check(entry, i)
        for i, name in enumerate(self.specs):
            if name not in self._seen:
                raise ModelFileError(Reason.MISSING, "it is missing", name, i)
        if self._end != self._header.file_len:
            what = f"{self._header.file_len - self._end} bytes follow the last tensor"
            _refuse(Reason.TRAILING, what)
        return self.specs

    def _check(self, entry: Entry, i: int) -> None:
        def refuse(reason: Reason, what: str) -> NoReturn:
            raise ModelFileError(reason, what, entry.label, i)

        name, _, rest = entry.name.partition(b"\0")
        if not name or len(name) == len(entry.name) or rest.strip(b"\0"):
            refuse(Reason.NAME, f"entry {i} has no valid name: {entry.name!r}")
        if entry.label not in self.specs:
            refuse(Reason.UNKNOWN, "a model of this kind has no such tensor")
        if entry.label in self._seen:
            refuse(Reason.DUPLICATE, "it stands twice in the index")
        self._seen.add(entry.label)
        spec = self.specs[entry.label] = self._sized(entry)
        for reason, what, found, want in _fields(entry, spec):
            if found != want:
                refuse(reason, f"{what} {found}, expected {want}")
        self._check_place(entry, refuse)
        if any(entry.reserved):
            refuse(Reason.ENTRY_PADDING, "the last bytes of its index entry are not 0")

    def _sized(self, entry: Entry) -> TensorSpec:
        """The tensor as it should be; only the vocabulary may choose its size."""
        spec = self.specs[entry.label]
        if spec.name == VARIABLE and TEXT_BYTES[0] <= entry.shape[0] <= TEXT_BYTES[1]:
            return replace(spec, shape=(entry.shape[0],))
        return spec

    def _check_place(self, entry: Entry, refuse: Any) -> None:
        place = f"offset {entry.offset}"
        if entry.offset % ALIGNMENT:
            refuse(Reason.OFFSET, f"{place} is no multiple of {ALIGNMENT}")
        if entry.offset < self._end:
            refuse(Reason.OVERLAP, f"{place}: what precedes it ends at {self._end}")
        if entry.offset > padded(self._end, ALIGNMENT):
            refuse(Reason.GAP, f"{place}: it must follow at {padded(self._end, ALIGNMENT)}")
        self._end = entry.offset + entry.length
        if self._end > self._header.file_len:
            refuse(Reason.BEYOND_END, f"it ends at {self._end}, the file at {self._header.file_len}")


def _fields(entry: Entry, spec: TensorSpec) -> list[tuple[Reason, str, Any, Any]]:
    """(reason, words, found, wanted) of the fields that the kind of model fixes."""
    shape = len(spec.shape), (*spec.shape, 1, 1, 1)[:4]
    return [
        (Reason.DTYPE, "element type", entry.dtype, int(spec.dtype)),
        (Reason.SHAPE, "dimensions and shape", (entry.ndim, entry.shape), shape),
        (Reason.GROUP, "group", entry.group, spec.group),
        (Reason.ROW_BYTES, "row_bytes", entry.row_bytes, spec.row_bytes),
        (Reason.LENGTH, "length", entry.length, spec.length),
    ]
