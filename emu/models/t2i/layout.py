"""Tensors of a text-to-image model file, in file order (docs/models.md section 1)."""

from __future__ import annotations

from emu.models.modelfile.tensors import DType, Layout, TensorSpec, int8_layer, vector
from emu.models.t2i import sizes as s


def _norm(name: str) -> Layout:
    return vector(f"{name}.w", s.TEXT_D, "norm"), vector(f"{name}.b", s.TEXT_D, "small")


def _block(name: str, d: int, mlp: int) -> tuple[Layout, Layout]:
    """(attention, MLP) layers."""
    attention = int8_layer(f"{name}.qkv", 3 * d, d) + int8_layer(f"{name}.proj", d, d)
    return attention, int8_layer(f"{name}.fc1", mlp, d) + int8_layer(f"{name}.fc2", d, mlp)


def _text() -> Layout:
    layout: Layout = (
        TensorSpec("tok.words", DType.U8, (s.WORDS, s.WORD_BYTES), "bytes"),
        TensorSpec("txt.emb", DType.F32, (s.WORDS, s.TEXT_D), "normal"),
        TensorSpec("txt.pos", DType.F32, (s.MAX_TOKENS, s.TEXT_D), "small"),
        vector("txt.null", s.TEXT_D, "normal"),
    )
    for i in range(s.TEXT_BLOCKS):
        attention, mlp = _block(f"txt.b{i}", s.TEXT_D, s.TEXT_MLP)
        layout += _norm(f"txt.b{i}.ln1") + attention + _norm(f"txt.b{i}.ln2") + mlp
    return layout + _norm("txt.ln") + int8_layer("txt.fc1", s.D, s.TEXT_D) + int8_layer("txt.fc2", s.D, s.D)


def _denoiser() -> Layout:
    layout: Layout = (vector("time.freq", s.TIME // 2, "table"),)
    layout += int8_layer("time.fc1", s.D, s.TIME) + int8_layer("time.fc2", s.D, s.D)
    layout += int8_layer("mod", 6 * s.D, s.D) + int8_layer("patch", s.D, s.PATCH)
    layout += (TensorSpec("pos", DType.F32, (s.TOKENS, s.D), "small"),)
    for i in range(s.BLOCKS):
        attention, mlp = _block(f"b{i}", s.D, s.MLP)
        layout += (TensorSpec(f"b{i}.table", DType.F32, (6, s.D), "small"), *attention, *mlp)
    return layout + int8_layer("final.mod", 2 * s.D, s.D) + int8_layer("final", s.PATCH, s.D)


def _decoder() -> Layout:
    layout: Layout = ()
    for k, conv in enumerate(s.CONVS):
        layout += int8_layer(f"dec.conv{k}", conv.outputs, 9 * conv.inputs)
    return (*layout, vector("dec.s_in", len(s.CONVS), "s_in"))


def t2i_layout() -> Layout:
    """All tensors: words and text encoder, denoiser with time and condition, decoder, tables."""
    tables = vector("gelu.value", 1024, "table"), vector("gelu.slope", 1024, "table")
    return _text() + _denoiser() + _decoder() + tables
