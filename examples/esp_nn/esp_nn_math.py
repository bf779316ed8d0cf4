"""The integer arithmetic of TensorFlow Lite's int8 layers, in numpy."""

import numpy as np


def high_product(value, mult):
    """round(value * mult / 2^31), halves up."""
    return (np.asarray(value, np.int64) * mult + (1 << 30)) >> 31


def rounding_shift(value, right):
    """round(value / 2^right), halves away from zero."""
    half = np.where(right > 0, np.int64(1) << np.maximum(right - 1, 0), 0)
    return np.where(value < 0, -((-value + half) >> right), (value + half) >> right)


def requantized(value, mult, shift):
    """value * mult / 2^31 * 2^shift, as TensorFlow Lite rounds it."""
    shift = np.asarray(shift, np.int64)
    left = np.asarray(value, np.int64) << np.maximum(shift, 0)
    return rounding_shift(high_product(left, np.asarray(mult, np.int64)), np.maximum(-shift, 0))


def clipped(value, offset, lowest, highest):
    return np.clip(value + np.int64(offset), lowest, highest)


def windows(image, size, step, pad, out, fill):
    """Every window of an image (rows, columns, channels): (out rows, out columns, *size, channels)."""
    need = [
        max((o - 1) * s + f, p + n) for o, s, f, p, n in zip(out, step, size, pad, image.shape, strict=False)
    ]
    whole = np.full((*need, image.shape[2]), fill, image.dtype)
    whole[pad[0] : pad[0] + image.shape[0], pad[1] : pad[1] + image.shape[1]] = image
    every = np.lib.stride_tricks.sliding_window_view(whole, size, (0, 1))[:: step[0], :: step[1]]
    return every[: out[0], : out[1]].transpose(0, 1, 3, 4, 2)


def doubled(value, exponent):
    """value * 2^exponent in 32 bits, saturated as the softmax does it."""
    limit = (1 << (31 - exponent)) - 1
    return np.where(value > limit, 2**31 - 1, np.where(value < -limit, -(2**31), value << exponent))


def exp_on_negatives(value):
    """exp of numbers with 26 fraction bits, as 31 fraction bits: a polynomial, then a factor for each bit."""
    quarter = 1 << 24
    rest = (value & (quarter - 1)) - quarter
    bits = rest - value
    x = (rest << 5) + (1 << 28)
    x2 = high_product(x, x)
    x3, x4 = high_product(x2, x), high_product(x2, x2)
    tail = rounding_shift(high_product(rounding_shift(x4, 2) + x3, 715827883) + x2, 1)
    result = 1895147668 + high_product(1895147668, x + tail)
    for place, factor in enumerate((1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242)):
        result = np.where(bits & quarter << place, high_product(result, factor), result)
    return np.where(value == 0, 2**31 - 1, result)


def one_over_one_plus(value):
    """1 / (1 + x) for x in [0, 1): Newton's method."""
    half = (value + 2**31) >> 1
    x = 1515870810 + high_product(half, np.int64(-1010580540))
    for _ in range(3):
        x = x + doubled(high_product(x, (1 << 29) - high_product(half, x)), 2)
    return doubled(x, 1)
