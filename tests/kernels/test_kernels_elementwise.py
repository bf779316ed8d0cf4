"""Elementwise kernels against the reference, all lengths around the vector block, and over whole domains."""

from __future__ import annotations

import numpy as np
import pytest

from tests.kernels.calls import KERNELS, draw, words
from tests.numerics import reference
from tests.numerics import softfloat as sf
from tests.numerics.compiled import floats, patterns
from tests.numerics.patterns import bulk, everyday

N32 = np.int32
TABLES = [words(draw("gelu_array", 0).array(name)) for name in ("value", "slope")]

UNARY = {
    "rne_array": lambda x: reference.rne(x) & 0xFFFFFFFF,
    "exp_array": reference.exp_f32,
    "ln_array": reference.ln_f32,
    "silu_array": reference.silu,
    "sqrt_array": sf.sqrt,
    "gelu_array": lambda x: reference.gelu(x, *TABLES),
}


def inputs(symbol: str, count: int) -> list[int]:
    if symbol == "ln_array":
        return bulk(count, 20, 0x00800000, 0x3F800000)
    patterns = bulk(count, 21) + everyday(count, 22, 20)
    return [x for x in patterns if symbol != "rne_array" or sf.is_finite(x)]


@pytest.mark.parametrize("symbol", UNARY)
def test_against_the_reference(symbol):
    call, x = draw(symbol, 1, n=0), floats(inputs(symbol, 4_000))
    y = np.zeros(x.size, call.array("y").dtype)
    tables = [call.array(n) for n in ("value", "slope") if n in call.values]
    call.kernel.mirror(x, y, N32(x.size), *tables)
    want = [UNARY[symbol](b) for b in words(x)]
    assert (patterns(y) if y.dtype == np.float32 else words(y)) == want


@pytest.mark.parametrize("symbol", UNARY)
def test_b054_every_short_length_and_nothing_behind_it(symbol):
    """B054: a path for lengths below the vector size treated the first element differently."""
    for n in range(40):
        call = draw(symbol, n, n=n)
        before = words(call.array("x"))
        call.run()
        y = call.array("y")
        got = patterns(y) if y.dtype == np.float32 else words(y)
        assert got == [UNARY[symbol](b) for b in before]


def test_div():
    for seed in range(40):
        call = draw("div_array", seed)
        a, b = words(call.array("a")), words(call.array("b"))
        call.run()
        assert patterns(call.array("y")) == [sf.canonical(sf.div(p, q)) for p, q in zip(a, b, strict=True)]


def test_sincos():
    for seed in range(30):
        call = draw("sincos_turn_array", seed)
        u = words(call.array("u"))
        call.run()
        got = list(zip(patterns(call.array("sin_u")), patterns(call.array("cos_u")), strict=True))
        assert got == [reference.sincos_turn(b) for b in u]


def test_turns():
    for seed in range(30):
        call = draw("turns_array", seed)
        p, f = words(call.array("p")), int(np.float32(call.values["f"]).view(np.uint32))
        call.run()
        got = list(zip(patterns(call.array("sin_u")), patterns(call.array("cos_u")), strict=True))
        assert got == [reference.sincos_turn(reference.turns(b, f)) for b in p]


def test_turns_takes_a_python_float_as_float32():
    p, out = np.array([3], np.float32), [np.zeros(1, np.float32) for _ in range(4)]
    mirror = KERNELS["turns_array"].mirror
    mirror(p, np.float32(0.1), out[0], out[1], N32(1))
    mirror(p, float(np.float32(0.1)), out[2], out[3], N32(1))
    assert out[0] == out[2]
    assert out[1] == out[3]


def rne(x):
    with np.errstate(all="ignore"):
        return ((x + np.float32(12582912)).view(np.uint32) - np.uint32(0x4B400000)).view(np.int32)


def exp(x):
    """The formula of section 3 once more, in numpy: vectorised, so that it can cover a whole domain."""
    f = np.float32
    with np.errstate(all="ignore"):
        t = np.minimum(x, f(88)) * floats([0x3FB8AA3B])[0]
        n = rne(t)
        r = t - n.astype(f)
        c1, c2, c3 = floats([0x3F317AFD, 0x3E780627, 0x3D61512E])
        p = ((c3 * r + c2) * r + c1) * r + f(1)
        y = (p.view(np.uint32) + (n.view(np.uint32) << np.uint32(23))).view(f)
    return np.where(np.isnan(x), x, np.where(x < f(-87), f(0), y)).astype(f)


