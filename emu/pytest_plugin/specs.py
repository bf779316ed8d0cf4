"""Spec files of a session: several may describe functions of the same name."""

from __future__ import annotations

from pathlib import Path

from emu.kernels.spec import REGISTRY, Kernel
from emu.verify.specfile import load_spec, validate


def load(path: Path) -> dict[str, Kernel]:
    """Execute a spec file and check its kernels; they are not kept in the registry. Raises UsageProblem."""
    others = dict(REGISTRY)
    REGISTRY.clear()
    try:
        found = load_spec(path)
        validate(found)
        return found
    finally:
        imported = {s: k for s, k in REGISTRY.items() if not _module(k).startswith("emu_spec_")}
        REGISTRY.clear()
        REGISTRY.update({**others, **imported})


def _module(kernel: Kernel) -> str:
    return str(getattr(getattr(kernel.mirror, "py_func", kernel.mirror), "__module__", ""))
