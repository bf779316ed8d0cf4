"""Software floating point that GCC calls (GCC internals manual, "Routines for floating point emulation").

Arithmetic is exact and rounded once to nearest even, on bit patterns. NaN: an operand that is a NaN is given
back with its quiet bit set, the first one before the second; an invalid operation gives 0x7FC00000 (or
0x7FF80000 00000000). Conversions to integers go towards 0 and saturate; NaN gives the greatest number. What
libgcc leaves open beyond that (payloads, sizes of comparison results) is our choice; a board settles it.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from emu.cpu import softfloat
from emu.cpu.hooks import Result
from emu.cpu.softfloat import F32, F64, NEAREST, Format
from emu.rom.functions import RomCall, rom_function

MASK32 = 0xFFFFFFFF
Two = Callable[[Format, int, int], int]


def divide(f: Format, a: int, b: int) -> int:
    """``a / b`` of bit patterns without NaN among them."""
    negative = bool((a ^ b) & f.sign)
    sign = f.sign if negative else 0
    a, b = a & ~f.sign, b & ~f.sign
    if (a == f.inf and b == f.inf) or not (a or b):
        return f.nan
    if a == f.inf or not b:
        return f.inf | sign
    if b == f.inf or not a:
        return sign
    (x, ex), (y, ey) = f.unpack(a), f.unpack(b)
    extra = 2 * f.precision + 2
    quotient, rest = divmod(x << extra, y)
    return f.pack(negative, quotient << 1 | bool(rest), ex - ey - extra - 1, NEAREST)


_ARITHMETIC: dict[str, Two] = {
    "add": lambda f, a, b: softfloat.add(f, a, b, NEAREST),
    "sub": lambda f, a, b: softfloat.sub(f, a, b, NEAREST),
    "mul": lambda f, a, b: softfloat.mul(f, a, b, NEAREST),
    "div": divide,
}
"""Rules for operands that are no NaN."""


def apply(rule: Two, f: Format, a: int, b: int) -> int:
    """The rule, with libgcc's NaN operands."""
    for operand in (a, b):
        if f.is_nan(operand):
            return operand | 1 << (f.fraction - 1)
    return rule(f, a, b)


def _arithmetic(name: str, rule: Two) -> None:
    @rom_function(f"__{name}sf3")
    def single(call: RomCall) -> int:
        """float."""
        return apply(rule, F32, call[0], call[1])

    @rom_function(f"__{name}df3")
    def double(call: RomCall) -> np.uint64:
        """double."""
        return np.uint64(apply(rule, F64, call.wide(0), call.wide(2)))


for _name, _rule in _ARITHMETIC.items():
    _arithmetic(_name, _rule)


@rom_function("__negsf2")
def negate(call: RomCall) -> int:
    """The sign bit alone, of a NaN too."""
    return call[0] ^ F32.sign


@rom_function("__negdf2")
def negate_double(call: RomCall) -> np.uint64:
    """The same."""
    return np.uint64(call.wide(0) ^ F64.sign)


def power(f: Format, x: int, exponent: int) -> int:
    """``x`` to an integer power by repeated squaring, in the order of libgcc's __powisf2."""
    one = softfloat.from_int(f, 1, NEAREST)
    n = abs(exponent)
    result = x if n & 1 else one
    while n := n >> 1:
        x = apply(_ARITHMETIC["mul"], f, x, x)
        if n & 1:
            result = apply(_ARITHMETIC["mul"], f, result, x)
    return apply(divide, f, one, result) if exponent < 0 else result


@rom_function("__powisf2")
def powi(call: RomCall) -> int:
    """``powi(float, int)``."""
    return power(F32, call[0], call.signed(1))


@rom_function("__powidf2")
def powi_double(call: RomCall) -> np.uint64:
    """``powi(double, int)``."""
    return np.uint64(power(F64, call.wide(0), call.signed(2)))


