"""Comparing a target with a golden: digests of all stages, elements of the first that differs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from emu.cpu.options import EngineOptions
from emu.goldens.errors import stale
from emu.goldens.manifest import MANIFEST, Manifest
from emu.goldens.provenance import stale_reasons
from emu.goldens.run import Recording, Runner, TargetName
from emu.goldens.tensors import read_tensors
from emu.ledger.writer import Cost
from emu.models.modelfile.reader import ModelFile
from emu.models.sources import load_model
from emu.numerics.types import AnyArray
from emu.verify.compare import Difference, difference
from emu.verify.errors import ToolError


@dataclass(frozen=True)
class Change:
    """One stage that is not as recorded; None: the stage is missing on that side."""

    stage: str
    recorded: int | None
    found: int | None


@dataclass
class Checked:
    """A golden against a target; equal when there are no changes."""

    name: str
    target: str
    stages: int
    changes: list[Change] = field(default_factory=list)
    details: dict[str, Difference] = field(default_factory=dict)
    instructions: int = 0
    seconds: float = 0.0
    costs: Mapping[str, Cost] = field(default_factory=dict)


def changes_between(recorded: dict[str, int], found: dict[str, int]) -> list[Change]:
    """What differs, in the order of the stages."""
    names = list(recorded | found)
    return [
        Change(n, recorded.get(n), found.get(n)) for n in names if recorded.get(n) != found.get(n)
    ]  # fmt: skip


def refuse_stale(manifest: Manifest, file: ModelFile) -> None:
    """Raise UsageProblem with the reasons when a golden is of another contract or other weights."""
    reasons = stale_reasons(manifest.provenance, file)
    if reasons:
        raise stale(str(manifest.folder / MANIFEST), reasons)


def check(
    name: str,
    manifest: Manifest,
    target: TargetName,
    elf: Path | None = None,
    options: EngineOptions | None = None,
) -> Checked:
    """Compute a golden's run again and compare.

    Raises UsageProblem when the golden is stale or damaged, ModelError, Trap.
    """
    file = load_model(manifest.run.weights, manifest.run.kind)
    refuse_stale(manifest, file)
    kept = read_tensors(manifest)
    started = time.monotonic()
    runner = Runner(target, elf, options)
    run = runner.run(manifest.run, file, tuple(kept))
    checked = Checked(name, target, len(manifest.stages), instructions=run.instructions)
    checked.seconds, checked.costs = time.monotonic() - started, run.costs
    checked.changes = changes_between(dict(manifest.stages), run.digests)
    if checked.changes and checked.changes[0].stage not in kept:
        first = checked.changes[0].stage
        kept |= _from_mirror(manifest, file, first)
        run = runner.run(manifest.run, file, tuple(kept))
    checked.details = tensor_details([c.stage for c in checked.changes], kept, run)
    return checked


def _from_mirror(manifest: Manifest, file: ModelFile, stage: str) -> dict[str, AnyArray]:
    """A tensor that is not kept, from the mirror where that still computes what was recorded."""
    run = Runner("mirror").run(manifest.run, file, (stage,))
    return run.tensors if run.digests.get(stage) == manifest.stages.get(stage) else {}


def tensor_details(stages: list[str], kept: dict[str, AnyArray], run: Recording) -> dict[str, Difference]:
    """The difference of each changed stage whose tensor both sides have."""
    found: dict[str, Difference] = {}
    for stage in stages:
        if stage not in kept or stage not in run.tensors:
            continue
        expected, actual = np.ascontiguousarray(kept[stage]), np.ascontiguousarray(run.tensors[stage])
        if expected.size != actual.size or expected.dtype != actual.dtype:
            continue
        seen = difference(stage, expected.shape, expected.reshape(-1), actual.reshape(-1))
        if seen is not None:
            found[stage] = seen
    return found


def check_digests(name: str, manifest: Manifest, file: ModelFile, run: Recording) -> None:
    """Raise UsageProblem when ``run`` is not what the manifest says: stale, or this machine differs."""
    refuse_stale(manifest, file)
    changes = changes_between(dict(manifest.stages), run.digests)
    if changes:
        raise ToolError(
            f"{name}: {len(changes):,} stages are not as recorded, first {changes[0].stage}; "
            f"'emu golden check {name}' shows them"
        )
