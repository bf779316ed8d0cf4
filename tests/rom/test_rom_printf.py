"""printf against the host's C library, for formats that mean the same on both."""

from __future__ import annotations

import ctypes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emu.rom.printf_text import FormatError, format_text

LIBC = ctypes.CDLL(None)


class Words:
    """Values as printf would find them."""

    def __init__(self, *values: int) -> None:
        self._values = list(values)

    def word(self) -> int:
        return self._values.pop(0) & 0xFFFFFFFF

    def wide(self) -> int:
        return self._values.pop(0) & (1 << 64) - 1


def host(text: bytes, value: object) -> bytes:
    buffer = ctypes.create_string_buffer(1 << 12)
    LIBC.snprintf(buffer, ctypes.c_size_t(1 << 12), text, value)
    return buffer.value


FLAGS = st.sets(st.sampled_from("-+ #0"), max_size=3).map(lambda s: "".join(sorted(s)))
WIDTH = st.sampled_from(["", "1", "7", "20"])
PRECISION = st.sampled_from(["", ".", ".0", ".3", ".12"])


@given(FLAGS, WIDTH, PRECISION, st.sampled_from("diouxX"), st.integers(-(2**31), 2**31 - 1))
def test_integers(flags: str, width: str, precision: str, kind: str, value: int) -> None:
    text = f"<%{flags}{width}{precision}{kind}>".encode()
    assert format_text(text, Words(value), lambda a, n: b"") == host(text, ctypes.c_int(value))


@given(FLAGS, WIDTH, PRECISION, st.sampled_from("dux"), st.integers(-(2**63), 2**63 - 1))
def test_long_long(flags: str, width: str, precision: str, kind: str, value: int) -> None:
    text = f"<%{flags}{width}{precision}ll{kind}>".encode()
    assert format_text(text, Words(value), lambda a, n: b"") == host(text, ctypes.c_longlong(value))


@given(FLAGS, WIDTH, PRECISION, st.sampled_from("eEfFgG"), st.floats(allow_nan=False))
def test_doubles(flags: str, width: str, precision: str, kind: str, value: float) -> None:
    text = f"<%{flags}{width}{precision}{kind}>".encode()
    word = int.from_bytes(bytes(ctypes.c_double(value)), "little")
    assert format_text(text, Words(word), lambda a, n: b"") == host(text, ctypes.c_double(value))


@given(WIDTH, PRECISION, st.sampled_from(["", "-"]), st.text("abc\xe9", max_size=9))
def test_strings(width: str, precision: str, flag: str, value: str) -> None:
    text = f"<%{flag}{width}{precision}s>".encode()
    data = value.encode("latin-1")
    found = format_text(text, Words(0x1000), lambda address, limit: data[:limit])
    assert found == host(text, ctypes.c_char_p(data))


def test_stars_characters_and_percent() -> None:
    found = format_text(
        b"%*d|%-*d|%.*f|%c%%%p", Words(5, 42, 4, 7, 2, 0x3FF8 << 48, 65, 0x3FC88000), lambda a, n: b""
    )
    assert found == b"   42|7   |1.50|A%0x3fc88000"
    assert format_text(b"%hhd %hu", Words(0x180, 0x12345), lambda a, n: b"") == b"-128 9029"


@pytest.mark.parametrize("text", [b"%n", b"%", b"%5", b"%ll"])
def test_what_cannot_be_done_is_said(text: bytes) -> None:
    with pytest.raises(FormatError):
        format_text(text, Words(1), lambda a, n: b"")
