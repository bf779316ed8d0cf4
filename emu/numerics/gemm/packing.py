"""Weights in the layout of the dot-product instructions: [N/16][K/4][16][4] bytes, each weight plus 128.

The instruction multiplies unsigned by signed bytes. Weights take the unsigned side, so activations stay as
they are, and the 128 is taken back with the sum of the activation row: sum((w + 128) * x) - 128 * sum(x).
"""

from __future__ import annotations

from typing import Final

import numpy as np

from emu.numerics.packed import padded
from emu.numerics.types import AnyArray, U8Array

LANES: Final = 16
"""Outputs of a block."""
DEPTH: Final = 4
"""Columns that one instruction multiplies for each output."""
BLOCK_STEP: Final = LANES * DEPTH
OFFSET: Final = 128


def pack_weights(weights: AnyArray) -> U8Array:
    """int8 weights [N][K] as uint8 [ceil(N/16)][ceil(K/4)][16][4]; missing rows and columns are weights 0."""
    outs, cols = weights.shape
    full = np.zeros((padded(outs, LANES), padded(cols, DEPTH)), np.int16)
    full[:outs, :cols] = weights
    blocks = full.reshape(-1, LANES, full.shape[1] // DEPTH, DEPTH).transpose(0, 2, 1, 3)
    return np.ascontiguousarray(blocks + OFFSET).astype(np.uint8)
