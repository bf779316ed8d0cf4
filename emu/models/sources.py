"""Where a model comes from: a file, or random or extreme weights from a seed."""

from __future__ import annotations

from pathlib import Path

from emu.models.errors import PromptError
from emu.models.modelfile.extreme import extreme_model
from emu.models.modelfile.kinds import Kind
from emu.models.modelfile.random_weights import random_model
from emu.models.modelfile.reader import ModelFile, open_model

_MADE = {"random": random_model, "extreme": extreme_model}


def load_model(source: str, kind: Kind) -> ModelFile:
    """The model called FILE, ``random:SEED`` or ``extreme:SEED``.

    Raises PromptError for a bad seed, ModelFileError for a bad file, OSError.
    """
    word, colon, seed = source.partition(":")
    if word in _MADE and colon:
        return ModelFile(_MADE[word](kind, seed_number(seed)), source)
    return open_model(Path(source), kind)


def seed_number(text: str) -> int:
    """A seed of 32 bits. Raises PromptError."""
    try:
        seed = int(text, 0)
    except ValueError:
        raise PromptError(f"{text!r} is no number; a seed is 0 to {(1 << 32) - 1}") from None
    if not 0 <= seed < 1 << 32:
        raise PromptError(f"the seed {seed} is not in 0 to {(1 << 32) - 1}")
    return seed
