"""The models of the reference image on the CPU engine against the same sources compiled for this machine.

Vector code against its plain C twins, windowed calls, the chip's arithmetic: every stage of every model.
"""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest

from emu.cpu.engine import Engine
from emu.cpu.group import EngineGroup
from emu.cpu.options import EngineOptions
from emu.cpu.schedule import Schedule
from emu.cpu.traps import Trap, TrapKind
from emu.image import load_image
from tests.firmware import host_models as h
from tests.firmware.host_models import HostRun, classify, draw, generate
from tests.firmware.image_models import GOLDEN, ImageRun

PROMPT = "Пожилой мужчина с бородой, в очках".encode()  # noqa: RUF001
INTERNAL_SRAM = 288 * 1024
TOKENS = [257, 4095, 0, *range(300, 315)]
STRICT = {"bounds": True, "check_init": True}


def engine_of(**options: object) -> Engine:
    return Engine(load_image(GOLDEN), EngineOptions(**options))  # type: ignore[arg-type]


def test_picture(
    host_firmware: ctypes.CDLL, t2i_model: np.ndarray, capsys: pytest.CaptureFixture[str]
) -> None:
    """One step and the decoder; the arena's high-water mark is printed and must fit internal SRAM."""
    host = draw(HostRun(host_firmware), t2i_model, PROMPT)
    image = ImageRun(engine_of())
    request, rgb = image.t2i_request(PROMPT, 1)
    model = image.put(t2i_model.tobytes())
    assert image.call("t2i_run", model, len(t2i_model), request) == 0
    assert image.stages() == host.stages
    assert image.memory.read(rgb, 12288) == host.result.tobytes()
    high = image.results().arena_high
    with capsys.disabled():
        print(f"\n  t2i: {high:,} bytes of the arena used, {INTERNAL_SRAM:,} allowed")
    assert 200_000 < high <= INTERNAL_SRAM


def test_picture_in_exactly_the_memory_it_needs(t2i_model: np.ndarray) -> None:
    """Under the permission map: nothing outside the arena, nothing that was never written."""
    image = ImageRun(engine_of(**STRICT), arena_bytes=286_800)
    request, _ = image.t2i_request(PROMPT, 1)
    assert image.call("t2i_run", image.put(t2i_model.tobytes()), len(t2i_model), request) == 0
    assert image.results().arena_high == 286_800


@pytest.mark.parametrize("options", [{}, STRICT], ids=["plain", "permission map"])
def test_ternary(host_firmware: ctypes.CDLL, ternary_model: np.ndarray, options: dict[str, bool]) -> None:
    host = classify(HostRun(host_firmware), ternary_model, b"17+4")
    image = ImageRun(engine_of(**options))
    model = image.put(ternary_model.tobytes())
    assert image.call("ternary_run", model, len(ternary_model), image.ternary_request(b"17+4")) == 0
    assert image.stages() == host.stages


@pytest.mark.parametrize("options", [{}, STRICT], ids=["plain", "permission map"])
def test_tinylm(host_firmware: ctypes.CDLL, tinylm_model: np.ndarray, options: dict[str, bool]) -> None:
    host = generate(HostRun(host_firmware), tinylm_model, TOKENS)
    image = ImageRun(engine_of(**options))
    lm, logits = image.room(1024), image.room(4 * 4096)
    model = image.put(tinylm_model.tobytes())
    assert image.call("tinylm_start", model, len(tinylm_model), 5, lm) == 0
    for token in TOKENS:
        assert image.call("tinylm_step", lm, token, logits) == 0
    assert image.stages() == host.stages


# --- two cores ------------------------------------------------------------------------------------------
ROWS = np.random.default_rng(5).standard_normal((32, 128), np.float32)


