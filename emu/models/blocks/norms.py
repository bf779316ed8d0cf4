"""Norms over rows. A sum has one accumulator; eight rows go side by side so that nobody waits for it."""

from __future__ import annotations

from typing import Final

import numpy as np

from emu.numerics.constants import EPS_NORM, ONE, ZERO
from emu.numerics.jit import jit
from emu.numerics.types import F32Array

SIDE: Final = 8
"""Rows that are summed side by side."""


@jit
def row_sums(x: F32Array, rows: int, cols: int, minus: F32Array, square: bool, sums: F32Array) -> None:
    """sums[r] = ascending sum of x[r][c] - minus[r] (0: of x), squared where ``square``."""
    r = 0
    while r + SIDE <= rows:
        _eight_sums(x[r : r + SIDE], cols, minus[r : r + SIDE], square, sums[r : r + SIDE])
        r += SIDE
    while r < rows:
        s, m = ZERO, minus[r]
        for c in range(cols):
            d = x[r, c] - m
            s += d * d if square else d
        sums[r] = s
        r += 1


@jit
def _eight_sums(x: F32Array, cols: int, minus: F32Array, square: bool, sums: F32Array) -> None:
    m0, m1, m2, m3, m4, m5, m6, m7 = (
        minus[0],
        minus[1],
        minus[2],
        minus[3],
        minus[4],
        minus[5],
        minus[6],
        minus[7],
    )
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = ZERO
    for c in range(cols):
        d0, d1, d2, d3 = x[0, c] - m0, x[1, c] - m1, x[2, c] - m2, x[3, c] - m3
        d4, d5, d6, d7 = x[4, c] - m4, x[5, c] - m5, x[6, c] - m6, x[7, c] - m7
        if square:
            d0, d1, d2, d3 = d0 * d0, d1 * d1, d2 * d2, d3 * d3
            d4, d5, d6, d7 = d4 * d4, d5 * d5, d6 * d6, d7 * d7
        s0, s1, s2, s3 = s0 + d0, s1 + d1, s2 + d2, s3 + d3
        s4, s5, s6, s7 = s4 + d4, s5 + d5, s6 + d6, s7 + d7
    sums[0], sums[1], sums[2], sums[3] = s0, s1, s2, s3
    sums[4], sums[5], sums[6], sums[7] = s4, s5, s6, s7


@jit
def layernorm(x: F32Array, rows: int, cols: int, y: F32Array, mean: F32Array, var: F32Array) -> None:
    """y [rows][cols] = layernorm of x without affine part; mean, var: room for rows."""
    over = ONE / np.float32(cols)
    var[:rows] = ZERO
    row_sums(x, rows, cols, var, False, mean)
    for r in range(rows):
        mean[r] = mean[r] * over
    row_sums(x, rows, cols, mean, True, var)
    for r in range(rows):
        inv = ONE / np.sqrt(var[r] * over + EPS_NORM)
        m = mean[r]
        for c in range(cols):
            y[r, c] = (x[r, c] - m) * inv


@jit
def modulate(y: F32Array, rows: int, sh: F32Array, sc: F32Array) -> None:
    """y * (1 + sc) + sh in place."""
    for r in range(rows):
        for c in range(len(sh)):
            y[r, c] = y[r, c] * (ONE + sc[c]) + sh[c]


@jit
def affine(y: F32Array, rows: int, w: F32Array, b: F32Array) -> None:
    """y * w + b in place."""
    for r in range(rows):
        for c in range(len(w)):
            y[r, c] = y[r, c] * w[c] + b[c]


@jit
def rmsnorm(x: F32Array, rows: int, cols: int, w: F32Array, y: F32Array, sums: F32Array) -> None:
    """y [rows][cols] = (x * inv) * w; sums: room for 2 * rows."""
    over = ONE / np.float32(cols)
    zeros = sums[rows : 2 * rows]
    zeros[:] = ZERO
    row_sums(x, rows, cols, zeros, True, sums)
    for r in range(rows):
        inv = ONE / np.sqrt(sums[r] * over + EPS_NORM)
        for c in range(cols):
            y[r, c] = (x[r, c] * inv) * w[c]
