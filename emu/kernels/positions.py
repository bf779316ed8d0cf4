"""Time embedding, rotary position, the sampler's step, and the last step to bytes."""

from __future__ import annotations

import numpy as np

from emu.kernels.layer_cases import scalar, table_fill, vector
from emu.kernels.shapes import N_SCALAR, N
from emu.kernels.spec import Dim, Scalar, Tensor, kernel
from emu.numerics.constants import ONE, ZERO, f32
from emu.numerics.jit import jit
from emu.numerics.rounding import rne
from emu.numerics.tables import table
from emu.numerics.trigonometry import sincos_turn, turns
from emu.numerics.types import F32Array, U8Array

_THOUSAND = f32(0x447A0000)
_MIDDLE, _TOP = f32(0x42FF0000), f32(0x437F0000)  # 127.5, 255


@kernel(
    "flow_step",
    Tensor("z", "float32", ("n",), role="inout", values="any"),
    vector("vc", "n", "any"),
    vector("vu", "n", "any"),
    N_SCALAR,
    Scalar("cfg", "float32", values="any"),
    Scalar("step", "int32", lambda d: d["at"] % d["steps"]),
    scalar("steps"),
    dims=(N, Dim("steps", 1, 64, special=(1, 4, 8)), Dim("at", 0, 63)),
    source="numerics 10",
)
@jit
def flow_step(
    z: F32Array, vc: F32Array, vu: F32Array, n: np.int32, cfg: np.float32, step: np.int32, steps: np.int32
) -> None:
    """z = z + (t[step + 1] - t[step]) * (vu + cfg * (vc - vu)), t[i] = 1 - i / steps (section 10)."""
    many = np.float32(steps)
    dt = (ONE - np.float32(step + 1) / many) - (ONE - np.float32(step) / many)
    for i in range(n):
        v = vu[i] + np.float32(cfg) * (vc[i] - vu[i])
        z[i] = z[i] + dt * v


@kernel(
    "to_rgb",
    vector("y", "n", "any"),
    Tensor("rgb", "uint8", ("n",), role="out", values="u8"),
    N_SCALAR,
    dims=(N,),
    elementwise=("y", "rgb"),
    source="numerics 10",
)
@jit
def to_rgb(y: F32Array, rgb: U8Array, n: np.int32) -> None:
    """Bytes of float32 y [n]: y * 127.5 + 127.5 limited to 0..255, rounded; NaN is 0 (section 10)."""
    for i in range(n):
        t = y[i] * _MIDDLE + _MIDDLE
        t = t if t > ZERO else ZERO
        t = t if t < _TOP else _TOP
        rgb[i] = np.uint8(rne(t))


@kernel(
    "time_embedding",
    Scalar("t", "float32", values="[0,1]"),
    Tensor("f", "float32", ("half",), values="table", fill=table_fill(lambda: table("time_frequency"))),
    Tensor("y", "float32", (lambda d: 2 * d["half"],), role="out"),
    scalar("half"),
    dims=(Dim("half", 0, 128, special=(1, 128)),),
    source="numerics 10",
)
@jit
def time_embedding(t: np.float32, f: F32Array, y: F32Array, half: np.int32) -> None:
    """y [2 * half]: cosines, then sines, of t * 1000 at the frequencies f [half] (section 10)."""
    p = np.float32(t) * _THOUSAND
    for k in range(half):
        sin_u, cos_u = sincos_turn(turns(p, f[k]))
        y[k], y[half + k] = cos_u, sin_u


@kernel(
    "rope",
    Tensor("x", "float32", (lambda d: d["heads"] * d["dh"],), role="inout", values="moderate"),
    scalar("heads"),
    scalar("dh"),
    scalar("position"),
    Tensor(
        "f",
        "float32",
        (lambda d: d["dh"] // 2,),
        values="table",
        fill=table_fill(lambda: table("rope_frequency")),
    ),
    dims=(
        Dim("heads", 0, 5, special=(1, 4)),
        Dim("dh", 0, 32, multiple=2, special=(2, 32)),
        Dim("position", 0, 300, special=(0, 1, 255)),
    ),
    source="numerics 10",
)
@jit
def rope(x: F32Array, heads: np.int32, dh: np.int32, position: np.int32, f: F32Array) -> None:
    """Rotate x [heads][dh] in place by the angles of ``position`` at f [dh / 2] (section 10)."""
    half = dh // 2
    for k in range(half):
        sin_u, cos_u = sincos_turn(turns(np.float32(position), f[k]))
        for h in range(heads):
            a, b = x[h * dh + k], x[h * dh + half + k]
            x[h * dh + k] = a * cos_u - b * sin_u
            x[h * dh + half + k] = b * cos_u + a * sin_u
