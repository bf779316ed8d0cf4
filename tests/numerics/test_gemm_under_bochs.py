"""All matrix products on a processor with AMX and AVX-512 that this machine need not have: executed by Bochs.

The object code is what the product compiles on the first processor with a variant's instructions, and on a
Sapphire Rapids; every byte of its operands is compared with exact integers. Needs a mirror of Debian the
first time (`--long`).
"""

from __future__ import annotations

import functools
import itertools
import platform
import re
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from emu.numerics.gemm.packing import BLOCK_STEP, DEPTH, LANES
from emu.numerics.gemm.variant import NEEDS
from emu.toolchain.errors import ToolchainError
from tests.numerics import bochs
from tests.numerics.bare_metal import MachineError, Product, run_products
from tests.numerics.other_cpu import compile_for, disassembly

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(platform.machine() != "x86_64", reason="the products' other variants are x86-64 code"),
]
ROWS = (0, 1, 2, 7, 8, 15, 16, 17, 31, 32, 33, 47, 48, 49, 64, 65)
BLOCKS = (0, 1, 2, 3, 4, 5, 8, 9)
STEPS = (0, 1, 2, 3, 8, 15, 16, 17, 31, 32, 33, 48, 50)
CODES = [("sapphirerapids", name) for name in NEEDS]
CODES += [("cascadelake", "vnni"), ("haswell", "avx2"), ("x86-64", "plain")]
EXTREMES = ((-128, 255), (127, 255), (-128, 0), (127, 0), (-1, 255), (-128, 1))
"""Activation and packed weight of products of one value."""


def make(rows, blocks, steps, seed, x_value=None, w_value=None):
    """A product of random numbers (or of one value) with strides that are sometimes wider than a row."""
    rng = np.random.default_rng(seed)
    x_stride = steps * DEPTH + int(rng.choice([0, 1, 4, 60]))
    w_stride = steps * BLOCK_STEP + int(rng.choice([0, 1, 64]))
    acc_stride = blocks * LANES + int(rng.choice([0, 1, 16]))

    def span(count, stride, last):
        return (count - 1) * stride + last if count and last else 0

    x = rng.integers(-128, 128, span(rows, x_stride, steps * DEPTH)).astype(np.int8)
    w = rng.integers(0, 256, span(blocks, w_stride, steps * BLOCK_STEP)).astype(np.uint8)
    if x_value is not None:
        x[:], w[:] = x_value, w_value
    init = rng.integers(-(2**31), 2**31, rows).astype(np.int32)
    acc = rng.integers(-(2**31), 2**31, span(rows, acc_stride, blocks * LANES)).astype(np.int32)
    return Product(x, x_stride, rows, w, w_stride, blocks, steps, init, acc, acc_stride)


def expected(p):
    """acc afterwards, by exact integers."""
    after = p.acc.copy()
    for v in range(p.blocks):
        block = p.w[v * p.w_stride :][: p.steps * BLOCK_STEP].reshape(p.steps, LANES, DEPTH).astype(np.int64)
        for r in range(p.rows):
            row = p.x[r * p.x_stride :][: p.steps * DEPTH].reshape(p.steps, 1, DEPTH).astype(np.int64)
            sums = (block * row).sum(axis=(0, 2)) + p.init[r]
            after[r * p.acc_stride + v * LANES :][:LANES] = sums.astype(np.int32)  # modulo 2**32
    return after


def all_products():
    """Every count of rows with every count of blocks, steps in turn; extremes; sums of one sign that wrap."""
    steps = itertools.cycle(STEPS)
    shapes = [(r, v, next(steps)) for r in ROWS for v in BLOCKS]
    shapes += [(r, 3, s) for r in (1, 33) for s in STEPS]
    products = [make(*shape, seed) for seed, shape in enumerate(shapes)]
    products += [make(18, 3, 35, 500 + k, *values) for k, values in enumerate(EXTREMES)]
    products.append(make(2, 1, 16500, 600, -128, 255))
    return products


@pytest.fixture(scope="module")
def _emulator() -> Path:
    try:
        return bochs.bochs()
    except ToolchainError as error:
        pytest.skip(f"no Bochs: {error}")


code_for = functools.cache(compile_for)


@pytest.mark.usefixtures("_emulator")
@pytest.mark.parametrize(("processor", "name"), CODES)
def test_every_variant_is_exact_in_bits(processor, name, capsys):
    products = all_products()
    started = time.monotonic()
    results = run_products(code_for(processor, name), products)
    for number, (p, (x, w, init, acc)) in enumerate(zip(products, results, strict=True)):
        told = f"{name}, product {number}: {p.rows} rows, {p.blocks} blocks, {p.steps} steps"
        assert np.array_equal(acc, expected(p)), told
        assert all(np.array_equal(a, b) for a, b in ((x, p.x), (w, p.w), (init, p.init))), f"{told}: inputs"
    with capsys.disabled():
        print(f"\n{_told(processor, name, products)}; {bochs.version()}, {time.monotonic() - started:.0f} s")


def _told(processor, name, products):
    size = sum(operand.nbytes for p in products for operand in p.operands)
    found = re.findall(r"\b(tdpbsud|vpdpbusd|v?pmaddwd)\b", disassembly(code_for(processor, name)))
    used = ", ".join(f"{count} {special}" for special, count in Counter(found).items())
    return (
        f"{name} as compiled for {processor} ({used or 'no special instruction'}): {len(products)} products, "
        f"{size:,} bytes of operands, all bits are those of exact integers"
    )


@pytest.mark.usefixtures("_emulator")
@pytest.mark.parametrize("name", NEEDS)
@pytest.mark.parametrize("operand", ["x", "w", "init", "acc"])
def test_an_access_beyond_an_operand_would_be_a_fault(name, operand):
    """The other tests prove by this that there is none."""
    p = make(33, 3, 17, 1)
    shorter = replace(p, **{operand: getattr(p, operand)[:-1]})
    with pytest.raises(MachineError, match="exception 14"):
        run_products(code_for("sapphirerapids", name), [shorter])
