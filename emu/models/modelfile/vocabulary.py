"""Rules of the byte strings that a tinylm model splits text into: ``tok.start`` and ``tok.bytes``."""

from __future__ import annotations

import numpy as np

from emu.models.errors import ModelFileError
from emu.models.modelfile.reasons import Reason
from emu.models.tinylm.layout import MAX_TOKEN_BYTES
from emu.numerics.types import S32Array, U8Array


def check_vocabulary(name: str, start: S32Array, text: U8Array, i: int) -> None:
    """Refuse string ends out of order, lengths outside 1 to 32, ids below 256 that are not their byte.

    ``name``: the tensor in turn, tok.start [4097] or tok.bytes [n], at place ``i`` of the index.
    """
    first_bad = _bad_length(start, len(text)) if name == "tok.start" else _bad_single(start, text)
    if first_bad is not None:
        what = f"string {first_bad}: not 1 to {MAX_TOKEN_BYTES} bytes (the ids 0 to 255: the single bytes)"
        raise ModelFileError(Reason.WORDS, what, name, i)


def _bad_length(start: S32Array, size: int) -> int | None:
    lengths = np.diff(start.astype(np.int64))
    bad = (lengths < 1) | (lengths > MAX_TOKEN_BYTES)
    bad[:256] |= lengths[:256] != 1
    bad[0] |= start[0] != 0
    bad[-1] |= start[-1] != size
    return int(np.argmax(bad)) if bad.any() else None


def _bad_single(start: S32Array, text: U8Array) -> int | None:
    bad = text[:256] != np.arange(256)
    return int(np.argmax(bad)) if bad.any() else None
