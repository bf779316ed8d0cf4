"""The kernels of the models against a second implementation on Python integers, call by call."""

from __future__ import annotations

import numpy as np
import pytest

from emu.kernels.arrays import place
from emu.kernels.spec import Tensor
from tests.kernels import layer_reference
from tests.kernels.calls import KERNELS, Buffer, draw
from tests.numerics.softfloat import canonical

SCRATCH = {"scratch", "acc", "column", "row"}
FAMILIES = [
    symbol
    for symbol in KERNELS
    if hasattr(layer_reference, symbol.removesuffix("_c")) and not symbol.startswith("dot")
]
INDICES = {"argmax_f32", "sample_f32"}
SMALL = {
    "rows": (0, 3),
    "cols": (1, 40),
    "outs": (0, 3),
    "tokens": (1, 18),
    "group": (16, 32),
    "capacity": (16, 32),
    "heads": (0, 2),
    "vocabulary": (1, 9),
    "n": (0, 40),
    "channels": (1, 5),
    "half": (0, 20),
}
"""Ranges that keep arithmetic on Python integers quick."""


def plain(value):
    """A buffer or scalar as Python integers, floats as patterns."""
    array = value.array if isinstance(value, Buffer) else np.array([value])
    if array.dtype == np.float32:
        array = array.view(np.uint32)
    return array.tolist() if isinstance(value, Buffer) else array.tolist()[0]


def small_dims(symbol, rng):
    fixed = {}
    for dim in KERNELS[symbol].dims:
        if dim.name in SMALL:
            low, high = max(SMALL[dim.name][0], dim.low), min(SMALL[dim.name][1], dim.high)
            steps = max((high - dim.low) // dim.multiple, 0)
            first = -(-(low - dim.low) // dim.multiple)
            fixed[dim.name] = dim.low + dim.multiple * int(rng.integers(first, steps + 1))
    return fixed


def same(name, dtype, found, expected):
    if dtype == "float32":
        found, expected = [canonical(b) for b in found], [canonical(b) for b in expected]
    assert found == expected, name


def check(call, symbol):
    """Run the call and compare status, every output, and that nothing else changed."""
    before = {name: plain(value) for name, value in call.values.items()}
    status, outputs = getattr(layer_reference, symbol.removesuffix("_c"))(before)
    returned = call.run()
    if KERNELS[symbol].returns is not None:
        assert returned == status
    for parameter in KERNELS[symbol].params:
        if parameter.name in call.buffers() and parameter.name not in SCRATCH:
            expected = outputs.get(parameter.name, before[parameter.name])
            same(parameter.name, parameter.dtype, plain(call.values[parameter.name]), expected)
    return status


def test_every_kernel_of_the_models_has_a_second_implementation():
    assert len(FAMILIES) == 51


@pytest.mark.parametrize("symbol", FAMILIES)
def test_against_the_reference(symbol):
    rng = np.random.default_rng(0)
    for seed in range(24):
        check(draw(symbol, seed, **small_dims(symbol, rng)), symbol)


def calm(call, seed):
    """Everyday numbers in every float input: nothing overflows, every formula counts."""
    rng = np.random.default_rng(seed)
    for parameter in call.kernel.params:
        if isinstance(parameter, Tensor) and parameter.dtype == "float32" and parameter.values != "table":
            array = call.array(parameter.name)
            array[:] = rng.standard_normal(array.size)
            if parameter.values.startswith("(0"):
                array[:] = np.abs(array) * np.float32(0.01)
    for name, buffer in call.buffers().items():
        call.values[name] = Buffer.around(buffer.array, buffer.array.ctypes.data % 16, rng)
    return call


@pytest.mark.parametrize("symbol", FAMILIES)
def test_everyday_numbers(symbol):
    rng = np.random.default_rng(2)
    for seed in range(8):
        call = calm(draw(symbol, seed, **{**small_dims(symbol, rng), "kind": 0}), seed)
        status = check(call, symbol)
        assert symbol in INDICES or status == 0 or symbol == "embed_rows"


MAY_FAIL = [
    "linear_w8a8",
    "mlp_grouped",
    "quantize_columns_s8",
    "attention_s8",
    "kv8_write",
    "attention_kv8",
    "bitlinear",
    "linear_int4",
]


@pytest.mark.parametrize("symbol", MAY_FAIL)
def test_rows_that_are_not_finite(symbol):
    """Status 4, the right row, and what is complete before it."""
    rng, seen = np.random.default_rng(1), set()
    for seed in range(60):
        fixed = {**small_dims(symbol, rng), "kind": 7}
        seen.add(check(draw(symbol, seed, **fixed), symbol))
    assert seen == ({4} if symbol == "attention_s8" else {0, 4})


def test_the_check_of_section_10():
    """Logits 0 -1 -2: o = 127 47 17, sum 3FC069E5."""
    x, o, total = np.array([0, -1, -2], np.float32), np.full(16, 99, np.int8), np.zeros(1, np.float32)
    n, bad = np.int32, np.zeros(1, np.int32)
    assert KERNELS["softmax_s8"].mirror(x, n(3), n(1), n(3), o, n(16), total, bad) == 0
    assert o.tolist() == [127, 47, 17] + [0] * 13
    assert total.view(np.uint32)[0] == 0x3FC069E5


def test_softmax_of_one_logit_is_127():
    """B036: softmax = 1 wrapped to -128 in one kernel."""
    x = np.array([5, -1e4, -200], np.float32)
    o, total, n, bad = np.zeros(16, np.int8), np.zeros(1, np.float32), np.int32, np.zeros(1, np.int32)
    assert KERNELS["softmax_s8"].mirror(x, n(3), n(1), n(3), o, n(16), total, bad) == 0
    assert o[:3].tolist() == [127, 0, 0]
    assert total[0] == 1


def test_b053_upsampling_shifts_indices():
    """B053: 4 to 8 must read 0 0 1 1 2 2 3 3; a rounded index reads 0 0 1 2 2 2 3 3."""
    x, w = np.arange(1, 5, dtype=np.int8), np.zeros(16, np.int8)
    w[4] = 1
    y, one = np.zeros(16, np.float32), np.ones(1, np.float32)
    n, scratch = np.int32, place(np.zeros(8 * (16 + 4 + 12), np.uint8), 0)
    status = KERNELS["conv3x3_f32"].mirror(
        x, n(1), n(4), n(1), n(1), n(0), one[0], place(w, 0), n(16), one, np.zeros(1, np.float32), n(1), y,
        n(0), n(2), scratch,
    )  # fmt: skip
    assert status == 0
    assert y.tolist() == [1, 1, 2, 2, 3, 3, 4, 4] * 2


def test_b013_padding_on_every_side():
    """B013, B040: borders are zero on all four sides, corners included."""
    x, w = np.ones(20, np.int8), np.zeros(16, np.int8)
    w[:9] = 1
    y, one, n = np.zeros(20, np.float32), np.ones(1, np.float32), np.int32
    scratch = place(np.zeros(5 * (16 + 4 + 12), np.uint8), 0)
    status = KERNELS["conv3x3_f32"].mirror(
        x, n(4), n(5), n(1), n(0), n(0), one[0], place(w, 0), n(16), one, np.zeros(1, np.float32), n(1), y,
        n(0), n(4), scratch,
    )  # fmt: skip
    assert status == 0
    assert y.reshape(4, 5).tolist() == [[4, 6, 6, 6, 4], [6, 9, 9, 9, 6], [6, 9, 9, 9, 6], [4, 6, 6, 6, 4]]
