"""Float faults of other firmware: contraction, double literals, reciprocal division, a host's exp."""

from __future__ import annotations

import os
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

from tests.kernels.calls import KERNELS, words
from tests.numerics import reference
from tests.numerics import softfloat as sf
from tests.numerics.compiled import bits, f32, floats
from tests.numerics.patterns import bulk, everyday, pattern

N32 = np.int32
ROOT = Path(__file__).parents[2]


def exp_with_contraction(x: int) -> int:
    """exp_f32 as a compiler writes it that fuses every a * b + c."""
    t_n = reference.signed32(sf.fused(x, 0x3FB8AA3B, 0x4B400000) - 0x4B400000)
    f = sf.fused(x, 0x3FB8AA3B, sf.neg(reference.from_int(t_n)))
    p = 0x3D61512E
    for c in (0x3E780627, 0x3F317AFD, reference.ONE):
        p = sf.fused(p, f, c)
    return (p + ((t_n & 0xFFFFFFFF) << 23)) & 0xFFFFFFFF


def test_b015_exp_is_not_contracted():
    """B015: multiply-add contraction changes results; the mirror is the form with two roundings."""
    x = [b for b in everyday(2_000, 30, 80) if b & sf.MAGNITUDE]
    y = np.zeros(len(x), np.float32)
    KERNELS["exp_array"].mirror(floats(x), y, N32(len(x)))
    assert words(y) == [reference.exp_f32(b) for b in x]
    different = sum(exp_with_contraction(b) != w for b, w in zip(x, words(y), strict=True))
    assert different > 100


def test_b015_the_small_case():
    """a * a + c: 0 in two roundings, 2^-46 fused; the compiled code of this process does the former."""
    from emu.numerics.jit import jit

    @jit
    def multiply_add(a, c):
        return a * a + c

    a, c = 0x3F800001, 0xBF800002
    assert sf.add(sf.mul(a, a), c) == 0
    assert sf.fused(a, a, c) == 0x28800000
    assert bits(multiply_add(f32(a), f32(c))) == 0


def test_b035_exp_is_our_own_on_every_host():
    """B035: exp differs between maths libraries. Pinned bits, and a CRC over a spread of the domain."""
    x = floats([pattern(1.0), pattern(-1.2254496)])
    y = np.zeros(2, np.float32)
    KERNELS["exp_array"].mirror(x, y, N32(2))
    assert words(y) == [reference.exp_f32(b) for b in words(x)]
    x = (np.arange(1 << 16, dtype=np.uint32) * np.uint32(65521)).view(np.float32)
    y = np.zeros(x.size, np.float32)
    KERNELS["exp_array"].mirror(x, y, N32(x.size))
    y[np.isnan(y)] = f32(sf.NAN)
    assert zlib.crc32(y.astype("<f4").tobytes()) == PINNED_EXP


PINNED_EXP = 0xE9C1C1EF


def test_b079_division_is_not_a_product_with_the_reciprocal():
    """B079: 5 * (1/3) is 0x3FD55556, 5 / 3 is 0x3FD55555; the same for many quotients."""
    a, b = (floats(bulk(3_000, seed, 0x3F000000, 0x43000000)) for seed in (1, 2))
    a[0], b[0] = 5, 3
    y = np.zeros(a.size, np.float32)
    KERNELS["div_array"].mirror(a, b, y, N32(a.size))
    assert words(y)[0] == 0x3FD55555
    assert words(y) == [sf.div(p, q) for p, q in zip(words(a), words(b), strict=True)]
    fast = a * (np.float32(1) / b)
    assert words(fast)[0] == 0x3FD55556
    assert (fast != y).sum() > 100


_SCAN = """
import importlib, pkgutil
import numpy as np
import emu.kernels, emu.numerics
from tests.kernels.calls import KERNELS, draw
for symbol in KERNELS:
    draw(symbol, 0).run()
from emu.numerics import activations, half
activations.relu(np.float32(1)); half.widen_f16(np.uint16(1))
seen = set()
for room in (emu.kernels, emu.numerics):
    for info in pkgutil.iter_modules(room.__path__):
        module = importlib.import_module(f"{room.__name__}.{info.name}")
        for name, value in vars(module).items():
            if hasattr(value, "overloads") and value.py_func not in seen:
                seen.add(value.py_func)
                assert value.overloads, f"{name} was never compiled"
                for compiled in value.overloads.values():
                    text = str(compiled.type_annotation)
                    if "float64" in text or "complex" in text:
                        print("double in", name)
print(len(seen), "functions")
"""


def test_b080_no_compiled_function_computes_in_double(tmp_path):
    """B080: a double literal promotes the expression around it. No variable of any mirror is a float64."""
    # an empty cache: only what this process compiles itself has its types at hand
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", _SCAN], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    *offenders, count = done.stdout.strip().splitlines()
    assert offenders == []
    assert int(count.split()[0]) >= 50


def test_b080_the_scan_would_see_a_double():
    from emu.numerics.jit import jit

    @jit
    def promoted(x):
        return np.float32(x * 0.1)

    promoted(np.float32(9))
    assert "float64" in str(next(iter(promoted.overloads.values())).type_annotation)
    assert bits(promoted(np.float32(9))) == 0x3F666666
    assert bits(np.float32(9) * np.float32(0.1)) == 0x3F666667


@pytest.mark.parametrize("symbol", ["sqrt_array"])
def test_square_root_of_minus_zero(symbol):
    x, y = floats([0x80000000, 0x00000000, 0xBF800000, 0x00000001]), np.zeros(4, np.float32)
    KERNELS[symbol].mirror(x, y, N32(4))
    assert [sf.canonical(b) for b in words(y)] == [0x80000000, 0, sf.NAN, sf.sqrt(1)]
