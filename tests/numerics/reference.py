"""The arithmetic contract a second time, from docs/numerics.md, on :mod:`tests.numerics.softfloat`.

Floats are 32-bit patterns throughout. Nothing here shares code with emu.numerics.
"""

from __future__ import annotations

from fractions import Fraction

from tests.numerics import softfloat as sf
from tests.numerics.softfloat import add, div, from_int, is_nan, less, mul, neg, sub

ONE, HALF, QUARTER, FOUR, SIX = 0x3F800000, 0x3F000000, 0x3E800000, 0x40800000, 0x40C00000
S127 = 0x42FE0000
MASK32, MASK64 = 0xFFFFFFFF, (1 << 64) - 1


def signed32(n: int) -> int:
    n &= MASK32
    return n - (1 << 32) if n & 0x80000000 else n


def rne(x: int) -> int:
    return signed32(add(x, 0x4B400000) - 0x4B400000)


def polynomial(z: int, *coefficients: int) -> int:
    """Horner's rule from the highest coefficient, every product and sum rounded."""
    result = coefficients[0]
    for c in coefficients[1:]:
        result = add(mul(result, z), c)
    return result


def exp_f32(x: int) -> int:
    if is_nan(x):
        return sf.NAN
    if less(x, 0xC2AE0000):
        return 0
    if less(0x42B00000, x):
        x = 0x42B00000
    t = mul(x, 0x3FB8AA3B)
    n = rne(t)
    p = polynomial(sub(t, from_int(n)), 0x3D61512E, 0x3E780627, 0x3F317AFD, ONE)
    return (p + ((n & MASK32) << 23)) & MASK32


def ln_f32(u: int) -> int:
    e = (u >> 23) - 127
    m = (u & 0x7FFFFF) | ONE
    if m > 0x3FB504F3:
        m, e = mul(m, HALF), e + 1
    z = sub(m, ONE)
    p = polynomial(z, 0xBDD008C4, 0x3E2426F8, 0xBE2FA2BF, 0x3E4C091C, 0xBE7FD182, 0x3EAAABBF)
    r = mul(z, z)
    y = mul(mul(z, r), p)
    y = sub(y, mul(HALF, r))
    y = add(z, y)
    return add(y, mul(from_int(e), 0x3F317218))


def sincos_turn(u: int) -> tuple[int, int]:
    k = rne(mul(FOUR, u))
    r = sub(u, mul(from_int(k), QUARTER))
    w = mul(r, r)
    s = mul(r, polynomial(w, 0xC293D4F9, 0x42A32227, 0xC2255DD2, 0x40C90FDB))
    c = polynomial(w, 0xC2A6D5F0, 0x4281D63F, 0xC19DE9C7, ONE)
    return ((s, c), (c, neg(s)), (neg(s), neg(c)), (neg(c), s))[k & 3]


def turns(p: int, f: int) -> int:
    t = mul(p, f)
    return sub(t, from_int(sf.truncate(t)))


def xorshift32(s: int) -> int:
    s ^= (s << 13) & MASK32
    s ^= s >> 17
    return s ^ ((s << 5) & MASK32)


def fmix32(h: int) -> int:
    h = (h ^ (h >> 16)) * 0x85EBCA6B & MASK32
    h = (h ^ (h >> 13)) * 0xC2B2AE35 & MASK32
    return h ^ (h >> 16)


def normal_pair(state: int) -> tuple[int, int, int]:
    a = xorshift32(state)
    b = xorshift32(a)
    u1 = mul(from_int((a >> 8) + 1), 0x33800000)
    u2 = mul(from_int(b >> 8), 0x33800000)
    radius = sf.sqrt(mul(0xC0000000, ln_f32(u1)))
    sin_u, cos_u = sincos_turn(u2)
    return b, mul(radius, cos_u), mul(radius, sin_u)


def normals(state: int, n: int) -> tuple[int, list[int]]:
    """(last state, n normals) from a state that may be 0."""
    s, out = state or 0x9E3779B9, []
    while len(out) < n:
        s, z0, z1 = normal_pair(s)
        out += [z0, z1]
    return s, out[:n]


