"""Sizes of the text-to-image model (docs/models.md section 1), and its multiplications counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

WORDS: Final = 45
WORD_BYTES: Final = 16
MAX_TOKENS: Final = 16
HEAD: Final = 32

TEXT_D: Final = 96
TEXT_HEADS: Final = 3
TEXT_MLP: Final = 384
TEXT_BLOCKS: Final = 2

D: Final = 192
HEADS: Final = 6
MLP: Final = 576
GROUP: Final = 96
BLOCKS: Final = 6
TOKENS: Final = 64
PATCH: Final = 16
TIME: Final = 256

LATENT: Final = 16
CHANNELS: Final = 4
PICTURE: Final = 64
MAX_STEPS: Final = 64


@dataclass(frozen=True)
class Conv:
    """One convolution of the decoder: channels, side of its output, and what it does beside convolving."""

    inputs: int
    outputs: int
    side: int
    relu: bool
    up: int
    residual: bool


CONVS: Final = (
    Conv(4, 64, 16, False, 0, False),
    Conv(64, 64, 16, True, 0, False),
    Conv(64, 64, 16, True, 0, True),
    Conv(64, 48, 32, False, 1, False),
    Conv(48, 48, 32, True, 0, False),
    Conv(48, 48, 32, True, 0, True),
    Conv(48, 32, 64, False, 1, False),
    Conv(32, 32, 64, True, 0, False),
    Conv(32, 32, 64, True, 0, True),
    Conv(32, 3, 64, True, 0, False),
)


def attention_macs(tokens: int, heads: int) -> int:
    """Multiplications of logits and weighted sums of one attention."""
    return 2 * heads * HEAD * tokens * tokens


def block_macs(rows: int, d: int, mlp: int) -> int:
    """Multiplications of the four linears of a block."""
    return rows * (3 * d * d + d * d + 2 * d * mlp)


def text_macs(words: int) -> int:
    """The text encoder: the prompt's rows, and both rows of ctext (the null prompt is a row too)."""
    blocks = TEXT_BLOCKS * (block_macs(words, TEXT_D, TEXT_MLP) + attention_macs(words, TEXT_HEADS))
    return blocks + 2 * (TEXT_D * D + D * D)


def step_macs() -> int:
    """One sampler step: time once, condition and attention for each branch, patches once for both."""
    time = TIME * D + D * D
    modulation = 2 * (6 * D * D + 2 * D * D)
    blocks = BLOCKS * (block_macs(2 * TOKENS, D, MLP) + 2 * attention_macs(TOKENS, HEADS))
    return time + modulation + blocks + TOKENS * PATCH * D + 2 * TOKENS * PATCH * D


def decoder_macs() -> int:
    """All convolutions."""
    return sum(c.side * c.side * c.outputs * 9 * c.inputs for c in CONVS)


def picture_macs(steps: int, words: int) -> int:
    """Multiply-accumulates of a picture; 2,652,948,480 for 8 steps and 4 words of the prompt."""
    return text_macs(words) + steps * step_macs() + decoder_macs()
