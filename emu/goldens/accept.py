"""Accepting a change: what both targets compute now becomes the golden, after its changes were shown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from emu.goldens.check import Change, changes_between, tensor_details
from emu.goldens.manifest import Manifest, read_manifest
from emu.goldens.record import Computed, make_manifest, store
from emu.goldens.tensors import read_tensors
from emu.numerics.types import AnyArray
from emu.verify.compare import Difference
from emu.verify.errors import UsageProblem


@dataclass(frozen=True)
class Proposal:
    """A golden as it would become; ``origins``: provenance that changes, in words."""

    name: str
    folder: Path
    manifest: Manifest
    data: bytes
    changes: list[Change]
    details: dict[str, Difference]
    origins: list[str]

    @property
    def nothing(self) -> bool:
        """Neither stages nor provenance nor tensors change."""
        return not self.changes and not self.origins

    def store(self) -> None:
        """Make it so."""
        store(self.folder, self.manifest, self.data)


def propose(name: str, folder: Path, computed: Computed, elf: Path | None = None) -> Proposal:
    """Compare what both targets computed for a golden's run with what is recorded.

    Raises UsageProblem when nothing is recorded in ``folder``.
    """
    old = read_manifest(folder)
    manifest, data = make_manifest(old.run, computed, elf, None)
    changes = changes_between(dict(old.stages), dict(manifest.stages))
    details = tensor_details([c.stage for c in changes], _old_tensors(old), computed.recording)
    return Proposal(name, folder, manifest, data, changes, details, _origins(old, manifest))


def _old_tensors(old: Manifest) -> dict[str, AnyArray]:
    try:
        return read_tensors(old)
    except UsageProblem:
        return {}


def _origins(old: Manifest, new: Manifest) -> list[str]:
    names = list(dict(old.provenance) | dict(new.provenance))
    changed = [n for n in names if old.provenance.get(n) != new.provenance.get(n)]
    told = [f"{n}: {_short(old.provenance.get(n))} -> {_short(new.provenance.get(n))}" for n in changed]
    if old.tensors != new.tensors:
        told.append("the tensors that are kept")
    return told


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:57] + "..."
