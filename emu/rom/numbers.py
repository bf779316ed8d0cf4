"""Integer functions of <stdlib.h> (ROM group libc)."""

from __future__ import annotations

import re

import numpy as np

from emu.rom.functions import RomCall, rom_function

MASK32 = 0xFFFFFFFF
_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_NUMBER = re.compile(rb"[ \t\n\v\f\r]*([+-]?)(0[xX](?=[0-9a-fA-F]))?([0-9a-zA-Z]*)")


@rom_function("abs", "labs")
def absolute(call: RomCall) -> int:
    """INT_MIN stays what it is, as on the chip."""
    return abs(call.signed(0)) & MASK32


@rom_function("div", "ldiv")
def div(call: RomCall) -> np.uint64:
    """Quotient (towards 0) and remainder, as two words. A divisor of 0 traps as the chip does."""
    a, b = call.signed(0), call.signed(1)
    if not b:
        raise call.divided_by_zero()
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return call.pair(quotient, a - quotient * b)


def parse(text: bytes, base: int) -> tuple[int, int]:
    """The number at the beginning of ``text`` and the bytes that it takes (0: there is none)."""
    match = _NUMBER.match(text)
    assert match is not None
    sign, prefix, digits = match.groups()
    start = match.start(3)
    if prefix and base not in (0, 16):  # no prefix then: a zero, and an x that is a digit or not
        digits, start, prefix = prefix + digits, match.start(2), None
    base = base or (16 if prefix else 8 if digits[:1] == b"0" else 10)
    values = [_DIGITS.index(chr(b).lower()) for b in digits]
    count = next((i for i, v in enumerate(values) if v >= base), len(values))
    if not count:
        return (0, match.start(3) - 1) if prefix else (0, 0)
    number = int(digits[:count], base)
    return (-number if sign == b"-" else number), start + count


@rom_function("strtol")
def strtol(call: RomCall) -> int:
    """Saturates at the ends of long."""
    number, used = parse(call.string(call[0]), call[2])
    _tell_end(call, used)
    return min(max(number, -(1 << 31)), (1 << 31) - 1)


@rom_function("strtoul")
def strtoul(call: RomCall) -> int:
    """Saturates at ULONG_MAX; a minus sign negates in the unsigned type."""
    number, used = parse(call.string(call[0]), call[2])
    _tell_end(call, used)
    return MASK32 if abs(number) > MASK32 else number & MASK32


def _tell_end(call: RomCall, used: int) -> None:
    if call[1]:
        call.write(call[1], ((call[0] + used) & MASK32).to_bytes(4, "little"))


@rom_function("atoi", "atol")
def atoi(call: RomCall) -> int:
    """As strtol with base 10."""
    number, _ = parse(call.string(call[0]), 10)
    return min(max(number, -(1 << 31)), (1 << 31) - 1)


def in_base(value: int, base: int) -> str:
    """Digits of a number that is not negative."""
    found = ""
    while value or not found:
        value, digit = divmod(value, base)
        found = _DIGITS[digit] + found
    return found


@rom_function("utoa")
def utoa(call: RomCall) -> int:
    """``utoa(value, text, base)``; a base that is none gives an empty string and 0."""
    return _to_text(call, call[0], "")


@rom_function("itoa")
def itoa(call: RomCall) -> int:
    """Signed for base 10 only."""
    value = call.signed(0)
    if call[2] == 10 and value < 0:
        return _to_text(call, -value, "-")
    return _to_text(call, call[0], "")


def _to_text(call: RomCall, value: int, sign: str) -> int:
    if not 2 <= call[2] <= 36:
        call.write(call[1], b"\0")
        return 0
    call.write(call[1], (sign + in_base(value, call[2])).encode() + b"\0")
    return call[1]


@rom_function("qsort")
def qsort(call: RomCall) -> None:
    """Sorts with the guest's own comparison; equal elements keep their order, which C leaves open."""
    base, count, size, compare = (call[i] for i in range(4))
    data = call.read(base, count * size)
    items = [data[i * size : (i + 1) * size] for i in range(count)]
    place = call.scratch(2 * size)

    def is_greater(a: bytes, b: bytes) -> bool:
        call.write(place, a + b)
        return call.call_guest(compare, place, place + size) > 0

    for i in range(1, count):
        item, low, high = items.pop(i), 0, i
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if is_greater(items[middle], item) else (middle + 1, high)
        items.insert(low, item)
    call.write(base, b"".join(items))