_COMPARISONS: dict[str, Callable[[Format, int, int], int]] = {
    "eq": lambda f, a, b: int(not softfloat.equal(f, a, b)),
    "ne": lambda f, a, b: int(not softfloat.equal(f, a, b)),
    "lt": lambda f, a, b: -1 if softfloat.less(f, a, b) else 0,
    "le": lambda f, a, b: 0 if softfloat.less(f, a, b) or softfloat.equal(f, a, b) else 1,
    "gt": lambda f, a, b: 1 if softfloat.less(f, b, a) else 0,
    "ge": lambda f, a, b: 0 if softfloat.less(f, b, a) or softfloat.equal(f, a, b) else -1,
    "unord": lambda f, a, b: int(f.is_nan(a) or f.is_nan(b)),
}


def _comparison(name: str, rule: Callable[[Format, int, int], int]) -> None:
    @rom_function(f"__{name}sf2")
    def single(call: RomCall) -> int:
        """Callers look at the sign, or for 0."""
        return rule(F32, call[0], call[1])

    @rom_function(f"__{name}df2")
    def double(call: RomCall) -> int:
        """The same."""
        return rule(F64, call.wide(0), call.wide(2))


for _name, _compare in _COMPARISONS.items():
    _comparison(_name, _compare)


def to_integer(f: Format, x: int, bits: int, is_signed: bool) -> int:
    """Towards 0. Negative numbers to unsigned ones, undefined in C: modulo 2**bits, or the top bit alone."""
    if f.is_nan(x):
        return (1 << (bits - is_signed)) - 1
    low = -(1 << (bits - 1)) if is_signed else -(1 << bits) + 1
    value = softfloat.to_int(f, x, low - 1, 1 << bits)
    if not is_signed and value < low:
        return 1 << (bits - 1)
    high = (1 << (bits - is_signed)) - 1
    return min(max(value, low), high) & (1 << bits) - 1


def _sized(value: int, bits: int) -> Result:
    return np.uint64(value) if bits == 64 else value


def _argument(call: RomCall, f: Format) -> int:
    return call.wide(0) if f is F64 else call[0]


def _conversion(f: Format, letter: str, bits: int, integer: str) -> None:
    for is_signed, uns in ((True, ""), (False, "uns")):

        @rom_function(f"__fix{uns}{letter}f{integer}")
        def fix(call: RomCall, is_signed: bool = is_signed) -> Result:
            """To an integer."""
            return _sized(to_integer(f, _argument(call, f), bits, is_signed), bits)

        name = f"__float{uns[:2]}{integer}{letter}f"

        @rom_function(name)
        def make_float(call: RomCall, is_signed: bool = is_signed) -> Result:
            """From an integer, rounded once."""
            value = call.wide(0) if bits == 64 else call[0]
            if is_signed and value >> (bits - 1):
                value -= 1 << bits
            return _sized(softfloat.from_int(f, value, NEAREST), f.width)


for _format, _letter in ((F32, "s"), (F64, "d")):
    for _bits, _integer in ((32, "si"), (64, "di")):
        _conversion(_format, _letter, _bits, _integer)


def _widened_nan(x: int) -> int:
    sign = (x & F32.sign) << 32
    return sign | F64.inf | (x & F32.fraction_mask) << (F64.fraction - F32.fraction) | 1 << (F64.fraction - 1)


@rom_function("__extendsfdf2")
def extend(call: RomCall) -> np.uint64:
    """float to double: exact; a NaN keeps its payload and becomes quiet."""
    x = call[0]
    return np.uint64(_widened_nan(x) if F32.is_nan(x) else softfloat.resize(F32, F64, x, NEAREST))


@rom_function("__truncdfsf2")
def truncate(call: RomCall) -> int:
    """double to float, rounded once; a NaN keeps the top of its payload and becomes quiet."""
    x = call.wide(0)
    if not F64.is_nan(x):
        return softfloat.resize(F64, F32, x, NEAREST)
    payload = (x & F64.fraction_mask) >> (F64.fraction - F32.fraction)
    return (x >> 63) << 31 | F32.inf | payload | 1 << (F32.fraction - 1)
