"""Sizes and tensors of a ternary model file, in file order (docs/models.md section 2)."""

from __future__ import annotations

from typing import Final

from emu.models.modelfile.tensors import DType, Layout, TensorSpec, ternary_layer, vector

TOKENS: Final = 32
D: Final = 128
LAYERS: Final = 4
HEADS: Final = 4
MLP: Final = 256

LINEARS: Final = {"qkv": (3 * D, D), "proj": (D, D), "fc1": (MLP, D), "fc2": (D, MLP)}
"""(outputs, columns) of the four linears of a layer, in file order."""


def _layer(i: int) -> Layout:
    layers = {n: ternary_layer(f"l{i}.{n}", *size) for n, size in LINEARS.items()}
    norm1, norm2 = vector(f"l{i}.norm1", D, "norm"), vector(f"l{i}.norm2", D, "norm")
    return (norm1, *layers["qkv"], *layers["proj"], norm2, *layers["fc1"], *layers["fc2"])


def ternary_layout(outputs: int) -> Layout:
    """All tensors of a model with ``outputs`` logits."""
    layout: Layout = (
        TensorSpec("emb", DType.F32, (256, D), "normal"),
        TensorSpec("pos", DType.F32, (TOKENS, D), "small"),
    )
    for i in range(LAYERS):
        layout += _layer(i)
    return (
        *layout,
        TensorSpec("head.w", DType.F32, (outputs, D), "linear"),
        vector("head.b", outputs, "small"),
    )
