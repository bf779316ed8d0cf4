"""Text to the 32 byte tokens of the ternary model."""

from __future__ import annotations

import numpy as np

from emu.models.ternary.layout import TOKENS
from emu.numerics.types import S32Array


def byte_tokens(text: bytes) -> S32Array:
    """The first 32 bytes, zeros behind a shorter text; int32 [32]."""
    return np.frombuffer(text[:TOKENS].ljust(TOKENS, b"\0"), np.uint8).astype(np.int32)
