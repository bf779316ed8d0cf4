"""QEMU, the engine's two tiers and native code, ready to run the same functions."""

from __future__ import annotations

import pytest

from emu.bench import native, qemu
from emu.bench.build import CHIP, LINUX, LINUX_KERNELS, find_image
from emu.bench.native import NativePrograms
from emu.bench.qemu import QemuProgram
from emu.bench.qemu_target import QemuTarget
from emu.cpu.engine import Engine
from emu.cpu.options import EngineOptions
from emu.image import load_image
from emu.toolchain import Toolchain
from emu.verify.image_target import ImageTarget
from emu.verify.options import Options
from emu.verify.reference import reference_elf
from tests.coverage_log import executed


def log_steps(engine: Engine) -> Engine:
    """The stepper's engine, with every instruction recorded as compared with QEMU (if anything records)."""
    step = engine.stepper.step

    def stepped() -> None:
        step()
        executed("qemu", engine.stepper)

    engine.stepper.step = stepped  # type: ignore[method-assign]
    return engine


@pytest.fixture(scope="session")
def programs_on_qemu():
    """The benchmark set under QEMU."""
    if qemu.why_not():
        pytest.skip(qemu.why_not())
    with QemuProgram(find_image(LINUX)) as running:
        yield running


@pytest.fixture(scope="session")
def natively() -> NativePrograms:
    """The benchmark set compiled for this machine."""
    if native.why_not():
        pytest.skip(native.why_not())
    return NativePrograms()


@pytest.fixture(scope="session")
def translated() -> Engine:
    """The benchmark set on the translator."""
    return Engine(load_image(find_image(CHIP)))


@pytest.fixture(scope="session")
def stepped() -> Engine:
    """The benchmark set on the reference stepper."""
    return log_steps(Engine(load_image(find_image(CHIP)), EngineOptions(tier="stepper")))


@pytest.fixture(scope="session")
def kernels_on_qemu(toolchain: Toolchain):
    """The firmware's kernels under QEMU."""
    if qemu.why_not():
        pytest.skip(qemu.why_not())
    target = QemuTarget(find_image(LINUX_KERNELS))
    yield target
    target.close()


def _kernels(tier: str) -> ImageTarget:
    return ImageTarget(reference_elf(), Options(elf=reference_elf(), tier=tier, bounds=False))


@pytest.fixture(scope="session")
def kernels_translated() -> ImageTarget:
    """The reference image on the translator."""
    return _kernels("translator")


@pytest.fixture(scope="session")
def kernels_stepped() -> ImageTarget:
    """The reference image on the reference stepper."""
    target = _kernels("stepper")
    log_steps(target.engine)
    return target
