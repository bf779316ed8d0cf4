"""Recording a golden: both targets run it, and must agree, before anything is written."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from emu.cpu.options import EngineOptions
from emu.goldens.definition import Definition
from emu.goldens.manifest import TENSORS, Manifest
from emu.goldens.provenance import provenance
from emu.goldens.run import Recording, Runner, TargetName
from emu.goldens.tensors import pack, write_tensors
from emu.models.modelfile.reader import ModelFile
from emu.models.sources import load_model
from emu.verify.errors import ToolError

BOTH: tuple[TargetName, ...] = ("mirror", "image")


class TargetsDisagree(Exception):
    """Two targets gave different bits: neither is a golden. Exit code 1."""


@dataclass(frozen=True)
class Computed:
    """What the targets agree on, and the model that they ran."""

    recording: Recording
    file: ModelFile
    targets: tuple[TargetName, ...]
    by_target: dict[TargetName, Recording] = field(default_factory=dict)


def compute(
    name: str,
    definition: Definition,
    targets: tuple[TargetName, ...] = BOTH,
    elf: Path | None = None,
    options: EngineOptions | None = None,
) -> Computed:
    """Run a definition on ``targets``. Raises TargetsDisagree with the first stage, ModelError, Trap."""
    file = load_model(definition.weights, definition.kind)
    recordings = {
        target: Runner(target, elf, options).run(definition, file, definition.tensors) for target in targets
    }
    first = recordings[targets[0]]
    for target in targets[1:]:
        _agree(name, targets[0], first, target, recordings[target])
    return Computed(first, file, targets, recordings)


def _agree(name: str, one: str, left: Recording, other: str, right: Recording) -> None:
    wrong = [s for s in left.digests | right.digests if left.digests.get(s) != right.digests.get(s)]
    if wrong:
        count = len(left.digests | right.digests)
        raise TargetsDisagree(
            f"{name}: {one} and {other} differ in {len(wrong):,} of {count:,} stages, first in {wrong[0]}; "
            f"nothing was recorded. 'emu verify --models' shows the element, 'emu bisect' the instruction"
        )


def make_manifest(
    definition: Definition, computed: Computed, elf: Path | None, options: EngineOptions | None
) -> tuple[Manifest, bytes]:
    """Manifest and tensor file of what was computed; nothing is written."""
    from hashlib import sha256

    data = pack(computed.recording.tensors) if computed.recording.tensors else b""
    origin = provenance(computed.file, computed.targets, elf, options)
    hashed = sha256(data).hexdigest() if data else ""
    return Manifest(definition, origin, computed.recording.digests, hashed), data


def store(folder: Path, manifest: Manifest, data: bytes) -> None:
    """Write a golden: tensors first, so that a manifest never speaks of a file that is not there yet."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if data:
            write_tensors(folder / TENSORS, data)
        manifest.write(folder)
        if not data:
            (folder / TENSORS).unlink(missing_ok=True)
    except OSError as error:
        raise ToolError(f"{folder} cannot be written: {error.strerror or error}") from error