def silu(x):
    with np.errstate(all="ignore"):
        return x / (np.float32(1) + exp(-x))


def ln(u):
    f = np.float32
    bits = u.view(np.int32)
    e, m = (bits >> 23) - 127, ((bits & 0x7FFFFF) | 0x3F800000).view(f)
    high = m > floats([0x3FB504F3])[0]
    m, e = np.where(high, m * f(0.5), m).astype(f), e + high
    z = m - f(1)
    p = np.full_like(z, floats([0xBDD008C4])[0])
    for c in floats([0x3E2426F8, 0xBE2FA2BF, 0x3E4C091C, 0xBE7FD182, 0x3EAAABBF]):
        p = p * z + c
    r = z * z
    y = z + ((z * r) * p - f(0.5) * r)
    return y + e.astype(f) * floats([0x3F317218])[0]


def sin_turn(u):
    f = np.float32
    k = rne(f(4) * u)
    r = u - k.astype(f) * f(0.25)
    w = r * r
    s3, s2, s1, s0, k2, k1, k0 = floats(
        [0xC293D4F9, 0x42A32227, 0xC2255DD2, 0x40C90FDB, 0xC2A6D5F0, 0x4281D63F, 0xC19DE9C7]
    )
    s = r * (((s3 * w + s2) * w + s1) * w + s0)
    c = ((k2 * w + k1) * w + k0) * w + f(1)
    return np.choose(k & 3, [s, c, -s, -c])


def gelu(x):
    f = np.float32
    value, slope = map(floats, TABLES)
    with np.errstate(all="ignore"):
        inside = np.clip(np.where(np.isnan(x), f(0), x), f(-6), f(6))
        p = (inside + f(6)) * f(85.25)
        i = np.minimum(p.astype(np.int32), 1022)
        y = value[i] + slope[i] * (p - i.astype(f))
    y = np.where(x <= f(-6), f(0), np.where(x >= f(6), x, y))
    return np.where(np.isnan(x), x, y).astype(f)


WHOLE = {
    "rne_array": (rne, 0, 0xFFFFFFFF),
    "exp_array": (exp, 0, 0xFFFFFFFF),
    "silu_array": (silu, 0, 0xFFFFFFFF),
    "gelu_array": (gelu, 0, 0xFFFFFFFF),
    "ln_array": (ln, 0x00800000, 0x3F800000),
    "sincos_turn_array": (sin_turn, 0, 0x3F7FFFFF),
    "sqrt_array": (np.sqrt, 0, 0xFFFFFFFF),
}


def compare_domain(symbol: str, first: int, last: int, step: int) -> None:
    """Every ``step``-th pattern of first..last, in blocks of 2^20, against the numpy formula."""
    kernel, formula = KERNELS[symbol], WHOLE[symbol][0]
    tables = [floats(t) for t in TABLES] if symbol == "gelu_array" else []
    second = [np.zeros(1 << 20, np.float32)] if symbol == "sincos_turn_array" else []
    for start in range(first, last + 1, step << 20):
        bits = np.arange(start, min(start + (step << 20), last + 1), step, np.int64).astype(np.uint32)
        if symbol == "rne_array":
            bits = bits[(bits & 0x7F800000) != 0x7F800000]
        x, y = bits.view(np.float32), np.zeros(bits.size, np.int32 if symbol == "rne_array" else np.float32)
        kernel.mirror(x, y, *second, N32(x.size), *tables)
        with np.errstate(all="ignore"):
            want = formula(x)
        same = (y.view(np.uint32) == want.view(np.uint32)) | ((y != y) & (want != want))
        assert same.all(), [hex(b) for b in bits[~same][:5]]


@pytest.mark.parametrize("symbol", WHOLE)
def test_slice_of_the_domain(symbol):
    _, first, last = WHOLE[symbol]
    compare_domain(symbol, first, last, 2003)


@pytest.mark.long
@pytest.mark.parametrize("symbol", WHOLE)
def test_whole_domain(symbol):
    _, first, last = WHOLE[symbol]
    compare_domain(symbol, first, last, 1)


def test_elementwise_domains_are_declared():
    for symbol, (_, first, last) in WHOLE.items():
        kernel = KERNELS[symbol]
        assert kernel.elementwise is not None
        assert kernel.domain == (None if last == 0xFFFFFFFF else (first, last))
