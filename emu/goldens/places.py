"""Where goldens are, and the files there that belong to none."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from emu.goldens.manifest import MANIFEST, TENSORS, read_manifest
from emu.verify.errors import UsageProblem


def default_folder() -> Path:
    """``golden/models`` of the folder that one stands in."""
    return Path("golden") / "models"


def names_in(folder: Path) -> list[str]:
    """Goldens recorded in ``folder``, sorted."""
    return sorted(path.parent.name for path in folder.glob(f"*/{MANIFEST}"))


def chosen(folder: Path, names: Iterable[str]) -> list[str]:
    """The named goldens, or all. Raises UsageProblem when there are none of that name."""
    there, wanted = names_in(folder), list(names)
    missing = [name for name in wanted if name not in there]
    if missing or not there:
        listed = ", ".join(there) or "none"
        what = f"no golden is called {missing[0]!r}" if missing else "no goldens"
        raise UsageProblem(f"{folder}: {what} here; recorded: {listed}")
    return wanted or there


def strays(folder: Path) -> list[Path]:
    """Files below ``folder`` that no manifest speaks of: left by killed writers, or of removed goldens."""
    found = []
    for path in sorted(folder.glob("*/*")):
        beside = path.with_name(MANIFEST)
        if path.name == MANIFEST:
            continue
        if not beside.is_file() or path.name != TENSORS:
            found += [path] if path.name.startswith((MANIFEST, TENSORS)) else []
        elif not read_manifest(path.parent).tensors:
            found.append(path)
    return found
