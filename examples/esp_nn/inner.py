"""The assembly functions inside of ESP-NN, called directly with what its C code promises them.

Those that are known to be wrong for some shapes (docs/foreign-code.md) are spared them, unless the
environment variable ESP_NN_FAULTS is set."""

import numpy as np
from esp_nn_math import clipped, requantized, windows
from esp_nn_values import BIAS, FAULTS, HIGHEST, LOWEST, MULTS, OFFSET, SHIFTS, ZERO
from esp_nn_values import PLANES as EVERY_PLANE

from emu.spec import Dim, In, Out, Scratch, Size, kernel

BLOCKS = Dim("blocks", 1, 40, special=(1, 2, 3))
HALF = "[-255,255]"


def product(a, b):
    return int(a.astype(np.int64) @ b.astype(np.int64))


@kernel(blocks=BLOCKS)
def esp_nn_dot_s8_aligned_esp32s3(
    a: In("int8", "blocks * 16", align=16),
    b: In("int8", "blocks * 16", align=16),
    length: Size("blocks * 16"),
) -> np.int32:
    return product(a, b)


@kernel(blocks=BLOCKS)
def esp_nn_dot_s8_unaligned_esp32s3(
    a: In("int8", "blocks * 16"), b: In("int8", "blocks * 16", margin=16), blocks: Size("blocks")
) -> np.int32:
    return product(a, b)


@kernel(
    blocks=BLOCKS if FAULTS else (2, 40, 2)
)  # an odd number of blocks, but one: the last is the wrong one
def esp_nn_fc_s8_mac16_esp32s3(
    a: In("int8", "blocks * 16", align=16, margin=32),
    b: In("int8", "blocks * 16", margin=48),
    blocks: Size("blocks"),
) -> np.int32:
    return product(a, b)


@kernel(size=(0, 300, 2))
def esp_nn_s8_to_s16_esp32s3(
    source: In("int8", "size", margin=32), target: Out("int16", "size", align=16), size: Size("size")
):
    target[:] = source


@kernel(size=(0, 300))
def esp_nn_aligned_s8_to_s16_with_offset_esp32s3(
    source: In("int8", "size", align=16, margin=32), target: Out("int16", "size", align=16),
    size: Size("size"), offset: OFFSET,
):  # fmt: skip
    target[:] = source + np.int16(offset)


PLANES = {**EVERY_PLANE, "tail_w": "0", "tail_h": "0"}
THREE = {
    **PLANES,
    "size_w": "3",
    "size_h": "3",
    "in_w": (3, 9),
    "in_h": (3, 9),
    "pad_w": (0, 1),
    "pad_h": (0, 1),
}
NO_PAD = {**THREE, "pad_w": "0", "pad_h": "0"}
HALVES = In("int16", "in_h", "in_w", "channels", values=HALF, align=16, margin=64)
OUTPUT = Out("int8", "out_h", "out_w", "outs", align=16)
ADDED = In("int32", "outs", values=BIAS, margin=48)


def half(name):
    return Size(name, "uint16")


def convolved(image, weights, step, pad, bias, out, scale, einsum):
    """``scale``: offset of the output, shifts, multipliers, lowest and highest output."""
    offset, shift, mult, lowest, highest = scale
    size = weights.shape[1:3] if einsum.endswith("o") else weights.shape[:2]
    tiles = windows(image.astype(np.int64), size, step, pad, out, 0)
    sums = np.einsum(einsum, tiles, weights.astype(np.int64)).reshape(*out, -1) + bias
    return clipped(requantized(sums, mult, shift), offset, lowest, highest).reshape(-1)


def dense(image, weights, *layer):
    return convolved(image, weights, *layer, "yxijc,oijc->yxo")


def depthwise(image, weights, size, *layer):
    each = weights.reshape(*size, image.shape[2], -1)
    return convolved(image, each, *layer, "yxijc,ijcm->yxcm")


