"""Sizes and tensors of a tinylm model file, in file order (docs/models.md section 3)."""

from __future__ import annotations

from typing import Final

from emu.models.modelfile.tensors import DType, Layout, TensorSpec, int4_layer, vector

VOCAB: Final = 4096
MAX_TOKEN_BYTES: Final = 32
TEXT_BYTES: Final = (VOCAB, 65536)
"""Least and most bytes of all strings of the vocabulary together."""
RANDOM_TEXT_BYTES: Final = 256 + 2 * (VOCAB - 256)
"""Bytes of the vocabulary of random weights: single bytes, then pairs."""
D: Final = 128
LAYERS: Final = 6
HEADS: Final = 4
HEAD: Final = 32
FFN: Final = 415
PLE: Final = 64
CONTEXT: Final = 256
GROUP: Final = 32
WIDE_GROUP: Final = 128
"""Columns of a group of the embedding, the per-layer table and the head; the rest uses GROUP."""

LINEARS: Final = {
    "qkv": (3 * D, D),
    "o": (D, D),
    "gate": (FFN, D),
    "up": (FFN, D),
    "down": (D, FFN),
    "ple_gate": (PLE, D),
    "ple_proj": (D, PLE),
}
"""(rows, columns) of the matrices of a layer."""


def _layer(i: int) -> Layout:
    m = {n: int4_layer(f"l{i}.{n}", *size, GROUP) for n, size in LINEARS.items()}
    norm = [vector(f"l{i}.norm{k}", D, "norm") for k in (1, 2, 3)]
    return (*norm, *(tensor for layer in m.values() for tensor in layer))


def tinylm_layout(text_bytes: int = RANDOM_TEXT_BYTES) -> Layout:
    """All tensors: vocabulary of ``text_bytes`` bytes, embeddings and head, layers, tables."""
    layout: Layout = (
        TensorSpec("tok.start", DType.I32, (VOCAB + 1,), "bytes"),
        TensorSpec("tok.bytes", DType.U8, (text_bytes,), "bytes"),
        *int4_layer("emb", VOCAB, D, WIDE_GROUP, "normal"),
        *int4_layer("head", VOCAB, D, WIDE_GROUP),
        *int4_layer("ple", VOCAB, LAYERS * PLE, WIDE_GROUP, "normal"),
        *int4_layer("proj", LAYERS * PLE, D, GROUP),
        vector("ple.norm", PLE, "norm"),
        vector("norm", D, "norm"),
    )
    for i in range(LAYERS):
        layout += _layer(i)
    tables = vector("gelu.value", 1024, "table"), vector("gelu.slope", 1024, "table")
    return (*layout, vector("rope.freq", HEAD // 2, "table"), *tables)
