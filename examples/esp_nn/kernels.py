"""ESP-NN's kernels in numpy. Each mirror is the truth for the portable function (``_ansi``) and for the one
in vector instructions (``_esp32s3``): both agree with it, so they agree with each other.

Where the vector functions are known to differ (docs/foreign-code.md), the specs keep away, unless the
environment variable ESP_NN_FAULTS is set."""

import numpy as np
from esp_nn_math import (
    clipped,
    exp_on_negatives,
    high_product,
    one_over_one_plus,
    requantized,
    rounding_shift,
    windows,
)
from esp_nn_values import BIAS, FAULTS, HIGHEST, LOWEST, MULT, MULTS, OFFSET, PLANES, SHIFT, SHIFTS, ZERO

from emu.spec import Dim, In, InOut, Out, Size, Struct, Value, kernel


def both(stem, **sizes):
    """One mirror for the portable and for the vector function."""

    def register(mirror):
        for suffix in ("ansi", "esp32s3"):
            kernel(f"esp_nn_{stem}_{suffix}", **sizes)(mirror)
        return mirror

    return register


@both("add_elementwise_s8", size=(0, 200))
def add(
    input1: In("int8", "size"), input2: In("int8", "size"), offset1: OFFSET, offset2: OFFSET,
    mult1: Value("int32", MULT), mult2: Value("int32", MULT), shift1: Value("int32", "[-9,0]"),
    shift2: Value("int32", "[-9,0]"), left: Value("int32", "[0,20]"),
    output: Out("int8", "size", align=1 if FAULTS else 8), out_offset: ZERO,
    out_mult: Value("int32", MULT), out_shift: Value("int32", "[-20,0]"), lowest: LOWEST, highest: HIGHEST,
    size: Size("size"),
):  # fmt: skip
    scaled = [
        rounding_shift(high_product((x.astype(np.int64) + o) << left, np.int64(m)), -np.int64(s))
        for x, o, m, s in ((input1, offset1, mult1, shift1), (input2, offset2, mult2, shift2))
    ]
    output[:] = clipped(requantized(scaled[0] + scaled[1], out_mult, out_shift), out_offset, lowest, highest)


@both(
    "mul_elementwise_s8", size=(0, 200) if FAULTS else (0, 200, 8)
)  # what is left over is rounded otherwise
def mul(
    input1: In("int8", "size", align=1 if FAULTS else 16),
    input2: In("int8", "size", align=1 if FAULTS else 16), offset1: OFFSET, offset2: OFFSET,
    output: Out("int8", "size", align=8), out_offset: ZERO, mult: Value("int32", MULT),
    shift: Value("int32", SHIFT), lowest: LOWEST, highest: HIGHEST, size: Size("size"),
):  # fmt: skip
    product = (input1 + np.int64(offset1)) * (input2 + np.int64(offset2))
    output[:] = clipped(requantized(product, mult, shift), out_offset, lowest, highest)


@both("mul_broadcast_channel_s8", places=(0, 12), channels=(0, 40))
def mul_broadcast(
    input1: In("int8", "places", "channels"), input2: In("int8", "channels"), offset1: OFFSET,
    offset2: OFFSET, output: Out("int8", "places", "channels"), out_offset: ZERO,
    mult: Value("int32", MULT), shift: Value("int32", SHIFT), lowest: LOWEST, highest: HIGHEST,
    places: Size("places"), channels: Size("channels"),
):  # fmt: skip
    product = (input1.reshape(places, channels) + np.int64(offset1)) * (input2 + np.int64(offset2))
    output[:] = clipped(requantized(product, mult, shift), out_offset, lowest, highest).reshape(-1)


@both("relu6_s8", size=(0, 100))
def relu6(data: InOut("int8", "size", align=1 if FAULTS else 16), size: Size("size", "uint16")):
    data[:] = np.clip(data, 0, 6)


FILTER_ROWS = In("int8", "outs", "row", margin=32)


ROW = Dim("row", 1, 200, special=(8, 16, 64, 192, 256))


