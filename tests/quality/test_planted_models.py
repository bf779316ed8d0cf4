"""The twelve faults of planted.py on the image target: the first wrong stage is the one right stage.

Every fault is built for the ESP32-S3, its instructions are executed, and stages are compared with those of
the mirror as `emu verify --models` does it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from emu.cpu.options import EngineOptions
from emu.image import load_image
from emu.models.modelfile.kinds import Kind
from emu.models.modelfile.random_weights import random_model
from emu.toolchain import Toolchain
from emu.verify.models import Effort, Report, compare_model
from emu.verify.verdict import Verdict
from tests.quality.planted import PLANTED, Planted, planted_image

EFFORT = Effort(samples=2, tokens=3, prompts=1, steps=1)
"""A fault shows in the first step, token or sample, or never."""


@pytest.fixture(scope="module")
def weights() -> dict[Kind, bytes]:
    return {kind: random_model(kind, 1) for kind in Kind}


def compared(elf: Path, kind: Kind, weights: dict[Kind, bytes]) -> Report:
    return compare_model(kind, weights[kind], "random:1", load_image(elf), EngineOptions(), EFFORT)


@pytest.mark.parametrize("fault", PLANTED, ids=lambda fault: fault.name)
def test_the_first_wrong_stage(fault: Planted, toolchain: Toolchain, weights: dict[Kind, bytes]) -> None:
    report = compared(planted_image(fault, toolchain), fault.model, weights)
    assert report.verdict is Verdict.MISMATCH
    assert report.first == fault.stage
    assert report.detail is not None
    assert report.detail.count > 0
    if fault.element is not None:
        assert tuple(report.detail.index) == fault.element


def test_there_are_twelve() -> None:
    assert len({fault.name for fault in PLANTED}) == 12
