"""What ``emu profile`` does."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from emu.image import Image, load_image
from emu.profile import subjects
from emu.profile.chip import Estimate, assumptions, estimate
from emu.profile.flame import svg
from emu.profile.measure import Profile, measure
from emu.profile.page import html
from emu.profile.text import show
from emu.terminal import progress
from emu.verify.errors import UsageProblem

SUFFIXES = (".html", ".svg", ".json")
MODELS = ("t2i", "ternary", "tinylm")


@dataclass(frozen=True)
class ProfileRequest:
    """The options of ``emu profile`` as they were typed."""

    what: str
    elf: Path
    source: str
    steps: int
    tokens: int
    sizes: Sequence[str]
    samples: int
    limit: int
    output: Path | None


def run(request: ProfileRequest) -> int:
    """Measure, print, write. Raises UsageProblem, ModelError, Trap, OSError."""
    if request.output is not None and request.output.suffix not in SUFFIXES:
        raise UsageProblem(
            f"{request.output}: a profile is written to {', '.join('*' + s for s in SUFFIXES)}"
        )
    console = Console()
    with progress(console) as step:
        step(f"{request.what}: preparing", 0)
        subject = _subject(request, load_image(request.elf))
        step(f"{subject.title}: every function is counted, then samples are taken", 0)
        profile = measure(subject, request.samples)
    guess = estimate(profile)
    show(profile, guess, console, request.limit)
    if request.output is not None:
        request.output.write_text(_written(request.output.suffix, profile, guess), encoding="utf-8")
    return 0


def _subject(request: ProfileRequest, image: Image) -> subjects.Subject:
    sizes = _sizes(request.sizes)
    if request.what in MODELS and sizes:
        raise UsageProblem("--size belongs to kernels; models have --steps or --tokens")
    if request.what == "t2i":
        return subjects.picture(image, request.source, request.steps)
    if request.what == "ternary":
        return subjects.ternary(image, request.source)
    if request.what == "tinylm":
        return subjects.tinylm(image, request.source, request.tokens)
    return subjects.kernel(image, request.what, sizes)


def _sizes(pairs: Sequence[str]) -> dict[str, int]:
    found = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        if not value.isdecimal():
            raise UsageProblem(f"--size {pair}: write NAME=NUMBER, as rows=64")
        found[name] = int(value)
    return found


def _written(suffix: str, profile: Profile, guess: Estimate) -> str:
    if suffix == ".svg":
        return svg(profile.root, f"{profile.subject.title}: {profile.instructions:,} instructions")
    if suffix == ".html":
        return html(profile, guess)
    return json.dumps(as_json(profile, guess), indent=1) + "\n"


def as_json(profile: Profile, guess: Estimate) -> dict[str, Any]:
    """All figures."""
    return {
        "subject": profile.subject.title,
        "image_sha256": profile.subject.engine.image.sha256,
        "instructions": profile.instructions,
        "stages": profile.stages,
        "functions": {n: {"own": c, "calls": k} for n, (c, k) in profile.functions.items()},
        "kinds": profile.mix.shares,
        "estimate": {**guess.__dict__, "seconds": guess.seconds, "one_core": guess.one_core},
        "assumed": assumptions(),
    }
