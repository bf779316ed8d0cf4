"""Stages in a file: safetensors or npz, with names, types, shapes, and where they come from."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np

from emu.models.errors import PromptError
from emu.models.modelfile.header import SPEC_VERSION
from emu.models.stages import stage_digest
from emu.numerics.types import AnyArray

PROVENANCE_KEY: Final = "provenance"
SUFFIXES: Final = (".safetensors", ".npz")


def check_suffix(path: Path) -> None:
    """Raise PromptError before a run when its results could not be written."""
    if path.suffix not in SUFFIXES:
        raise PromptError(f"{path}: stages are written to a file called *.safetensors or *.npz")


def provenance(model: str, sha256: str, target: str, request: Mapping[str, object]) -> dict[str, str]:
    """Where tensors come from, as text: model, its hash, target, request, version of the arithmetic."""
    return {
        "producer": "emu",
        "model": model,
        "model_sha256": sha256,
        "target": target,
        "request": json.dumps(dict(request), ensure_ascii=False, default=str),
        "spec_version": str(SPEC_VERSION),
    }


def write_dump(path: Path, stages: Mapping[str, AnyArray], origin: Mapping[str, str]) -> None:
    """Write the stages; each one's digest goes to the provenance too."""
    check_suffix(path)
    arrays = {name: np.ascontiguousarray(values) for name, values in stages.items()}
    text = {**origin, **{f"digest:{n}": f"{stage_digest(v):016X}" for n, v in arrays.items()}}
    if path.suffix == ".npz":
        np.savez(path, **{PROVENANCE_KEY: np.array(json.dumps(text, ensure_ascii=False))}, **arrays)  # type: ignore[arg-type]
        return
    from safetensors.numpy import save_file

    save_file(arrays, path, metadata=text)


def digest_lines(digests: Mapping[str, int]) -> str:
    """One line for each stage: 16 hexadecimal digits and the name."""
    return "".join(f"{value:016X}  {name}\n" for name, value in digests.items())
