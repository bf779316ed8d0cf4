"""One guidance branch of one sampler step, with every stage kept where somebody wants it.

A number that is not finite is noticed where it is quantized. It counts for the stage that holds it, and where
it has no stage of its own (hidden vectors, the last norm) for the stage that is being computed.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from emu.models.blocks import norms
from emu.models.blocks.attention import AttentionRoom, attention, attention_room, quantizing_fails
from emu.models.blocks.linear import GOOD, Linear, Quantized, apply_linear, linear, quantize_rows, quantized
from emu.models.blocks.mlp import MlpRoom, mlp, mlp_room
from emu.models.t2i import sizes as s
from emu.models.t2i.condition import RowRoom, modulation, row_room
from emu.models.t2i.weights import Block, DenoiserWeights
from emu.numerics.jit import jit
from emu.numerics.types import F32Array, S32Array

STAGES: Final = (
    ("cond", (s.D,)),
    ("mod", (6 * s.D,)),
    ("patch", (s.TOKENS, s.D)),
    *(
        (f"b{i}.{name}", (s.TOKENS, 3 * s.D if name == "qkv" else s.D))
        for i in range(s.BLOCKS)
        for name in ("ln1", "qkv", "attn", "proj", "ln2", "mlp")
    ),
    ("final.mod", (2 * s.D,)),
    ("v", (s.LATENT, s.LATENT, s.CHANNELS)),
)
"""(name, shape) of the stages of a branch, in order."""

PLACES: Final = np.cumsum([0, *(int(np.prod(shape)) for _, shape in STAGES)])
"""First element of each stage in the array of kept stages; the last entry is its length."""

_PER_BLOCK = 6
_FIRST_BLOCK = 3


class BranchRoom(NamedTuple):
    """Working memory of a branch; ``v`` [16][16][4] is its result, ``bad``: (row, number of the stage)."""

    cond: F32Array
    mod: F32Array
    m: F32Array
    x: F32Array
    y: F32Array
    qkv: F32Array
    out: F32Array
    mean: F32Array
    var: F32Array
    patches: F32Array
    xq: Quantized
    pq: Quantized
    acc: S32Array
    attention: AttentionRoom
    mlp: MlpRoom
    row: RowRoom
    v: F32Array
    bad: S32Array


def branch_room() -> BranchRoom:
    """Room for one branch; two branches may run at the same time in two of them."""
    f, n, d = np.float32, s.TOKENS, s.D
    return BranchRoom(
        cond=np.zeros(d, f),
        mod=np.zeros((1, 6 * d), f),
        m=np.zeros((6, d), f),
        x=np.zeros((n, d), f),
        y=np.zeros((n, d), f),
        qkv=np.zeros((n, 3 * d), f),
        out=np.zeros((n, d), f),
        mean=np.zeros(n, f),
        var=np.zeros(n, f),
        patches=np.zeros((n, s.PATCH), f),
        xq=quantized(n, d),
        pq=quantized(n, s.PATCH),
        acc=np.zeros(n * 3 * d, np.int32),
        attention=attention_room(n),
        mlp=mlp_room(n, s.GROUP),
        row=row_room(),
        v=np.zeros((s.LATENT, s.LATENT, s.CHANNELS), f),
        bad=np.zeros(2, np.int32),
    )


@jit
def patch(z: F32Array, y: F32Array) -> None:
    """Tokens y [64][16] of z [16][16][4]: 2x2 pixels each."""
    half = z.shape[1] // 2
    channels = z.shape[2]
    for row in range(z.shape[0]):
        for col in range(z.shape[1]):
            for c in range(channels):
                y[half * (row // 2) + col // 2, (2 * (row % 2) + col % 2) * channels + c] = z[row, col, c]


@jit
def unpatch(y: F32Array, z: F32Array) -> None:
    """The inverse of :func:`patch`."""
    half = z.shape[1] // 2
    channels = z.shape[2]
    for row in range(z.shape[0]):
        for col in range(z.shape[1]):
            for c in range(channels):
                z[row, col, c] = y[half * (row // 2) + col // 2, (2 * (row % 2) + col % 2) * channels + c]


@jit
def _keep(kept: F32Array, places: S32Array, stage: int, values: F32Array) -> None:
    if len(kept) > 0:
        kept[places[stage] : places[stage + 1]] = values.reshape(-1)


@jit
def _gated(x: F32Array, g: F32Array, y: F32Array) -> None:
    """x = x + g * y."""
    for r in range(x.shape[0]):
        for c in range(x.shape[1]):
            x[r, c] += g[c] * y[r, c]


@jit
def _normed(room: BranchRoom, sh: F32Array, sc: F32Array) -> None:
    """y = modulate(layernorm(x), sh, sc)."""
    rows, cols = room.x.shape
    norms.layernorm(room.x, rows, cols, room.y, room.mean, room.var)
    norms.modulate(room.y, rows, sh, sc)


@jit
def _attention_half(
    b: Block, room: BranchRoom, first: int, places: S32Array, kept: F32Array
) -> tuple[int, int]:
    """x = x + g1 * proj(attn(qkv(modulate(layernorm(x))))): (bad row, stage)."""
    rows, d = room.x.shape
    _normed(room, room.m[0], room.m[1])
    _keep(kept, places, first, room.y)
    bad = linear(room.y, rows, b.qkv, room.xq, room.acc, room.qkv)
    if bad != GOOD:
        return bad, first
    _keep(kept, places, first + 1, room.qkv)
    bad = attention(room.qkv, rows, d, room.attention, room.out)
    if bad != GOOD:
        earlier = quantizing_fails(room.qkv, rows, d, len(room.attention.row))
        return (bad, first + 2) if earlier == GOOD else (earlier, first + 1)
    _keep(kept, places, first + 2, room.out)
    bad = linear(room.out, rows, b.proj, room.xq, room.acc, room.y)
    if bad != GOOD:
        return bad, first + 2
    _gated(room.x, room.m[2], room.y)
    _keep(kept, places, first + 3, room.x)
    return GOOD, 0


@jit
def _mlp_half(
    b: Block,
    gelu: F32Array,
    room: BranchRoom,
    first: int,
    places: S32Array,
    kept: F32Array,
) -> tuple[int, int]:
    """x = x + g2 * mlp(modulate(layernorm(x))): (bad row, stage)."""
    rows, cols = room.x.shape
    _normed(room, room.m[3], room.m[4])
    _keep(kept, places, first + 4, room.y)
    bad = quantize_rows(room.y, rows, cols, room.xq)
    if bad != GOOD:
        return bad, first + 4
    bad = mlp(room.xq, rows, b.fc1, b.fc2, gelu, room.mlp, room.acc, room.y)
    if bad != GOOD:
        return bad, first + 5
    _gated(room.x, room.m[5], room.y)
    _keep(kept, places, first + 5, room.x)
    return GOOD, 0


@jit
def _begin(
    z: F32Array,
    temb: F32Array,
    ctext: F32Array,
    mod: Linear,
    layer: Linear,
    pos: F32Array,
    room: BranchRoom,
    places: S32Array,
    kept: F32Array,
) -> tuple[int, int]:
    """cond, mod, x = linear(patch(z)) + pos: (bad row, stage)."""
    for c in range(len(room.cond)):
        room.cond[c] = temb[c] + ctext[c]
    _keep(kept, places, 0, room.cond)
    bad = modulation(room.cond, mod, room.row, room.mod)
    if bad != GOOD:
        return bad, 1
    _keep(kept, places, 1, room.mod)
    patch(z, room.patches)
    bad = quantize_rows(room.patches, room.x.shape[0], room.patches.shape[1], room.pq)
    if bad != GOOD:
        return bad, 2
    apply_linear(room.pq, room.x.shape[0], layer, room.acc, room.x)
    for r in range(room.x.shape[0]):
        for c in range(room.x.shape[1]):
            room.x[r, c] += pos[r, c]
    _keep(kept, places, 2, room.x)
    return GOOD, 0


@jit
def _block(
    b: Block,
    gelu: F32Array,
    room: BranchRoom,
    first: int,
    places: S32Array,
    kept: F32Array,
) -> tuple[int, int]:
    """One block, its stages from number ``first`` on: (bad row, stage)."""
    for k in range(6):
        for c in range(room.m.shape[1]):
            room.m[k, c] = room.mod[0, k * room.m.shape[1] + c] + b.table[k, c]
    bad, stage = _attention_half(b, room, first, places, kept)
    if bad != GOOD:
        return bad, stage
    return _mlp_half(b, gelu, room, first, places, kept)


@jit
def _end(mod: Linear, layer: Linear, room: BranchRoom, places: S32Array, kept: F32Array) -> tuple[int, int]:
    """v = unpatch(linear(modulate(layernorm(x)))): (bad row, stage)."""
    stage = len(places) - 3
    cols = room.x.shape[1]
    bad = modulation(room.cond, mod, room.row, room.mod[:, : 2 * cols])
    if bad != GOOD:
        return bad, stage
    _keep(kept, places, stage, room.mod[0, : 2 * cols])
    _normed(room, room.mod[0, :cols], room.mod[0, cols : 2 * cols])
    bad = linear(room.y, room.x.shape[0], layer, room.xq, room.acc, room.patches)
    if bad != GOOD:
        return bad, stage + 1
    unpatch(room.patches, room.v)
    _keep(kept, places, stage + 1, room.v)
    return GOOD, 0


def run_branch(
    z: F32Array,
    temb: F32Array,
    ctext: F32Array,
    w: DenoiserWeights,
    room: BranchRoom,
    places: S32Array,
    kept: F32Array,
) -> tuple[int, int]:
    """``room.v`` from z [16][16][4], temb [192], ctext [192]; (-1, 0), or (bad row, number of its stage).

    ``kept``: float32 [PLACES[-1]] for all stages, or empty when nobody wants them. The parts are compiled one
    by one: a function that takes all weights at once would take long to compile.
    """
    bad, stage = _begin(z, temb, ctext, w.mod, w.patch, w.pos, room, places, kept)
    for i, block in enumerate(w.blocks):
        if bad != GOOD:
            return bad, stage
        bad, stage = _block(block, w.gelu, room, _FIRST_BLOCK + _PER_BLOCK * i, places, kept)
    if bad != GOOD:
        return bad, stage
    return _end(w.final_mod, w.final, room, places, kept)
