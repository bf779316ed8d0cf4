"""Kernels repeated inside the guest: what is counted, what is put back, what may not be timed."""

from __future__ import annotations

import pytest

from emu.bench import kernel_rounds, qemu
from emu.bench.build import CHIP_KERNELS, LINUX_KERNELS, find_image
from emu.bench.kernel_rounds import SIZES, KernelRounds, kernels_for_qemu
from emu.bench.qemu import QemuProgram
from emu.bench.reach import why_not_on_qemu
from emu.cpu.engine import Engine
from emu.cpu.options import EngineOptions
from emu.image import load_image
from emu.kernels import load_all
from emu.verify.errors import ToolError

needs_qemu = pytest.mark.skipif(bool(qemu.why_not()), reason=qemu.why_not())


@pytest.fixture(scope="module")
def engine(toolchain, tmp_path_factory):
    options = EngineOptions(cache_dir=tmp_path_factory.mktemp("cache"))
    return Engine(load_image(find_image(CHIP_KERNELS)), options)


@pytest.fixture
def small(monkeypatch):
    sizes = {"n": 20, "rows": 3, "cols": 17, "outs": 2, "heads": 2, "dh": 16}
    monkeypatch.setattr(kernel_rounds, "SIZES", sizes)


def test_no_kernel_is_left_out(engine):
    """Either it is measured, or QEMU lacks one of its instructions."""
    measured = {kernel.symbol for kernel in kernels_for_qemu(engine.image)}
    assert len(measured) > 50
    for symbol in load_all().keys() - measured:
        assert why_not_on_qemu(engine.image, symbol)


def test_sizes_are_of_dimensions_that_exist():
    assert set(SIZES) <= {dim.name for kernel in load_all().values() for dim in kernel.dims}


@pytest.mark.parametrize("symbol", ["scale_array", "residual_add", "rope", "xorshift32_array", "gemm_s8_c"])
def test_every_round_is_the_same(engine, small, symbol):
    """Instructions grow evenly, and the last round leaves what the first one does."""
    job = KernelRounds(load_all()[symbol], engine, None)
    seen, counts = [], []
    for rounds in (1, 2, 4):
        counts.append(job.on_engine(rounds)[0] - job.on_engine(rounds, is_empty=True)[0])
        job.on_engine(rounds)
        seen.append([job._layout.view(slot).tobytes() for slot in job._layout.slots])
    assert seen[0] == seen[1] == seen[2]
    assert counts[0] > 40
    assert counts == [counts[0], 2 * counts[0], 4 * counts[0]]


@needs_qemu
def test_engine_and_qemu_must_agree(engine, small, monkeypatch):
    with QemuProgram(find_image(LINUX_KERNELS)) as program:
        job = KernelRounds(load_all()["scale_array"], engine, program)
        job.must_agree()
        monkeypatch.setattr(job, "on_qemu", lambda rounds: 0)  # nothing has run there
        with pytest.raises(ToolError, match="scale_array: engine and QEMU differ in x"):
            job.must_agree()
