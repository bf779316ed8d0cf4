"""What taps cost a run that uses none: a load and a branch a stage, against firmware without them."""

from __future__ import annotations

from pathlib import Path

import pytest

from emu.models.modelfile.kinds import Kind
from emu.models.names import ternary_stages
from emu.models.on_image import ImageTernary
from emu.models.sources import load_model
from emu.toolchain import Toolchain
from emu.toolchain.build import build_firmware
from emu.verify.reference import reference_elf

A_STAGE = 6
"""Instructions that a tap may take when it is off."""


def instructions(elf: Path) -> tuple[int, bytes]:
    model = ImageTernary(load_model("random:1", Kind.TERNARY), elf)
    logits = model.run(b"12+34", digests=False)
    return model.outcome.instructions, logits.tobytes()


def test_taps_that_are_off_cost_next_to_nothing(
    toolchain: Toolchain, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    without = build_firmware(toolchain, tmp_path, extra_flags=["-DEMU_NO_TAPS"]).elf
    (plain, wanted), (tapped, found) = instructions(without), instructions(reference_elf())
    assert found == wanted
    stages = len(ternary_stages())
    with capsys.disabled():
        print(f"\n  taps off: {tapped - plain} of {tapped:,} instructions for {stages} stages")
    assert 0 < tapped - plain <= A_STAGE * stages
