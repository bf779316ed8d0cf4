"""The arithmetic of libgcc's helpers against the host's, and their calling convention from compiled C."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emu.cpu.engine import Engine
from emu.cpu.softfloat import F32, F64, Format
from emu.cpu.traps import Trap, TrapKind
from emu.rom import serve
from emu.rom.libgcc_floats import _ARITHMETIC, apply, power, to_integer
from emu.toolchain import Toolchain
from tests.rom.programs import build, engine_of

_SPECIAL = [
    0.0,
    -0.0,
    1.0,
    -1.5,
    3.4028235e38,
    -1e-45,
    1.1754944e-38,
    float("inf"),
    float("-inf"),
    2.0**-1074,
]
_OPERATORS = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}


def _bits(width: int) -> st.SearchStrategy[int]:
    dtype, word = (np.float32, np.uint32) if width == 32 else (np.float64, np.uint64)
    with np.errstate(all="ignore"):
        special = [int(np.array(x, dtype).view(word)) for x in _SPECIAL]
    return st.one_of(st.sampled_from(special), st.integers(0, (1 << width) - 1))


def _host(f: Format, name: str, a: int, b: int) -> int:
    word, dtype = (np.uint32, np.float32) if f is F32 else (np.uint64, np.float64)
    x, y = np.array([a], word).view(dtype), np.array([b], word).view(dtype)
    with np.errstate(all="ignore"):
        return int(_OPERATORS[name](x, y).view(word)[0])


@pytest.mark.parametrize("f", [F32, F64], ids=["float", "double"])
@pytest.mark.parametrize("name", list(_OPERATORS))
@given(data=st.data())
def test_arithmetic_is_that_of_the_host(f: Format, name: str, data: Any) -> None:
    a, b = data.draw(_bits(f.width)), data.draw(_bits(f.width))
    found, wanted = apply(_ARITHMETIC[name], f, a, b), _host(f, name, a, b)
    if f.is_nan(wanted):
        first = next((x for x in (a, b) if f.is_nan(x)), None)
        assert found == (f.nan if first is None else first | 1 << (f.fraction - 1))
    else:
        assert found == wanted


@given(x=_bits(32), bits=st.sampled_from([32, 64]), is_signed=st.booleans())
def test_conversions_to_integers_go_towards_zero_and_saturate(x: int, bits: int, is_signed: bool) -> None:
    value = float(np.array(x, np.uint32).view(np.float32))
    found = to_integer(F32, x, bits, is_signed)
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if is_signed else (0, (1 << bits) - 1)
    if value != value:
        assert found == high
    elif is_signed or value >= 0:
        clamped = (
            int(min(max(value, float(low)), float(high)))
            if abs(value) < 1e30
            else (low if value < 0 else high)
        )
        assert found == min(clamped, high) & (1 << bits) - 1


@given(x=st.floats(-4, 4, width=32), n=st.integers(-20, 20))
def test_integer_powers_multiply_in_libgccs_order(x: float, n: int) -> None:
    base, k = np.float32(x), abs(n)
    with np.errstate(all="ignore"):
        wanted = base if k & 1 else np.float32(1)
        while k := k >> 1:
            base = base * base
            wanted = wanted * base if k & 1 else wanted
        wanted = np.float32(1) / wanted if n < 0 else wanted
    found = power(F32, int(np.float32(x).view(np.uint32)), n)
    assert found == int(np.float32(wanted).view(np.uint32)) or np.isnan(wanted)


SOURCE = """
#include <stdint.h>
float divide(float a, float b) { return a / b; }
double poly(double x, double y, int n) { return (x + y) * x / (y - n); }
double widen(float x) { return (double)x * 3.0; }
float narrow(double x) { return (float)x; }
int64_t quotient(int64_t a, int64_t b) { return a / b; }
int64_t rest(int64_t a, int64_t b) { return a % b; }
uint64_t unsigned_quotient(uint64_t a, uint64_t b) { return a / b; }
int64_t to_wide(double x) { return (int64_t)x; }
double from_wide(int64_t x) { return (double)x; }
float from_wide_single(uint64_t x) { return (float)x; }
int less(double a, double b)
{
    return (a < b) | (a <= b) << 1 | (a == b) << 2 | (a > b) << 3 | (a >= b) << 4;
}
int bits(uint64_t x) { return __builtin_popcountll(x) << 16 | __builtin_ctzll(x) << 8 | __builtin_clzll(x); }
uint64_t shifts(uint64_t x, int n) { return (x << n) ^ (x >> n) ^ (uint64_t)((int64_t)x >> n); }
"""


@pytest.fixture(scope="module")
def engine(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Engine:
    engine = engine_of(build(toolchain, tmp_path_factory.mktemp("libgcc"), SOURCE))
    serve(engine)
    return engine


def test_compiled_code_calls_the_helpers(engine: Engine) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for x, y in ((1.0, 3.0), (-7.25, 1e-3), (2.0**-1030, 5e300)):
            a, b = np.float64(x), np.float64(y)
            assert engine.call("poly", [a, b, 2]).f64 == (a + b) * a / (b - 2)
            mask = (a < b) | (a <= b) << 1 | (a == b) << 2 | (a > b) << 3 | (a >= b) << 4
            assert engine.call("less", [a, b]).s32 == int(mask)
            assert engine.call("narrow", [a]).f32 == np.float32(a)
    assert engine.call("widen", [np.float32(0.1)]).f64 == float(np.float32(0.1)) * 3.0
    for p, q in ((-(10**17) - 3, 7_000_000_001), (5, -3), (-(1 << 63), 3)):
        quotient = abs(p) // abs(q) * (1 if (p < 0) == (q < 0) else -1)
        assert engine.call("quotient", [np.int64(p), np.int64(q)]).s64 == quotient
        assert engine.call("rest", [np.int64(p), np.int64(q)]).s64 == p - quotient * q
        assert engine.call("from_wide", [np.int64(p)]).f64 == float(p)
    assert engine.call("unsigned_quotient", [np.uint64(2**64 - 1), np.uint64(10)]).u64 == (2**64 - 1) // 10
    assert engine.call("to_wide", [np.float64(-1.9e15)]).s64 == -1_900_000_000_000_000
    # 2**24 + 1 in units of 2**40: a conversion through double would round twice
    assert engine.call("from_wide_single", [np.uint64((1 << 64) - (1 << 39) - 1)]).f32 == np.float32(
        2.0**64 - 2.0**40
    )


def test_bits_and_shifts(engine: Engine) -> None:
    x = 0x00F0_0000_1234_5600
    assert engine.call("bits", [np.uint64(x)]).s32 == x.bit_count() << 16 | 9 << 8 | 8
    for n in (0, 1, 31, 32, 63):
        wanted = (x << n ^ x >> n ^ x >> n) & (1 << 64) - 1
        assert engine.call("shifts", [np.uint64(x), n]).u64 == wanted


def test_division_by_zero_traps(engine: Engine) -> None:
    with pytest.raises(Trap, match="integer division by zero in __divdi3") as caught:
        engine.call("quotient", [np.int64(1), np.int64(0)])
    assert caught.value.kind is TrapKind.DIVIDE_BY_ZERO


def test_every_helper_of_the_rom_is_served_but_complex_numbers(toolchain: Toolchain, tmp_path: Path) -> None:
    from emu.rom import rom_symbols
    from emu.rom.functions import registry

    missing = {s.name for s in rom_symbols() if s.group == "libgcc"} - set(registry())
    assert missing == {"__divdc3", "__divsc3", "__muldc3", "__mulsc3", "__udiv_w_sdiv"}
