"""Case files: one JSON document that replays a case exactly. Data, never code: safe to load from anyone."""

from __future__ import annotations

import base64
import json
import stat
import zlib
from pathlib import Path
from typing import Any

import numpy as np

from emu.kernels.spec import Kernel
from emu.verify.case import Case, typed
from emu.verify.casefit import misfits
from emu.verify.errors import UsageProblem
from emu.verify.families import Array
from emu.verify.shapes import scalars, tensors

FORMAT = "esp32s3-emu case"
VERSION = 1
_INLINE_BYTES = 256
_LARGEST_ARRAY = 1 << 28
_LARGEST_FILE = 1 << 28


def encode(case: Case, note: dict[str, Any] | None = None) -> bytes:
    """The case as JSON text; ``note`` (verdict, first difference, ...) is for readers and ignored by
    :func:`decode`.
    """
    document = {
        "format": FORMAT,
        "version": VERSION,
        "kernel": case.kernel,
        "dims": case.dims,
        "fault": case.fault,
        "scalars": {name: _scalar(value) for name, value in case.scalars.items()},
        "offsets": case.offsets,
        "dirty": f"{case.dirty:#x}",
        "content": f"{case.content:#x}",
        "arrays": {name: _array(array) for name, array in case.arrays.items()},
        "origin": case.origin,
        "note": note or {},
    }
    return json.dumps(document, indent=1).encode()


def decode(data: bytes, kernels: dict[str, Kernel], name: str = "case file") -> tuple[Kernel, Case]:
    """Kernel and case of :func:`encode`'s text, checked against the spec. Raises UsageProblem with the
    reason.
    """
    try:
        document = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise UsageProblem(f"{name}: no JSON: {error}") from error
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise UsageProblem(f"{name}: not a case file (no format {FORMAT!r})")
    if document.get("version") != VERSION:
        raise UsageProblem(f"{name}: version {document.get('version')}, this program reads version {VERSION}")
    symbol = document.get("kernel")
    if not isinstance(symbol, str) or symbol not in kernels:
        raise UsageProblem(f"{name}: kernel {symbol!r} is not known; give its spec with --spec")
    try:
        case = _case(kernels[symbol], document)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError, zlib.error) as error:
        raise UsageProblem(f"{name}: damaged: {type(error).__name__}: {error}") from error
    _check(kernels[symbol], case, name)
    return kernels[symbol], case


def save(path: Path, case: Case, note: dict[str, Any] | None = None) -> None:
    """Write a case file, making its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encode(case, note))


def load(path: Path, kernels: dict[str, Kernel]) -> tuple[Kernel, Case]:
    """Read a case file. Raises UsageProblem when it is missing, damaged or does not fit the spec."""
    try:
        status = path.stat()
        if stat.S_ISFIFO(status.st_mode) or stat.S_ISCHR(status.st_mode) or status.st_size > _LARGEST_FILE:
            raise UsageProblem(f"{path}: not a case file (a pipe, a device, or larger than any case)")
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        raise UsageProblem(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    return decode(data, kernels, str(path))


def _scalar(value: Any) -> dict[str, str]:
    array = np.array(value)
    return {
        "dtype": array.dtype.name,
        "bits": f"{int(array.view(f'u{array.itemsize}')):#x}",
        "value": str(value),
    }


def _array(array: Array) -> dict[str, Any]:
    raw = array.tobytes()
    found: dict[str, Any] = {"dtype": array.dtype.name, "size": array.size}
    if len(raw) <= _INLINE_BYTES:
        return found | {"hex": raw.hex(" ", array.itemsize)}
    return found | {"zlib": base64.b64encode(zlib.compress(raw, 6)).decode()}


def _bytes(entry: dict[str, Any]) -> bytes:
    if "hex" in entry:
        return bytes.fromhex(entry["hex"])
    unpacker = zlib.decompressobj()
    raw = unpacker.decompress(base64.b64decode(entry["zlib"], validate=True), _LARGEST_ARRAY)
    if unpacker.unconsumed_tail:
        raise ValueError("an array that is too large")
    return raw


def _case(kernel: Kernel, document: dict[str, Any]) -> Case:
    values = {}
    for s in scalars(kernel):
        bits = int(document["scalars"][s.name]["bits"], 16)
        dtype = np.dtype(s.dtype)
        unsigned = np.array(bits, f"u{dtype.itemsize}")
        values[s.name] = unsigned.view(dtype)[()] if dtype.kind == "f" else typed(s, bits)
    arrays = {}
    for t in tensors(kernel):
        if t.role != "out":
            arrays[t.name] = np.frombuffer(bytearray(_bytes(document["arrays"][t.name])), t.dtype)
    return Case(
        kernel=kernel.symbol,
        dims={str(k): int(v) for k, v in document["dims"].items()},
        arrays=arrays,
        offsets={t.name: int(document["offsets"][t.name]) & 15 for t in tensors(kernel)},
        scalars=values,
        dirty=int(document["dirty"], 16),
        content=int(document["content"], 16),
        fault=str(document["fault"]),
        origin=dict(document.get("origin", {})),
    )


def _check(kernel: Kernel, case: Case, name: str) -> None:
    try:
        wrong = next(misfits(kernel, case), "")
    except UsageProblem as error:
        raise UsageProblem(f"{name}: {error}") from error
    if wrong:
        raise UsageProblem(f"{name}: {wrong}; the spec has changed since the case was saved")
