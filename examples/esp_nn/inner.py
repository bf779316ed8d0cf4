"""The assembly functions inside of ESP-NN, called directly with what its C code promises them.

Those that are known to be wrong for some shapes (docs/foreign-code.md) are spared them, unless the
environment variable ESP_NN_FAULTS is set."""

import os
from typing import Any

import numpy as np
from esp_nn_math import clipped, requantized, windows

from emu.spec import Dim, In, Out, Scratch, Size, Value, kernel

MULT, SHIFT, BIAS = "[0x40000000,0x7fffffff]", "[-31,3]", "[-20000,20000]"
ZERO, LOWEST, HIGHEST = Value("int32", "[-128,127]"), Value("int32", "[-128,0]"), Value("int32", "[1,127]")
OFFSET = Value("int32", "[-127,128]")
BLOCKS = Dim("blocks", 1, 40, special=(1, 2, 3))
HALF = "[-255,255]"
FAULTS = bool(os.environ.get("ESP_NN_FAULTS"))


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


PLANES: dict[str, Any] = dict(  # noqa: C408 (as it is passed on)
    in_w=(1, 9), in_h=(1, 9), size_w=(1, 5), size_h=(1, 5), step_w=(1, 3), step_h=(1, 3),
    pad_w=(0, 2), pad_h=(0, 2),
    out_w="max(1, (in_w + 2 * pad_w - size_w) // step_w + 1)",
    out_h="max(1, (in_h + 2 * pad_h - size_h) // step_h + 1)",
    requires="2 * pad_w < size_w and size_w <= in_w + 2 * pad_w"
             " and 2 * pad_h < size_h and size_h <= in_h + 2 * pad_h"
             " and (out_w - 1) * step_w - pad_w < in_w and (out_h - 1) * step_h - pad_h < in_h",
)  # fmt: skip
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
SHIFTS, MULTS = In("int32", "outs", values=SHIFT), In("int32", "outs", values=MULT)


def half(name):
    return Size(name, "uint16")


def convolved(image, weights, step, pad, bias, output, out, offset, shift, mult, lowest, highest, einsum):
    size = weights.shape[1:3] if einsum.endswith("o") else weights.shape[:2]
    sums = np.einsum(
        einsum, windows(image.astype(np.int64), size, step, pad, out, 0), weights.astype(np.int64)
    )
    sums = sums.reshape(*out, -1) + bias
    output[:] = clipped(requantized(sums, mult, shift), offset, lowest, highest).reshape(-1)


@kernel(channels=(8, 40, 8), outs=(1, 12), **PLANES)
def esp_nn_conv_s16_mult8_esp32s3(
    x: HALVES, in_w: half("in_w"), in_h: half("in_h"), channels: half("channels"), pad_w: half("pad_w"),
    pad_h: half("pad_h"), step_w: half("step_w"), step_h: half("step_h"),
    w: In("int16", "outs", "size_h", "size_w", "channels", values="[-128,127]", align=16, margin=32),
    size_w: half("size_w"), size_h: half("size_h"), bias: ADDED,
    output: Out("int8", "out_h", "out_w", "outs"), out_w: half("out_w"), out_h: half("out_h"),
    outs: half("outs"), offset: ZERO, shift: SHIFTS, mult: MULTS, lowest: LOWEST, highest: HIGHEST,
):  # fmt: skip
    convolved(
        x.reshape(in_h, in_w, channels),
        w.reshape(outs, size_h, size_w, channels),
        (step_h, step_w),
        (pad_h, pad_w),
        bias,
        output,
        (out_h, out_w),
        offset,
        shift,
        mult,
        lowest,
        highest,
        "yxijc,oijc->yxo",
    )


@kernel(channels=(4, 40, 4), outs=(1, 12), in_w=(2, 10, 2), in_h=(2, 8, 2))
def esp_nn_conv_s16_mult4_1x1_esp32s3(
    x: HALVES, in_w: half("in_w"), in_h: half("in_h"), channels: half("channels"),
    w: In("int16", "outs", "channels", values="[-128,127]", align=16, margin=32), bias: ADDED,
    output: Out("int8", "in_h", "in_w", "outs"), out_w: half("in_w"), out_h: half("in_h"), outs: half("outs"),
    offset: ZERO, shift: SHIFTS if FAULTS else In("int32", "outs", values="[-31,-1]"),  # 0: rounds by 1 << 31
    mult: MULTS, lowest: LOWEST, highest: HIGHEST,
    buffer: Scratch("int16", "channels * 4", align=16),
):  # fmt: skip
    convolved(
        x.reshape(in_h, in_w, channels),
        w.reshape(outs, 1, 1, channels),
        (1, 1),
        (0, 0),
        bias,
        output,
        (in_h, in_w),
        offset,
        shift,
        mult,
        lowest,
        highest,
        "yxijc,oijc->yxo",
    )


def depthwise(x, w, in_w, in_h, channels, size, step, pad, bias, output, out, *scale):
    convolved(
        x.reshape(in_h, in_w, channels),
        w.reshape(*size, channels, -1),
        step,
        pad,
        bias,
        output,
        out,
        *scale,
        "yxijc,ijcm->yxcm",
    )


def weights(*shape):
    return In("int16", *shape, values="[-128,127]", align=16, margin=32)


