"""The tensors of a golden: safetensors beside the manifest, or all stages in the cache."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import load, save

from emu.goldens.errors import damaged
from emu.goldens.manifest import TENSORS, Manifest
from emu.models.stages import stage_digest
from emu.numerics.types import AnyArray
from emu.verify.records import write_whole


def pack(tensors: Mapping[str, AnyArray]) -> bytes:
    """The file's bytes: the same for the same tensors."""
    return bytes(save({name: np.ascontiguousarray(values) for name, values in tensors.items()}))


def write_tensors(path: Path, data: bytes) -> str:
    """Write the file; its SHA-256."""
    write_whole(path, data)
    return sha256(data).hexdigest()


def read_tensors(manifest: Manifest) -> dict[str, AnyArray]:
    """The tensors beside a manifest, each checked against its stage's digest.

    Raises UsageProblem when the file is missing, is another one, or holds a tensor whose digest is another.
    """
    if not manifest.tensors:
        return {}
    path = manifest.folder / TENSORS
    try:
        data = path.read_bytes()
    except OSError as error:
        raise damaged(str(path), error.strerror or str(error)) from error
    if sha256(data).hexdigest() != manifest.tensors:
        raise damaged(str(path), "its SHA-256 is not the one in the manifest")
    try:
        tensors: dict[str, AnyArray] = load(data)
    except SafetensorError as error:
        raise damaged(str(path), f"no safetensors ({error})") from error
    for name, values in tensors.items():
        if manifest.stages.get(name) != stage_digest(values):
            raise damaged(str(path), f"the tensor of stage {name} does not have the digest in the manifest")
    return tensors
