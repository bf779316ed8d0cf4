"""printf's format (C standard, "The fprintf function") on guest arguments; the newlib that the chip has.

``%n`` is refused. long and size_t are 32 bits, long long and intmax_t 64, long double is double.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

_SPEC = re.compile(rb"%([-+ #0]*)(\*|\d+)?(?:\.(\*|-?\d+)?)?(hh|h|ll|l|j|z|t|L)?(.)", re.DOTALL)
_HAS_POINT = re.compile(rb"%[-+ #0]*(?:\*|\d+)?\.")
_WIDE = (b"ll", b"j")
_NARROW = {b"hh": 8, b"h": 16}
STRING_LIMIT = 4096


class Arguments(Protocol):
    """Where the values come from, one after the other."""

    def word(self) -> int:
        """The next 32 bits."""

    def wide(self) -> int:
        """The next 64 bits, at their alignment."""


@dataclass(frozen=True)
class _Field:
    flags: bytes
    width: int
    precision: int | None
    length: bytes
    kind: str


class FormatError(Exception):
    """A conversion that cannot be done."""


def format_text(text: bytes, arguments: Arguments, string: Callable[[int, int], bytes]) -> bytes:
    """The bytes that printf prints. ``string(address, limit)`` reads guest strings. Raises FormatError."""
    parts: list[bytes] = []
    at = 0
    while (start := text.find(b"%", at)) >= 0:
        parts.append(text[at:start])
        match = _SPEC.match(text, start)
        if match is None:
            raise FormatError(f"the format {_shown(text)} ends in the middle of a conversion")
        parts.append(_convert(_field(match, arguments), arguments, string, text))
        at = match.end()
    return b"".join([*parts, text[at:]])


def _shown(text: bytes) -> str:
    return repr(text.decode("utf-8", "replace"))


def _field(match: re.Match[bytes], arguments: Arguments) -> _Field:
    flags, width_text, precision_text, length, kind = match.groups()
    width = _signed(arguments.word(), 32) if width_text == b"*" else int(width_text or 0)
    if width < 0:
        flags, width = flags + b"-", -width
    precision: int | None = None
    if _HAS_POINT.match(match.group()):
        value = _signed(arguments.word(), 32) if precision_text == b"*" else int(precision_text or 0)
        precision = value if value >= 0 else None
    return _Field(flags, width, precision, length or b"", kind.decode("latin-1"))


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _convert(field: _Field, arguments: Arguments, string: Callable[[int, int], bytes], text: bytes) -> bytes:
    if field.kind == "%":
        return b"%"
    if field.kind in "diouxX":
        return _integer(field, arguments.wide() if field.length in _WIDE else arguments.word())
    if field.kind in "eEfFgGaA":
        return _float(field, struct.unpack("<d", struct.pack("<Q", arguments.wide()))[0])
    if field.kind == "c":
        return _padded(field, bytes([arguments.word() & 0xFF]))
    if field.kind == "p":
        return _padded(field, f"{arguments.word():#x}".encode())
    if field.kind == "s":
        limit = STRING_LIMIT if field.precision is None else field.precision
        address = arguments.word()
        return _padded(field, string(address, limit) if address else b"(null)"[:limit])
    raise FormatError(f"the conversion %{field.kind} in {_shown(text)} is not served")


def _integer(field: _Field, value: int) -> bytes:
    bits = 64 if field.length in _WIDE else _NARROW.get(field.length, 32)
    value = _signed(value, bits) if field.kind in "di" else value & (1 << bits) - 1
    sign = "-" if value < 0 else _plus(field)
    base = {"o": "o", "x": "x", "X": "X"}.get(field.kind, "d")
    digits = "" if value == 0 and field.precision == 0 else format(abs(value), base)
    if field.precision is not None:
        digits = digits.rjust(field.precision, "0")
    prefix = sign if field.kind in "di" else ""
    if b"#" in field.flags and field.kind in "xX" and value:
        prefix = "0" + field.kind
    if b"#" in field.flags and field.kind == "o" and not digits.startswith("0"):
        digits = "0" + digits
    if b"0" in field.flags and b"-" not in field.flags and field.precision is None:
        digits = digits.rjust(field.width - len(prefix), "0")
    return _padded(field, (prefix + digits).encode())


def _plus(field: _Field) -> str:
    return "+" if b"+" in field.flags else " " if b" " in field.flags else ""


def _float(field: _Field, value: float) -> bytes:
    kind = field.kind
    if kind in "aA":
        text = abs(value).hex() if value == value else "nan"
    else:
        precision = 6 if field.precision is None else field.precision
        alternate = "#" if b"#" in field.flags else ""
        text = format(abs(value), f"{alternate}.{precision}{kind.lower()}")
    sign = "-" if struct.pack("<d", value)[7] & 0x80 and value == value else _plus(field)
    if b"0" in field.flags and b"-" not in field.flags and value - value == 0:
        text = text.rjust(field.width - len(sign), "0")
    return _padded(field, (sign + (text.upper() if kind.isupper() else text)).encode())


def _padded(field: _Field, text: bytes) -> bytes:
    return text.ljust(field.width) if b"-" in field.flags else text.rjust(field.width)
