"""Where a golden comes from, and whether what is here now is still the same."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from emu.cpu.options import EngineOptions
from emu.cpu.readings import choose
from emu.models.modelfile.header import SPEC_VERSION
from emu.models.modelfile.reader import ModelFile
from emu.verify.reference import reference_elf

ROUNDING: Final = {
    "quantization": "half to even, clamped to -127..127",
    "float": "IEEE binary32, no contraction",
    "requantization": "float32 scale, one rounding",
}
"""The rounding rules of docs/numerics.md in words, for a reader of a manifest."""


def provenance(
    file: ModelFile, targets: tuple[str, ...], elf: Path | None, options: EngineOptions | None
) -> dict[str, Any]:
    """Provenance of a recording: ``targets`` that gave it, the image and how it was built."""
    found: dict[str, Any] = {
        "spec_version": SPEC_VERSION,
        "model_sha256": file.sha256,
        "targets": list(targets),
        "rounding": ROUNDING,
    }
    if "image" in targets:
        options = options or EngineOptions()
        found["image"] = image_facts(elf or reference_elf())
        found["engine"] = {"fused": str(options.fused), "readings": dict(choose(options.readings))}
    return found


def image_facts(elf: Path) -> dict[str, Any]:
    """Hash of an image; compiler and flags where a build manifest lies beside it."""
    facts: dict[str, Any] = {"sha256": sha256(elf.read_bytes()).hexdigest()}
    beside = elf.with_name("manifest.json")
    if not beside.is_file():
        return facts
    try:
        built = json.loads(beside.read_bytes())
    except ValueError:
        return facts
    if isinstance(built, dict) and facts["sha256"] in json.dumps(built):
        facts |= {name: built[name] for name in ("compiler", "flags") if name in built}
    return facts


def stale_reasons(recorded: Mapping[str, Any], file: ModelFile) -> list[str]:
    """Why a golden cannot be compared with what is here: another contract, other weights."""
    reasons = []
    if recorded.get("spec_version") != SPEC_VERSION:
        reasons.append(
            f"it follows version {recorded.get('spec_version')} of the arithmetic, this is {SPEC_VERSION}"
        )
    if recorded.get("model_sha256") != file.sha256:
        was, now = str(recorded.get("model_sha256"))[:12], file.sha256[:12]
        reasons.append(f"its weights have SHA-256 {was}..., these {now}...")
    return reasons