@kernel(channels=(8, 40, 8), outs=(1, 12), **PLANES)
def esp_nn_conv_s16_mult8_esp32s3(
    x: HALVES, in_w: half("in_w"), in_h: half("in_h"), channels: half("channels"), pad_w: half("pad_w"),
    pad_h: half("pad_h"), step_w: half("step_w"), step_h: half("step_h"),
    w: In("int16", "outs", "size_h", "size_w", "channels", values="[-128,127]", align=16, margin=32),
    size_w: half("size_w"), size_h: half("size_h"), bias: ADDED,
    output: Out("int8", "out_h", "out_w", "outs"), out_w: half("out_w"), out_h: half("out_h"),
    outs: half("outs"), offset: ZERO, shift: SHIFTS, mult: MULTS, lowest: LOWEST, highest: HIGHEST,
):  # fmt: skip
    image, scale = x.reshape(in_h, in_w, channels), (offset, shift, mult, lowest, highest)
    rows = w.reshape(outs, size_h, size_w, channels)
    output[:] = dense(image, rows, (step_h, step_w), (pad_h, pad_w), bias, (out_h, out_w), scale)


@kernel(channels=(4, 40, 4), outs=(1, 12), in_w=(2, 10, 2), in_h=(2, 8, 2))
def esp_nn_conv_s16_mult4_1x1_esp32s3(
    x: HALVES, in_w: half("in_w"), in_h: half("in_h"), channels: half("channels"),
    w: In("int16", "outs", "channels", values="[-128,127]", align=16, margin=32), bias: ADDED,
    output: Out("int8", "in_h", "in_w", "outs"), out_w: half("in_w"), out_h: half("in_h"), outs: half("outs"),
    offset: ZERO, shift: SHIFTS if FAULTS else In("int32", "outs", values="[-31,-1]"),  # 0: rounds by 1 << 31
    mult: MULTS, lowest: LOWEST, highest: HIGHEST,
    buffer: Scratch("int16", "channels * 4", align=16),
):  # fmt: skip
    image, scale = x.reshape(in_h, in_w, channels), (offset, shift, mult, lowest, highest)
    rows = w.reshape(outs, 1, 1, channels)
    output[:] = dense(image, rows, (1, 1), (0, 0), bias, (in_h, in_w), scale)


def weights(*shape):
    return In("int16", *shape, values="[-128,127]", align=16, margin=32)


def general(symbol, times):
    @kernel(symbol, channels=(1, 10), times=times, outs="channels * times", **PLANES)
    def mirror(
        x: HALVES, in_w: half("in_w"), in_h: half("in_h"), channels: half("channels"),
        pad_w: half("pad_w"), pad_h: half("pad_h"), step_w: half("step_w"), step_h: half("step_h"),
        times: half("times"), w: weights("size_h", "size_w", "outs"), size_w: half("size_w"),
        size_h: half("size_h"), bias: ADDED, output: OUTPUT, out_w: half("out_w"), out_h: half("out_h"),
        offset: ZERO, shift: SHIFTS, mult: MULTS, lowest: LOWEST, highest: HIGHEST,
    ):  # fmt: skip
        image, scale = x.reshape(in_h, in_w, channels), (offset, shift, mult, lowest, highest)
        output[:] = depthwise(
            image, w, (size_h, size_w), (step_h, step_w), (pad_h, pad_w), bias, (out_h, out_w), scale
        )


general("esp_nn_depthwise_conv_s16_mult8_esp32s3", (8, 24, 8))
general("esp_nn_depthwise_conv_s16_mult4_esp32s3", (4, 24, 4))


@kernel(channels=(1, 10), times=(8, 24, 8), outs="channels * times", **THREE)
def esp_nn_depthwise_conv_s16_mult8_3x3_esp32s3(
    x: HALVES, in_w: half("in_w"), in_h: half("in_h"), channels: half("channels"), pad_w: half("pad_w"),
    pad_h: half("pad_h"), step_w: half("step_w"), step_h: half("step_h"), times: half("times"),
    w: weights(3, 3, "outs"), bias: ADDED, output: OUTPUT, out_w: half("out_w"), out_h: half("out_h"),
    offset: ZERO, shift: SHIFTS, mult: MULTS, lowest: LOWEST, highest: HIGHEST,
):  # fmt: skip
    image, scale = x.reshape(in_h, in_w, channels), (offset, shift, mult, lowest, highest)
    output[:] = depthwise(image, w, (3, 3), (step_h, step_w), (pad_h, pad_w), bias, (out_h, out_w), scale)


