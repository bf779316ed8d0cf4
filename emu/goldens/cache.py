"""All tensors of a golden in the cache folder: computed again from the manifest when they are not there."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

from safetensors import SafetensorError
from safetensors.numpy import load

from emu.goldens.check import check_digests
from emu.goldens.manifest import Manifest
from emu.goldens.run import Runner
from emu.goldens.tensors import pack
from emu.models.sources import load_model
from emu.models.stages import stage_digest
from emu.numerics.types import AnyArray
from emu.toolchain.cache import cache_dir
from emu.verify.records import write_whole


def cache_path(manifest: Manifest) -> Path:
    """Where the tensors of a manifest are kept."""
    text = json.dumps(manifest.as_json(), sort_keys=True)
    return cache_dir() / "goldens" / f"{sha256(text.encode()).hexdigest()[:32]}.safetensors"


def all_tensors(name: str, manifest: Manifest) -> dict[str, AnyArray]:
    """Every stage's tensor. A file that is damaged is made again.

    Raises UsageProblem for a stale golden, ToolError when this machine computes something else.
    """
    path = cache_path(manifest)
    found = _read(path, manifest)
    if found is None:
        file = load_model(manifest.run.weights, manifest.run.kind)
        run = Runner("mirror").run(manifest.run, file, ("*",))
        check_digests(name, manifest, file, run)
        found = run.tensors
        write_whole(path, pack(found))
    return {stage: found[stage] for stage in manifest.stages if stage in found}


def _read(path: Path, manifest: Manifest) -> dict[str, AnyArray] | None:
    try:
        tensors: dict[str, AnyArray] = load(path.read_bytes())
    except (OSError, SafetensorError):
        return None
    good = all(stage_digest(values) == manifest.stages.get(name) for name, values in tensors.items())
    return tensors if good and len(tensors) == len(manifest.stages) else None


def strays(needed: list[Manifest]) -> list[Path]:
    """Files in the cache that none of the goldens needs."""
    keep = {cache_path(manifest) for manifest in needed}
    return sorted(path for path in (cache_dir() / "goldens").glob("*") if path not in keep)
