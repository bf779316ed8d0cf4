"""Arguments of a call as people write them on a command line.

====================  =====================================================================
``12``, ``-1``,       one 32-bit word
``0x3fc98000``
``f:1.5``             a float, ``d:1.5`` a double, ``l:123`` a 64-bit integer
``&symbol``           an address of the image
``zeros:64``          a buffer of 64 zero bytes
``s8:1,-2,3``         a buffer of elements: s8 u8 s16 u16 s32 u32 s64 u64 f32 f64
``@file.npy``         a buffer with the elements of a numpy file; any other file: its bytes
====================  =====================================================================

``name=`` before a buffer names it in what is printed; ``:+3`` behind it puts it 3 bytes behind an address
that is a multiple of 64.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from emu.cpu.calls import Argument
from emu.debug.calls import Buffer
from emu.debug.errors import DebugInputError
from emu.image import Image, SymbolError

_TYPES = {
    **{f"s{bits}": f"int{bits}" for bits in (8, 16, 32, 64)},
    **{f"u{bits}": f"uint{bits}" for bits in (8, 16, 32, 64)},
    "f32": "float32",
    "f64": "float64",
}
_NAMED = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_SHIFTED = re.compile(r"(.*):\+(\d+)", re.DOTALL)
_LARGEST = 1 << 24


def parse_arguments(texts: Sequence[str], image: Image) -> list[Argument | Buffer]:
    """Arguments of a call. Raises DebugInputError that quotes the one that is wrong."""
    found: list[Argument | Buffer] = []
    for place, text in enumerate(texts, 1):
        try:
            found.append(_parse(text, image))
        except (ValueError, OverflowError, OSError, SymbolError) as error:
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise DebugInputError(f"argument {place}, {text!r}: {reason}") from None
    return found


def parse_address(text: str, image: Image) -> int:
    """A symbol, ``symbol+0x10``, or a number. Raises DebugInputError."""
    name, _, offset = text.partition("+")
    try:
        if re.match(r"\d", text):
            address = int(name, 0) + (int(offset, 0) if offset else 0)
        else:
            address = image.symbols.get(name).address + (int(offset, 0) if offset else 0)
    except (ValueError, SymbolError) as error:
        reason = str(error) if isinstance(error, SymbolError) else "neither a number nor a symbol"
        raise DebugInputError(f"address {text!r}: {reason}") from None
    if not 0 <= address < 1 << 32:
        raise DebugInputError(f"address {text!r}: outside of 32 bits")
    return address


def _parse(text: str, image: Image) -> Argument | Buffer:
    name = ""
    if named := _NAMED.fullmatch(text):
        name, text = named[1], named[2]
    offset = 0
    if shifted := _SHIFTED.fullmatch(text):
        text, offset = shifted[1], int(shifted[2])
        if offset >= 4096:
            raise ValueError("a buffer is shifted by less than 4096 bytes")
    buffer = _buffer(text)
    if buffer is not None:
        return Buffer(buffer[0], buffer[1], name, offset)
    if offset:
        raise ValueError("only buffers have an offset")
    return _scalar(text, image)


def _buffer(text: str) -> tuple[bytes, str] | None:
    if text.startswith("@"):
        return _file(Path(text[1:]))
    kind, colon, rest = text.partition(":")
    if kind == "zeros" and colon:
        size = int(rest, 0)
        if not 0 <= size <= _LARGEST:
            raise ValueError(f"a buffer has 0 to {_LARGEST:,} bytes")
        return bytes(size), "uint8"
    if kind in _TYPES and colon:
        items = [part.strip() for part in rest.split(",") if part.strip()]
        return _elements(items, np.dtype(_TYPES[kind])).tobytes(), _TYPES[kind]
    return None


def _elements(items: Sequence[str], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    if dtype.kind == "f":
        return np.array([float(item) for item in items], dtype)
    limits = np.iinfo(dtype)
    numbers = [int(item, 0) for item in items]
    for number in numbers:
        if not limits.min <= number <= limits.max:
            raise ValueError(f"{number} does not fit {dtype}")
    return np.array(numbers, dtype)


def _file(path: Path) -> tuple[bytes, str]:
    if path.exists() and not path.is_file():
        raise ValueError("a folder, a pipe or a device, not a file")
    data = path.read_bytes()
    if len(data) > _LARGEST:
        raise ValueError(f"the file has {len(data):,} bytes; a buffer has at most {_LARGEST:,}")
    if path.suffix != ".npy":
        return data, "uint8"
    array = np.load(path, allow_pickle=False)
    if array.dtype.kind not in "iuf" or array.dtype.itemsize > 8:
        raise ValueError(f"elements of type {array.dtype} cannot be passed")
    little = np.ascontiguousarray(array, array.dtype.newbyteorder("<"))
    return little.tobytes(), array.dtype.newbyteorder("=").name


def _scalar(text: str, image: Image) -> Argument:
    kind, colon, rest = text.partition(":")
    if colon and kind == "f":
        return np.float32(float(rest))
    if colon and kind == "d":
        return np.float64(float(rest))
    if colon and kind == "l":
        return np.uint64(int(rest, 0) & (1 << 64) - 1)
    if text.startswith("&"):
        return image.symbols.get(text[1:]).address
    try:
        number = int(text, 0)
    except ValueError:
        forms = "a number, f:1.5, d:1.5, l:1, &symbol, zeros:64, s8:1,2,3 or @file.npy"
        raise ValueError(f"not understood; {forms} would be") from None
    if not -(1 << 31) <= number < 1 << 32:
        raise ValueError("more than 32 bits; write l:... for a 64-bit argument")
    return number
