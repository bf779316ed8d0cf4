"""Planted faults: each *.patch changes one thing in firmware/, each *.flags adds compiler flags.

A file starts with header lines, then an empty line, then the diff or the flags:

    Kernels: the kernels in which a campaign must find it
    Rarely: kernels that also change, in which no campaign has to find it (optional)
    Class: what kind of fault it is
    Why: what goes wrong
    Equivalent: yes      (only where no input can show it)
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Mutant:
    """One planted fault: a patch or compiler flags, and the kernels that it breaks."""

    name: str
    kernels: tuple[str, ...]
    rarely: tuple[str, ...]
    fault_class: str
    why: str
    equivalent: bool
    patch: Path | None
    flags: tuple[str, ...]

    @property
    def build_options(self) -> dict[str, Any]:
        """Keyword arguments of `build_firmware`."""
        patches = (self.patch,) if self.patch else ()
        return {"patches": patches, "extra_flags": self.flags, "allow_fused": bool(self.flags)}


def read_mutant(path: Path) -> Mutant:
    """Read one file of this folder."""
    head, body = path.read_text().split("\n\n", 1)
    fields = dict(line.split(": ", 1) for line in head.splitlines())
    is_patch = path.suffix == ".patch"
    return Mutant(
        name=path.stem,
        kernels=tuple(fields["Kernels"].split()),
        rarely=tuple(fields.get("Rarely", "").split()),
        fault_class=fields["Class"],
        why=fields["Why"],
        equivalent=fields.get("Equivalent") == "yes",
        patch=path if is_patch else None,
        flags=() if is_patch else tuple(body.split()),
    )


def all_mutants() -> list[Mutant]:
    """Every planted fault, sorted by name."""
    return [read_mutant(path) for path in sorted([*FOLDER.glob("*.patch"), *FOLDER.glob("*.flags")])]
