"""Every known reason is told for the fault that it names and for no other; a wrong one is never proved."""

from __future__ import annotations

from pathlib import Path

import pytest

from emu.diagnose.diagnose import NONE
from emu.diagnose.reasons import Proof, Reason
from emu.image import Image, load_image
from emu.kernels.spec import Kernel
from emu.toolchain import Toolchain
from emu.verify.causes import Causes
from emu.verify.image_target import ImageTarget
from emu.verify.options import Options
from emu.verify.results import Failure
from emu.verify.runner import Runner
from emu.verify.strategies import cases
from emu.verify.target import MirrorTarget
from tests.diagnose.planted_kernels import EXAMPLES, UNRELATED, Example
from tests.robust.odd_image import SCRIPT

SOURCE = Path(__file__).with_name("planted.c")
SEEN_ONLY = {"outside of the buffers", "misaligned vector access"}
"""Reasons that take place in a run; that they explain the numbers is not shown."""


@pytest.fixture(scope="module")
def image(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Image:
    folder = tmp_path_factory.mktemp("planted")
    flags = ["-O1", "-g", "-ffreestanding", "-ffp-contract=off", "-fno-optimize-sibling-calls"]
    toolchain.compile(SOURCE, folder / "planted.o", flags)
    (folder / "planted.ld").write_text(SCRIPT)
    toolchain.link([folder / "planted.o"], folder / "planted.elf", folder / "planted.ld")
    return load_image(folder / "planted.elf")


def failure_of(kernel: Kernel, image: Image) -> Failure:
    options = Options(tier="stepper", shrink_seconds=6.0)
    runner = Runner(MirrorTarget(), ImageTarget(image, options), options)
    for number, case in cases(kernel, 0, 0, 200):
        outcome = runner.check(kernel, case)
        if outcome.bad:
            return runner.failure(kernel, number, case, outcome)
    raise AssertionError(f"{kernel.symbol}: no difference")


def reasons_of(kernel: Kernel, image: Image) -> list[Reason]:
    failure = failure_of(kernel, image)
    causes = Causes(Options(tier="stepper"), MirrorTarget(), image)
    return causes.reasons(kernel, failure.case, failure.drawn)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: e.kernel.symbol)
def test_the_reason_and_no_other(example: Example, image: Image) -> None:
    found = reasons_of(example.kernel, image)
    proved = {reason.name for reason in found if reason.proof is Proof.PROVED}
    if set(example.reasons) <= SEEN_ONLY:
        assert not proved
        assert {reason.name for reason in found} <= set(example.reasons)
        assert found[0].name == example.reasons[0]
        return
    assert proved, [reason.told() for reason in found]
    assert proved <= set(example.reasons)
    assert found[0].name in example.reasons


@pytest.mark.parametrize("kernel", UNRELATED, ids=lambda k: k.symbol)
def test_faults_of_no_known_kind_have_no_reason(kernel: Kernel, image: Image) -> None:
    failure = failure_of(kernel, image)
    causes = Causes(Options(tier="stepper"), MirrorTarget(), image)
    assert causes.explain(kernel, failure.case, failure.drawn) == [NONE]
