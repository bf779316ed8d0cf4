"""Model files that several tests read, made once."""

from __future__ import annotations

import functools

import numpy as np

from emu.models.modelfile.extreme import extreme_model
from emu.models.modelfile.kinds import Kind
from emu.models.modelfile.random_weights import random_model, random_tensors
from emu.models.modelfile.reader import ModelFile
from emu.models.modelfile.writer import model_bytes

KINDS = tuple(Kind)


@functools.cache
def random_bytes(kind: Kind, seed: int = 1) -> bytes:
    return random_model(kind, seed)


@functools.cache
def random_file(kind: Kind, seed: int = 1) -> ModelFile:
    return ModelFile(random_bytes(kind, seed), f"random:{seed}")


@functools.cache
def extreme_file(kind: Kind, seed: int = 1) -> ModelFile:
    return ModelFile(extreme_model(kind, seed), f"extreme:{seed}")


def changed(kind: Kind, name: str, value: object, seed: int = 1, part: slice = slice(None)) -> ModelFile:
    """A random model with other values in (a part of) one tensor."""
    tensors = random_tensors(kind, seed)
    flat = np.array(tensors[name]).reshape(-1)
    flat[part] = value
    tensors[name] = flat.reshape(np.shape(tensors[name]))
    return ModelFile(model_bytes(kind, tensors), f"{name} changed")