def fully_connected_layer(stem, shift, mult):
    """One number for all outputs, or one for each."""

    @both(stem, row=ROW, outs=(1, 12))
    def mirror(
        input: In("int8", "row", margin=32), offset: OFFSET, length: Size("row", "uint16"),
        weights: FILTER_ROWS, weight_offset: Value("int32", "[-1,1]"), bias: In("int32", "outs", values=BIAS),
        output: Out("int8", "outs"), outs: Size("outs", "uint16"), out_offset: ZERO, shift: shift, mult: mult,
        lowest: LOWEST, highest: HIGHEST,
    ):  # fmt: skip
        sums = (weights.reshape(outs, length) + np.int64(weight_offset)) @ (input + np.int64(offset)) + bias
        output[:] = clipped(requantized(sums, mult, shift), out_offset, lowest, highest)


fully_connected_layer("fully_connected_s8", Value("int32", SHIFT), Value("int32", MULT))
fully_connected_layer("fully_connected_per_ch_s8", SHIFTS, MULTS)


def pooled(input, in_w, in_h, output, out_w, out_h, step, size, pad, lowest, highest, channels, choose):
    image = input.reshape(in_h, in_w, channels).astype(np.int64)
    tiles = windows(image, size[::-1], step[::-1], pad[::-1], (out_h, out_w), 1000)
    output[:] = np.clip(choose(tiles, tiles != 1000), lowest, highest).reshape(-1)