def gelu(x: int, value: list[int], slope: list[int]) -> int:
    if is_nan(x):
        return sf.NAN
    if not less(neg(SIX), x):
        return 0
    if not less(x, SIX):
        return x
    p = mul(add(x, SIX), 0x42AA8000)
    i = min(sf.truncate(p), 1022)
    return add(value[i], mul(slope[i], sub(p, from_int(i))))


def silu(x: int) -> int:
    return div(x, add(ONE, exp_f32(x if is_nan(x) else neg(x))))


def quantize_row(x: list[int]) -> tuple[list[int], int] | None:
    """(q, scale), or None when an element is not finite."""
    if not all(map(sf.is_finite, x)):
        return None
    a = max(e & sf.MAGNITUDE for e in x)
    if a < 0x0D800000:
        return [0] * len(x), 0
    inv = div(S127, a)
    return [rne(mul(e, inv)) for e in x], div(a, S127)


def quantize_static(x: int, s: int) -> int:
    t = mul(x, div(ONE, s))
    t = t if less(neg(S127), t) else neg(S127)
    t = t if less(t, S127) else S127
    return rne(t)


def quantize_ternary(x: list[int]) -> tuple[list[int], int] | None:
    """(q, a_scale), or None when an element is not finite."""
    if not all(map(sf.is_finite, x)):
        return None
    factor = div(S127, max(max(e & sf.MAGNITUDE for e in x), 0x3727C5AC))
    return [rne(mul(e, factor)) for e in x], factor


def mix(i: int, w: int) -> int:
    x = ((i << 32 | w) + 0x9E3779B97F4A7C15) & MASK64
    for _ in range(2):
        x = (x ^ (x >> 32)) * 0xD6E8FEB86659FD93 & MASK64
    return x ^ (x >> 32)


def digest(words: list[int], kind: int, first: int = 0) -> int:
    """Digest of a whole stage: elements as unsigned words (NaN not yet canonical for kind 0)."""
    total = mix(len(words), kind)
    for i, w in enumerate(words):
        total += mix((first + i) & MASK32, sf.canonical(w) if kind == 0 else w)
    return total & MASK64


def crc32(data: bytes, crc: int = 0) -> int:
    """Bit by bit, reflected polynomial 0xEDB88320."""
    crc ^= MASK32
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0xEDB88320 if crc & 1 else 0)
    return crc ^ MASK32


def widen_f16(h: int) -> int:
    """binary16 pattern to binary32 pattern."""
    sign, field, fraction = (h & 0x8000) << 16, h >> 10 & 31, h & 0x3FF
    if field == 31:
        return sf.NAN if fraction else sign | sf.INF
    return sf.pack(sign, fraction if field == 0 else fraction | 0x400, max(field, 1) - 25)


def round_f16(value: Fraction) -> int:
    """Non-negative number to the nearest binary16 pattern, ties to even; 0x7C00 when it is too large."""
    if value == 0:
        return 0
    exponent = -24
    while value >= Fraction(2) ** (exponent + 11):
        exponent += 1
    kept = round(value / Fraction(2) ** exponent)
    if kept == 1 << 11:
        kept, exponent = 1 << 10, exponent + 1
    pattern = kept if kept < 1 << 10 else (exponent + 25) << 10 | (kept - (1 << 10))
    return min(pattern, 0x7C00)


def ternary_codes(packed: bytes, cols: int) -> list[int]:
    """Weights -1, 0, +1 of a packed row."""
    return [(packed[c // 4] >> 2 * (c % 4) & 3) - 1 for c in range(cols)]


def int4_codes(packed: bytes, cols: int) -> list[int]:
    """Weights -8..7 of a packed row."""
    nibbles = [packed[c // 2] >> 4 * (c % 2) & 15 for c in range(cols)]
    return [n - 16 if n >= 8 else n for n in nibbles]
