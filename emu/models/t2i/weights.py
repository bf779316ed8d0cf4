"""A text-to-image model file made ready for the host: weights packed, floats in arrays of their own."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from emu.models.blocks.conv import Conv3x3, conv_of
from emu.models.blocks.linear import Linear, linear_of
from emu.models.blocks.mlp import gelu_pairs
from emu.models.modelfile.reader import ModelFile
from emu.models.t2i import sizes as s
from emu.numerics.types import AnyArray, F32Array, U8Array


class TextBlock(NamedTuple):
    """A block of the text encoder; norms are [2][96], weight and bias."""

    ln1: F32Array
    qkv: Linear
    proj: Linear
    ln2: F32Array
    fc1: Linear
    fc2: Linear


class Block(NamedTuple):
    """A block of the denoiser; table [6][192]."""

    table: F32Array
    qkv: Linear
    proj: Linear
    fc1: Linear
    fc2: Linear


class TextWeights(NamedTuple):
    """The text encoder."""

    emb: F32Array
    pos: F32Array
    null: F32Array
    blocks: tuple[TextBlock, ...]
    ln: F32Array
    fc1: Linear
    fc2: Linear
    gelu: F32Array


class DenoiserWeights(NamedTuple):
    """Time, condition and denoiser."""

    freq: F32Array
    time1: Linear
    time2: Linear
    mod: Linear
    patch: Linear
    pos: F32Array
    blocks: tuple[Block, ...]
    final_mod: Linear
    final: Linear
    gelu: F32Array


class T2iWeights(NamedTuple):
    """Everything; ``words`` uint8 [45][16]."""

    words: U8Array
    text: TextWeights
    denoiser: DenoiserWeights
    convs: tuple[Conv3x3, ...]
    s_in: F32Array


def t2i_weights(file: ModelFile) -> T2iWeights:
    """Pack the weights of a t2i model file."""

    def floats(name: str) -> F32Array:
        return np.array(file.array(name), np.float32)

    def norm(name: str) -> F32Array:
        return np.stack((floats(f"{name}.w"), floats(f"{name}.b")))

    def parts(name: str) -> tuple[AnyArray, F32Array, F32Array]:
        cols = file.specs[f"{name}.w"].cols
        return file.array(f"{name}.w")[:, :cols], floats(f"{name}.w.scale"), floats(f"{name}.b")

    def layer(name: str) -> Linear:
        return linear_of(*parts(name))

    def mlp(name: str) -> tuple[Linear, Linear, Linear, Linear]:
        qkv, proj, fc1, fc2 = (layer(f"{name}.{part}") for part in ("qkv", "proj", "fc1", "fc2"))
        return qkv, proj, fc1, fc2

    def text_block(i: int) -> TextBlock:
        qkv, proj, fc1, fc2 = mlp(f"txt.b{i}")
        return TextBlock(norm(f"txt.b{i}.ln1"), qkv, proj, norm(f"txt.b{i}.ln2"), fc1, fc2)

    gelu = gelu_pairs(floats("gelu.value"), floats("gelu.slope"))
    text = TextWeights(
        floats("txt.emb"),
        floats("txt.pos"),
        floats("txt.null"),
        tuple(text_block(i) for i in range(s.TEXT_BLOCKS)),
        norm("txt.ln"),
        layer("txt.fc1"),
        layer("txt.fc2"),
        gelu,
    )
    denoiser = DenoiserWeights(
        floats("time.freq"),
        layer("time.fc1"),
        layer("time.fc2"),
        layer("mod"),
        layer("patch"),
        floats("pos"),
        tuple(Block(floats(f"b{i}.table"), *mlp(f"b{i}")) for i in range(s.BLOCKS)),
        layer("final.mod"),
        layer("final"),
        gelu,
    )
    convs = tuple(conv_of(*parts(f"dec.conv{k}")) for k in range(len(s.CONVS)))
    return T2iWeights(np.array(file.array("tok.words")), text, denoiser, convs, floats("dec.s_in"))