def layer_on_host(library: ctypes.CDLL, file: np.ndarray) -> dict[str, tuple[int, int, int]]:
    """Stages of the first layer of the ternary model on one core."""
    host, model, fault, x = HostRun(library), h.Model(), h.ModelFault(), ROWS.copy()
    place = h.POINTER(file.ctypes.data), h.U32(len(file))
    assert library.emu_model_open(*place, 2, 1, ctypes.byref(model), ctypes.byref(fault)) == 0
    status = library.ternary_layers(
        ctypes.byref(model), 0, 1, h.POINTER(x.ctypes.data), ctypes.byref(host.run)
    )
    return host.outcome(status).stages


class TwoCores:
    """An image on two cores, ready for the first layer of the ternary model."""

    def __init__(self, elf: Path, file: np.ndarray, schedule: Schedule | None = None) -> None:
        self.group = EngineGroup(load_image(elf), EngineOptions(), schedule)
        self.image = image = ImageRun(self.group.cores[0].engine, flags=1, parallel=True)
        self.model, self.x = image.room(1024), image.put(ROWS.tobytes())
        words = image.put(file.tobytes()), len(file), 2, 1, self.model, image.room(16)
        assert image.engine.call("emu_model_open", words).s32 == 0

    def layer(self) -> dict[str, tuple[int, int, int]]:
        """Compute it on core 0; the stages."""
        words = [self.model, 0, 1, self.x, self.image.run]
        assert self.group.call("ternary_layers", words, budget=500_000_000).s32 == 0
        return self.image.stages()

    def run(self) -> dict[str, tuple[int, int, int]]:
        """The same with core 1 serving jobs."""
        self.group.start(1, "par_worker", [self.image.job])
        stages = self.layer()
        self.group.start(0, "par_stop", [self.image.job])
        self.group.run(1, budget=1_000_000)
        served = self.group.cores[1].result
        assert served is not None
        assert served.a2 == 5  # four BitLinears and the heads
        return stages


@pytest.mark.parametrize("schedule", [Schedule(None, 20_000), Schedule(1, 50_000)], ids=str)
def test_two_cores_give_the_same_bits(
    host_firmware: ctypes.CDLL, ternary_model: np.ndarray, schedule: Schedule
) -> None:
    assert TwoCores(GOLDEN, ternary_model, schedule).run() == layer_on_host(host_firmware, ternary_model)


def test_a_worker_that_never_comes_is_a_deadlock(ternary_model: np.ndarray) -> None:
    with pytest.raises(Trap) as caught:
        TwoCores(GOLDEN, ternary_model).layer()
    assert caught.value.kind is TrapKind.DEADLOCK
    assert "par_two_cores" in str(caught.value)


@pytest.mark.long
def test_a_picture_on_two_cores(t2i_model: np.ndarray, capsys: pytest.CaptureFixture[str]) -> None:
    """Eight steps and the decoder, turns drawn at random: the digests of one core, stage by stage."""
    alone = ImageRun(engine_of())
    request, rgb = alone.t2i_request(PROMPT, 8)
    assert alone.call("t2i_run", alone.put(t2i_model.tobytes()), len(t2i_model), request) == 0
    group = EngineGroup(load_image(GOLDEN), EngineOptions(), Schedule(11, 2_000_000))
    both = ImageRun(group.cores[0].engine, parallel=True)
    request, rgb_of_both = both.t2i_request(PROMPT, 8)
    words = [both.put(t2i_model.tobytes()), len(t2i_model), request, both.run]
    group.start(1, "par_worker", [both.job])
    assert group.call("t2i_run", words, budget=20_000_000_000).s32 == 0
    group.start(0, "par_stop", [both.job])
    group.run(1, budget=10_000_000)
    served = group.cores[1].result
    assert served is not None
    assert served.a2 > 2000
    assert both.stages() == alone.stages()
    assert len(both.stages()) == 8 + 84 * 8 + 12
    assert both.memory.read(rgb_of_both, 12288) == alone.memory.read(rgb, 12288)
    with capsys.disabled():
        executed, jobs = group.executed, served.a2
        print(f"\n  t2i on two cores: {executed:,} instructions, {jobs:,} jobs served by core 1")
