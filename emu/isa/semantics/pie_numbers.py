"""Number rules of the vector unit: clamps, right shifts by large counts, facts with more than one reading."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from operator import or_

from emu.cpu.machine import Machine
from emu.cpu.values import Bits


def contested(m: Machine, name: str, readings: Mapping[str, Callable[[], Bits]]) -> Bits:
    """The value under the chosen reading of a contested fact (emu.cpu.readings).

    The fact counts as touched when any other reading would give another value here, and only then.
    """
    chosen = m.reading(name)
    value = readings[chosen]()
    if m.watch:
        others = [differ(value, other()) for key, other in readings.items() if key != chosen]
        m.touch_contested(name, reduce(or_, others))
    return value


def differ(a: Bits, b: Bits) -> Bits:
    """1 bit: the two values differ in some lane."""
    return a.ne(b).join().ne(0)


def saturate(m: Machine, exact: Bits, bits: int, lower: str = "") -> Bits:
    """Signed lanes clamped to ``bits`` bits; ``lower``: the contested fact about the lower limit, if any."""
    clamped = exact.clamp_s(bits)
    if lower:
        short = 1 - (1 << (bits - 1))
        readings = {"minimum": lambda: clamped, "minimum_plus_1": lambda: clamped.smax(short)}
        clamped = contested(m, lower, readings)
    m.note_saturation(exact, clamped)
    return clamped


def saturate_unsigned(m: Machine, exact: Bits, bits: int) -> Bits:
    """Unsigned lanes clamped to ``2**bits - 1``."""
    clamped = exact.clamp_u(bits)
    m.note_saturation(exact, clamped)
    return clamped


def large_count(m: Machine, name: str, shifted: Bits, inside: Bits) -> Bits:
    """A right shift whose count is contested when ``inside`` (1 bit) holds: sign fill, or 0 in every lane."""
    readings = {"sign": lambda: shifted, "zero": lambda: cleared(shifted, inside)}
    return contested(m, name, readings)


def cleared(value: Bits, when: Bits) -> Bits:
    """``value``, or 0 in every lane when ``when`` (1 bit) holds."""
    return (~when).select(value, 0)
