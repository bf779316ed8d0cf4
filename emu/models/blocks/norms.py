"""Norms over rows. A sum has one accumulator; eight rows go side by side so that nobody waits for it."""

from __future__ import annotations

from typing import Final

import numpy as np

from emu.numerics.constants import EPS_NORM, ONE, ZERO
from emu.numerics.jit import jit
from emu.numerics.lanes import WIDTH, eight_sums
from emu.numerics.types import F32Array

SIDE: Final = WIDTH
"""Rows that are summed side by side."""


@jit
def row_sums(x: F32Array, rows: int, cols: int, minus: F32Array, square: bool, sums: F32Array) -> None:
    """sums[r] = ascending sum of x[r][c] - minus[r] (0: of x), squared where ``square``."""
    r = 0
    while r + SIDE <= rows and cols % SIDE == 0:
        eight_sums(x, r * x.shape[1], x.shape[1], cols, minus, sums, r, square)
        r += SIDE
    while r < rows:
        s, m = ZERO, minus[r]
        for c in range(cols):
            d = x[r, c] - m
            s += d * d if square else d
        sums[r] = s
        r += 1


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