@kernel(channels=(8, 40, 8), outs="channels", **PLANES)
def esp_nn_depthwise_conv_s16_mult1_esp32s3(
    x: HALVES, in_w: half("in_w"), in_h: half("in_h"), channels: half("channels"), pad_w: half("pad_w"),
    pad_h: half("pad_h"), step_w: half("step_w"), step_h: half("step_h"),
    w: weights("size_h", "size_w", "outs"), size_w: half("size_w"), size_h: half("size_h"), bias: ADDED,
    output: OUTPUT, out_w: half("out_w"), out_h: half("out_h"), offset: ZERO, shift: SHIFTS, mult: MULTS,
    lowest: LOWEST, highest: HIGHEST,
):  # fmt: skip
    image, scale = x.reshape(in_h, in_w, channels), (offset, shift, mult, lowest, highest)
    output[:] = depthwise(
        image, w, (size_h, size_w), (step_h, step_w), (pad_h, pad_w), bias, (out_h, out_w), scale
    )


@kernel(channels=(8, 32, 8), outs="channels", **THREE)  # reads a pixel ahead: the margin
def esp_nn_depthwise_conv_s16_mult1_3x3_esp32s3(
    x: HALVES, in_w: half("in_w"), in_h: half("in_h"), channels: half("channels"), pad_w: half("pad_w"),
    pad_h: half("pad_h"), step_w: half("step_w"), step_h: half("step_h"), w: weights(3, 3, "outs"),
    bias: ADDED, output: OUTPUT, out_w: half("out_w"), out_h: half("out_h"), offset: ZERO, shift: SHIFTS,
    mult: MULTS, lowest: LOWEST, highest: HIGHEST,
):  # fmt: skip
    image, scale = x.reshape(in_h, in_w, channels), (offset, shift, mult, lowest, highest)
    output[:] = depthwise(image, w, (3, 3), (step_h, step_w), (pad_h, pad_w), bias, (out_h, out_w), scale)


@kernel(channels=(8, 40, 8), outs="channels", **NO_PAD)
def esp_nn_depthwise_conv_s16_mult1_3x3_no_pad_esp32s3(
    x: HALVES, in_w: half("in_w"), in_h: half("in_h"), channels: half("channels"), step_w: half("step_w"),
    step_h: half("step_h"), w: weights(3, 3, "outs"), bias: ADDED, output: OUTPUT, out_w: half("out_w"),
    out_h: half("out_h"), offset: ZERO, shift: SHIFTS, mult: MULTS, lowest: LOWEST, highest: HIGHEST,
):  # fmt: skip
    image, scale = x.reshape(in_h, in_w, channels), (offset, shift, mult, lowest, highest)
    output[:] = depthwise(image, w, (3, 3), (step_h, step_w), (0, 0), bias, (out_h, out_w), scale)


@kernel(channels=(16, 64, 16), outs="channels", **NO_PAD)
def esp_nn_depthwise_conv_s8_mult1_3x3_padded_esp32s3(
    x: In("int8", "in_h", "in_w", "channels", align=16), in_w: half("in_w"), in_h: half("in_h"),
    channels: half("channels"), in_offset: OFFSET, step_w: half("step_w"), step_h: half("step_h"),
    w: In("int8", 3, 3, "outs", align=16), bias: ADDED, output: OUTPUT, out_w: half("out_w"),
    out_h: half("out_h"), offset: ZERO, shift: SHIFTS, mult: MULTS, lowest: LOWEST, highest: HIGHEST,
):  # fmt: skip
    image, scale = (
        (x + np.int64(in_offset)).reshape(in_h, in_w, channels),
        (offset, shift, mult, lowest, highest),
    )
    output[:] = depthwise(image, w, (3, 3), (step_h, step_w), (0, 0), bias, (out_h, out_w), scale)
