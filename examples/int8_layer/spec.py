"""The truth about layer.c in numpy: an int8 layer with a multiplier and a shift for each output."""

import numpy as np

from emu.spec import In, Out, Size, Struct, Value, kernel


def requantized(sums, multiplier, shift):
    """Rounding doubling high multiplication, then a rounding shift; in exact integers."""
    left, right = np.maximum(shift, 0).astype(np.int64), np.maximum(-shift, 0).astype(np.int64)
    product = (sums << left).astype(np.int32).astype(np.int64) * multiplier
    high = np.where(product >= 0, (product + (1 << 30)) >> 31, -((-product + (1 << 30) - 1) >> 31))
    high = np.minimum(high, 2**31 - 1)
    half = (1 << right) >> 1
    return np.where(high >= 0, (high + half) >> right, -((-high + half) >> right))


@kernel(rows=(1, 12), cols=(1, 70))
def dense_s8(
    input: In("int8", "cols"),
    weights: In("int8", "rows", "cols"),
    bias: In("int32", "rows", values="[-100000,100000]"),
    requant: Struct(
        "requant_t",
        multiplier=In("int32", "rows", values="[0x40000000,0x7fffffff]"),
        shift=In("int8", "rows", values="[-31,4]"),
        input_offset=Value("int32", "[-128,127]"),
        output_offset=Value("int32", "[-128,127]"),
        lowest=Value("int8", "[-128,0]"),
        highest=Value("int8", "[1,127]"),
    ),
    rows: Size("rows"),
    cols: Size("cols"),
    output: Out("int8", "rows"),
) -> np.int32:
    sums = bias + weights.reshape(rows, cols).astype(np.int64) @ (input + np.int64(requant.input_offset))
    values = requantized(sums, requant.multiplier, requant.shift) + requant.output_offset
    output[:] = np.clip(values, requant.lowest, requant.highest)
    return 0