def mean_of(tiles, inside):
    total, count = np.where(inside, tiles, 0).sum((2, 3)), inside.sum((2, 3))
    return np.where(total > 0, (total + count // 2) // count, -((-total + count // 2) // count))


def pool(stem, step, choose, **sizes):
    """avg_pool and max_pool have the same parameters."""

    @both(stem, channels=(step, 40, step), **{**PLANES, **sizes})
    def mirror(
        input: In("int8", "in_h", "in_w", "channels", align=16), in_w: Size("in_w", "uint16"),
        in_h: Size("in_h", "uint16"), output: Out("int8", "out_h", "out_w", "channels", align=16),
        out_w: Size("out_w", "uint16"), out_h: Size("out_h", "uint16"), step_w: Size("step_w", "uint16"),
        step_h: Size("step_h", "uint16"), size_w: Size("size_w", "uint16"),
        size_h: Size("size_h", "uint16"), pad_w: Size("pad_w", "uint16"), pad_h: Size("pad_h", "uint16"),
        lowest: LOWEST, highest: HIGHEST, channels: Size("channels", "uint16"),
    ):  # fmt: skip
        pooled(input, in_w, in_h, output, out_w, out_h, (step_w, step_h), (size_w, size_h), (pad_w, pad_h),
               lowest, highest, channels, choose)  # fmt: skip


# the first takes the height of its output for the width; the second forgets `lowest` unless channels come in
# multiples of 8
SQUARE = (
    {}
    if FAULTS
    else {"in_h": "in_w", "size_h": "size_w", "step_h": "step_w", "pad_h": "pad_w", "tail_h": "tail_w"}
)
pool("avg_pool_s8", 1, mean_of, **SQUARE)
pool("max_pool_s8", 4 if FAULTS else 8, lambda tiles, inside: np.where(inside, tiles, -128).max((2, 3)))


@both(
    "softmax_s8",
    rows=(1, 4),
    cols=Dim("cols", 1, 80, special=(16, 32, 64)),
    left=(10, 26),
    setup="give_scratch",
)
def softmax(
    input: In("int8", "rows", "cols"), rows: Size("rows"), cols: Size("cols"), mult: Value("int32", MULT),
    left: Size("left"), least: Size("-(31 * 67108864 >> left)"), output: Out("int8", "rows", "cols"),
):  # fmt: skip
    rows_of = input.reshape(rows, cols).astype(np.int64)
    differ = rows_of - rows_of.max(1, keepdims=True)
    power = np.where(
        differ >= least, exp_on_negatives(high_product(np.maximum(differ, least) << left, mult)), 0
    )
    total = np.where(differ >= least, rounding_shift(power, 12), 0).sum(1)
    room = np.array([[32 - int(t).bit_length()] for t in total])
    scale = one_over_one_plus((total[:, None] << room) - (1 << 31))
    share = rounding_shift(high_product(scale, power), 12 - room + 31 - 8) - 128
    output[:] = np.where(differ >= least, np.clip(share, -128, 127), -128).reshape(-1)


@both("mean_nhwc_s8", rows=(1, 20), cols=(1, 20), channels=(1, 24))
def mean(
    input: In("int8", "rows", "cols", "channels"), output: Out("int8", "channels"), rows: Size("rows"),
    cols: Size("cols"), channels: Size("channels"), zero: ZERO, out_zero: ZERO, mult: Value("int32", MULT),
    shift: Value("int32", SHIFT),
):  # fmt: skip
    total = input.reshape(-1, channels).sum(0, dtype=np.int64) - int(rows) * int(cols) * int(zero)
    output[:] = clipped(requantized(total, mult, shift), out_zero, -128, 127)


def plane(width, height, channels):
    return Struct(
        "data_dims_t", width=Size(width), height=Size(height), channels=Size(channels), extra=Value("int32")
    )


def parameters(type, **more):
    places = {
        f"{what}.{axis}": Size(f"{size}_{axis[0]}")
        for what, size in (("stride", "step"), ("padding", "pad"))
        for axis in ("width", "height")
    }
    ends = {"activation.min": LOWEST, "activation.max": HIGHEST}
    return Struct(type, members={"in_offset": OFFSET, "out_offset": ZERO, **places, **ends, **more})


def layer(image, weights, bias, out, rule, scale, einsum):
    """A convolution of either kind, with its parameters in ``rule``."""
    x = image.astype(np.int64) + rule.in_offset
    size = weights.shape[1:3] if einsum.endswith("o") else weights.shape[:2]
    step, pad = (rule.stride.height, rule.stride.width), (rule.padding.height, rule.padding.width)
    sums = np.einsum(einsum, windows(x, size, step, pad, out, 0), weights.astype(np.int64))
    sums = sums.reshape(*out, -1) + bias
    values = requantized(sums, scale.mult, scale.shift)
    return clipped(values, rule.out_offset, rule.activation.min, rule.activation.max).reshape(-1)


SCALE = Struct("quant_data_t", shift=SHIFTS, mult=MULTS)


@both(
    "conv_s8",
    channels=Dim("channels", 1, 36, special=(3, 8, 16, 32)),
    outs=Dim("outs", 1, 20, special=(16, 17)),
    setup="give_scratch",
    **PLANES,
)
def conv(
    input_dims: plane("in_w", "in_h", "channels"),
    input: In("int8", "in_h", "in_w", "channels", align=16, margin=64),
    filter_dims: plane("size_w", "size_h", "channels"),
    weights: In("int8", "outs", "size_h", "size_w", "channels", align=16, margin=32),
    bias: In("int32", "outs", values=BIAS), output_dims: plane("out_w", "out_h", "outs"),
    output: Out("int8", "out_h", "out_w", "outs"), rule: parameters("conv_params_t"), scale: SCALE,
):  # fmt: skip
    image = input.reshape(input_dims.height, input_dims.width, input_dims.channels)
    w = weights.reshape(output_dims.channels, filter_dims.height, filter_dims.width, input_dims.channels)
    out = (output_dims.height, output_dims.width)
    output[:] = layer(image, w, bias, out, rule, scale, "yxijc,oijc->yxo")


@both(
    "depthwise_conv_s8",
    channels=Dim("channels", 1, 33, special=(8, 16, 24, 32)),
    times=Dim("times", 1, 8, special=(1, 4, 8)),
    outs="channels * times",
    setup="give_scratch",
    **PLANES,
)
def depthwise(
    input_dims: plane("in_w", "in_h", "channels"),
    input: In("int8", "in_h", "in_w", "channels", align=16, margin=64),
    filter_dims: plane("size_w", "size_h", "outs"),
    weights: In("int8", "size_h", "size_w", "outs", align=16, margin=32),
    bias: In("int32", "outs", values=BIAS, margin=48), output_dims: plane("out_w", "out_h", "outs"),
    output: Out("int8", "out_h", "out_w", "outs", align=16),
    rule: parameters("dw_conv_params_t", ch_mult=Size("times")), scale: SCALE,
):  # fmt: skip
    image = input.reshape(input_dims.height, input_dims.width, input_dims.channels)
    w = weights.reshape(filter_dims.height, filter_dims.width, input_dims.channels, rule.ch_mult)
    out = (output_dims.height, output_dims.width)
    output[:] = layer(image, w, bias, out, rule, scale, "yxijc,ijcm->yxcm")
