"""The twelve planted model faults: bisecting names the right stage, the right kernel, and an instruction in
the changed file.
"""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from emu.bisect.command import tapless
from emu.bisect.findings import Finding
from emu.bisect.model import ModelBisect
from emu.bisect.model_runs import usual_runs
from emu.image import Image, load_image
from emu.kernels import load_all
from emu.toolchain import Toolchain
from emu.verify.reference import reference_elf
from tests.quality.planted import PLANTED, Planted, planted_image

KERNELS = tapless(dict(load_all()))


@pytest.fixture(scope="module")
def good() -> Image:
    return load_image(reference_elf())


def bisected(elf: Path, good: Image | None, fault: Planted) -> Finding:
    return ModelBisect(load_image(elf), good, KERNELS).run(usual_runs(fault.model))


@pytest.mark.parametrize("fault", PLANTED, ids=lambda fault: fault.name)
def test_stage_kernel_and_instruction(
    fault: Planted, toolchain: Toolchain, good: Image, record_property: pytest.RecordProperty
) -> None:
    elf = planted_image(fault, toolchain)
    started = time.monotonic()
    found = bisected(elf, good, fault)
    record_property("seconds", round(time.monotonic() - started, 1))
    assert found.stage is not None
    assert found.stage.stage == fault.stage
    assert found.stage.is_wrong_itself
    assert found.culprit == fault.kernel
    assert (found.kernel is None) == fault.between
    assert found.instruction is not None
    files = {place.file.removeprefix("firmware/") for place in found.places}
    assert files & set(fault.files), found.places
    if found.kernel is not None:
        assert found.kernel.smallest.weight <= 16
        assert found.kernel.smallest.outcome.bad


def test_an_equal_image_is_equal(good: Image) -> None:
    found = ModelBisect(good, None, KERNELS).run(list(usual_runs(PLANTED[4].model))[:1])
    assert found.equal
    assert found.compared == 33 * 3


def test_without_a_good_image_the_kernel_is_still_named(toolchain: Toolchain) -> None:
    fault = next(f for f in PLANTED if f.kernel == "normal_array")
    found = bisected(planted_image(fault, toolchain), None, fault)
    assert found.culprit == "normal_array"
    assert found.against == "the mirror"
    assert found.instruction is not None
    assert found.instruction.how == "last write"
    assert found.instruction.bad.where.file.endswith("random.c")
    # registers are those at the instruction, not those that the call ends with: the store's base is in data
    code = next(line for line in found.instruction.bad.context if "=>" in line)
    base = re.findall(r"\ba\d+\b", code)[-1]
    assert 0x3C000000 <= found.instruction.bad.registers[base] < 0x40000000, code


def test_without_a_good_image_a_fault_between_kernels_is_told_as_such(toolchain: Toolchain) -> None:
    fault = next(f for f in PLANTED if f.between)
    found = bisected(planted_image(fault, toolchain), None, fault)
    assert found.stage is not None
    assert found.stage.stage == fault.stage
    assert found.kernel is None
    assert any("between the kernels" in note for note in found.notes)
