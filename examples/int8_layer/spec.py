"""The truth about layer.c in numpy: an int8 layer with a multiplier and a shift for each output."""

import numpy as np

from emu.spec import In, Out, Size, Struct, Value, kernel

MULTIPLIER, OFFSET = "[0x40000000,0x7fffffff]", Value("int32", "[-128,127]")
REQUANT = Struct(
    "requant_t", input_offset=OFFSET, output_offset=OFFSET,
    multiplier=In("int32", "rows", values=MULTIPLIER), shift=In("int8", "rows", values="[-15,4]"),
    lowest=Value("int8", "[-128,0]"), highest=Value("int8", "[1,127]"),
)  # fmt: skip
WEIGHTS, BIAS = In("int8", "rows", "cols"), In("int32", "rows", values="[-9999,9999]")
SUM, SHIFT = Value("int32", "[-5000,5000]"), Value("int32", "[-9,4]")


def requantized(sums, multiplier, shift):
    """Rounding doubling high multiplication, then a rounding shift; in exact integers."""
    left, right = np.maximum(shift, 0).astype(np.int64), np.maximum(-shift, 0).astype(np.int64)
    product = (np.int64(sums) << left).astype(np.int32).astype(np.int64) * multiplier
    high = np.where(product >= 0, (product + (1 << 30)) >> 31, -((-product + (1 << 30) - 1) >> 31))
    half = (1 << right) >> 1
    return np.where(high >= 0, (high + half) >> right, -((-high + half) >> right))


@kernel
def requantize(sum: SUM, multiplier: Value("int32", MULTIPLIER), shift: SHIFT) -> np.int32:
    return int(requantized(sum, multiplier, shift))


@kernel(rows=(1, 12), cols=(1, 70))
def dense_s8(
    input: In("int8", "cols"), weights: WEIGHTS, bias: BIAS, requant: REQUANT,
    rows: Size("rows"), cols: Size("cols"), output: Out("int8", "rows"),
) -> np.int32:  # fmt: skip
    sums = bias + weights.reshape(rows, cols).astype(np.int64) @ (input + np.int64(requant.input_offset))
    values = requantized(sums, requant.multiplier, requant.shift) + requant.output_offset
    output[:] = np.clip(values, requant.lowest, requant.highest)
    return 0