def general(symbol, times, **sizes):
    @kernel(symbol, channels=(1, 10), times=times, outs="channels * times", **PLANES)
    def mirror(
        x: HALVES, in_w: half("in_w"), in_h: half("in_h"), channels: half("channels"),
        pad_w: half("pad_w"), pad_h: half("pad_h"), step_w: half("step_w"), step_h: half("step_h"),
        times: half("times"), w: weights("size_h", "size_w", "outs"), size_w: half("size_w"),
        size_h: half("size_h"), bias: ADDED, output: OUTPUT, out_w: half("out_w"), out_h: half("out_h"),
        offset: ZERO, shift: SHIFTS, mult: MULTS, lowest: LOWEST, highest: HIGHEST,
    ):  # fmt: skip
        depthwise(
            x,
            w,
            in_w,
            in_h,
            channels,
            (size_h, size_w),
            (step_h, step_w),
            (pad_h, pad_w),
            bias,
            output,
            (out_h, out_w),
            offset,
            shift,
            mult,
            lowest,
            highest,
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
    depthwise(
        x,
        w,
        in_w,
        in_h,
        channels,
        (3, 3),
        (step_h, step_w),
        (pad_h, pad_w),
        bias,
        output,
        (out_h, out_w),
        offset,
        shift,
        mult,
        lowest,
        highest,
    )


@kernel(channels=(8, 40, 8), outs="channels", **PLANES)
def esp_nn_depthwise_conv_s16_mult1_esp32s3(
    x: HALVES, in_w: half("in_w"), in_h: half("in_h"), channels: half("channels"), pad_w: half("pad_w"),
    pad_h: half("pad_h"), step_w: half("step_w"), step_h: half("step_h"),
    w: weights("size_h", "size_w", "outs"), size_w: half("size_w"), size_h: half("size_h"), bias: ADDED,
    output: OUTPUT, out_w: half("out_w"), out_h: half("out_h"), offset: ZERO, shift: SHIFTS, mult: MULTS,
    lowest: LOWEST, highest: HIGHEST,
):  # fmt: skip
    depthwise(
        x,
        w,
        in_w,
        in_h,
        channels,
        (size_h, size_w),
        (step_h, step_w),
        (pad_h, pad_w),
        bias,
        output,
        (out_h, out_w),
        offset,
        shift,
        mult,
        lowest,
        highest,
    )


@kernel(channels=(8, 32, 8), outs="channels", **THREE)  # reads a pixel ahead: the margin
def esp_nn_depthwise_conv_s16_mult1_3x3_esp32s3(
    x: HALVES, in_w: half("in_w"), in_h: half("in_h"), channels: half("channels"), pad_w: half("pad_w"),
    pad_h: half("pad_h"), step_w: half("step_w"), step_h: half("step_h"), w: weights(3, 3, "outs"),
    bias: ADDED, output: OUTPUT, out_w: half("out_w"), out_h: half("out_h"), offset: ZERO, shift: SHIFTS,
    mult: MULTS, lowest: LOWEST, highest: HIGHEST,
):  # fmt: skip
    depthwise(
        x,
        w,
        in_w,
        in_h,
        channels,
        (3, 3),
        (step_h, step_w),
        (pad_h, pad_w),
        bias,
        output,
        (out_h, out_w),
        offset,
        shift,
        mult,
        lowest,
        highest,
    )


@kernel(channels=(8, 40, 8), outs="channels", **NO_PAD)
def esp_nn_depthwise_conv_s16_mult1_3x3_no_pad_esp32s3(
    x: HALVES, in_w: half("in_w"), in_h: half("in_h"), channels: half("channels"), step_w: half("step_w"),
    step_h: half("step_h"), w: weights(3, 3, "outs"), bias: ADDED, output: OUTPUT, out_w: half("out_w"),
    out_h: half("out_h"), offset: ZERO, shift: SHIFTS, mult: MULTS, lowest: LOWEST, highest: HIGHEST,
):  # fmt: skip
    depthwise(
        x,
        w,
        in_w,
        in_h,
        channels,
        (3, 3),
        (step_h, step_w),
        (0, 0),
        bias,
        output,
        (out_h, out_w),
        offset,
        shift,
        mult,
        lowest,
        highest,
    )


@kernel(channels=(16, 64, 16), outs="channels", **NO_PAD)
def esp_nn_depthwise_conv_s8_mult1_3x3_padded_esp32s3(
    x: In("int8", "in_h", "in_w", "channels", align=16), in_w: half("in_w"), in_h: half("in_h"),
    channels: half("channels"), in_offset: OFFSET, step_w: half("step_w"), step_h: half("step_h"),
    w: In("int8", 3, 3, "outs", align=16), bias: ADDED, output: OUTPUT, out_w: half("out_w"),
    out_h: half("out_h"), offset: ZERO, shift: SHIFTS, mult: MULTS, lowest: LOWEST, highest: HIGHEST,
):  # fmt: skip
    depthwise(
        x + np.int64(in_offset),
        w,
        in_w,
        in_h,
        channels,
        (3, 3),
        (step_h, step_w),
        (0, 0),
        bias,
        output,
        (out_h, out_w),
        offset,
        shift,
        mult,
        lowest,
        highest,
    )
