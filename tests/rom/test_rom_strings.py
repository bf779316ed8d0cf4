"""String, memory and number functions against the host's C library, on the same bytes."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emu.rom.functions import registry

LIBC = ctypes.CDLL(None)
SIZE = 160
A, B = 16, 96
"""Places of two strings in the memory of a call."""
TEXT = st.text("abAB,; z09", max_size=24).map(str.encode)


class Memory:
    """What a served function sees of a guest, over a few bytes."""

    def __init__(self, data: bytes, name: str, *words: int) -> None:
        self.data = bytearray(data)
        self.name = name
        self._words = words

    def __getitem__(self, index: int) -> int:
        return self._words[index] & 0xFFFFFFFF

    def signed(self, index: int) -> int:
        return self[index] - (1 << 32) if self[index] >> 31 else self[index]

    def read(self, address: int, size: int) -> bytes:
        return bytes(self.data[address : address + size])

    def write(self, address: int, data: bytes) -> None:
        self.data[address : address + len(data)] = data

    def check(self, address: int, size: int, kind: str) -> None:
        """Everything is allowed."""

    def fill(self, address: int, byte: int, size: int) -> None:
        self.write(address, bytes([byte]) * size)

    def string(self, address: int, limit: int = 1 << 16) -> bytes:
        return self.read(address, limit).split(b"\0")[0]


def memory(a: bytes, b: bytes) -> bytes:
    data = bytearray(b"\xa5" * SIZE)
    data[A : A + len(a) + 1] = a + b"\0"
    data[B : B + len(b) + 1] = b + b"\0"
    return bytes(data)


def both(name: str, data: bytes, *words: Any) -> tuple[Any, bytes, Any, bytes]:
    """Result and memory of ours, and of the host's; words in "A"/"B" are places in the memory."""
    places = {"A": A, "B": B}
    ours = Memory(data, name, *(places.get(w, w) for w in words))
    result = registry()[name].function(ours)  # type: ignore[arg-type]
    buffer = ctypes.create_string_buffer(data, SIZE)
    base = ctypes.addressof(buffer)
    function = getattr(LIBC, name)
    function.restype = ctypes.c_void_p if name in POINTERS else ctypes.c_int
    host = function(
        *(ctypes.c_void_p(base + places[w]) if w in places else ctypes.c_size_t(w) for w in words)
    )
    if name in POINTERS:
        host = host - base if host else 0
    return result, bytes(ours.data), host, buffer.raw


POINTERS = (
    "strcpy", "strncpy", "strcat", "strncat", "strchr", "strrchr", "strstr", "memcpy", "memmove", "memset",
    "memchr", "memrchr", "memccpy",
)  # fmt: skip
SIGNS = ("strcmp", "strncmp", "strcasecmp", "strncasecmp", "memcmp")
CALLS: dict[str, tuple[Any, ...]] = {
    "strlen": ("A",),
    "strnlen": ("A", "n"),
    "strcpy": ("A", "B"),
    "strncpy": ("A", "B", "n"),
    "strcat": ("A", "B"),
    "strncat": ("A", "B", "n"),
    "strcmp": ("A", "B"),
    "strncmp": ("A", "B", "n"),
    "strcasecmp": ("A", "B"),
    "strncasecmp": ("A", "B", "n"),
    "strchr": ("A", "c"),
    "strrchr": ("A", "c"),
    "strstr": ("A", "B"),
    "strspn": ("A", "B"),
    "strcspn": ("A", "B"),
    "memcpy": ("A", "B", "n"),
    "memmove": ("A", "B", "n"),
    "memset": ("A", "c", "n"),
    "memcmp": ("A", "B", "n"),
    "memchr": ("A", "c", "n"),
    "memrchr": ("A", "c", "n"),
    "memccpy": ("A", "B", "c", "n"),
}


@pytest.mark.parametrize("name", list(CALLS))
@given(
    a=TEXT,
    b=st.text("abAB,; z09", max_size=8).map(str.encode),
    c=st.sampled_from(b"ab,Z\0"),
    n=st.integers(0, 30),
)
def test_strings_and_memory(name: str, a: bytes, b: bytes, c: int, n: int) -> None:
    words = [{"c": c, "n": n}.get(w, w) for w in CALLS[name]]
    result, data, host, host_data = both(name, memory(a, b), *words)
    assert data == host_data
    assert (np.sign(result) == np.sign(host)) if name in SIGNS else (result == host)


@given(a=TEXT, b=TEXT, n=st.integers(0, 30))
def test_bounded_copies_of_bsd(a: bytes, b: bytes, n: int) -> None:
    call = Memory(memory(a, b), "strlcpy", A, B, n)
    assert registry()["strlcpy"].function(call) == len(b)  # type: ignore[arg-type]
    assert not n or call.string(A) == b[: n - 1]
    call = Memory(memory(a, b), "strlcat", A, B, n)
    assert registry()["strlcat"].function(call) == min(len(a), n) + len(b)  # type: ignore[arg-type]
    assert call.string(A) == (a + b)[: max(n - 1, len(a))]


@pytest.mark.parametrize("name", ["strtol", "strtoul"])
@given(text=st.text(" +-0x19afz_", max_size=12), base=st.sampled_from([0, 2, 8, 10, 16, 36]))
def test_numbers_from_text(name: str, text: str, base: int) -> None:
    call = Memory(memory(text.encode(), b""), name, A, B, base)
    found = int(registry()[name].function(call)) & 0xFFFFFFFF  # type: ignore[arg-type, call-overload]
    end = int.from_bytes(call.read(B, 4), "little")
    buffer, stop = ctypes.create_string_buffer(text.encode()), ctypes.c_void_p()
    function = LIBC.strtoll
    function.restype = ctypes.c_longlong
    exact = function(buffer, ctypes.byref(stop), base)
    low, high = -(1 << 31), (1 << 31) - 1
    wanted = min(max(exact, low), high) if name == "strtol" else exact if abs(exact) < 1 << 32 else 0xFFFFFFFF
    assert found == wanted & 0xFFFFFFFF
    assert end - A == (stop.value or 0) - ctypes.addressof(buffer)


@pytest.mark.parametrize("name", sorted(n for n in registry() if n.startswith("is") and n != "isascii"))
def test_classes_of_characters(name: str) -> None:
    function = registry()[name].function
    assert [bool(function(Memory(b"", name, c))) for c in range(128)] == [  # type: ignore[arg-type]
        bool(getattr(LIBC, name)(c)) for c in range(128)
    ]
