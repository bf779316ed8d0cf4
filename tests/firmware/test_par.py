"""Work shared by two cores, in many orders of their instructions; faults of waiting are found."""

from __future__ import annotations

import shutil
import struct
from pathlib import Path

import numpy as np
import pytest

from emu.cpu.group import EngineGroup
from emu.cpu.options import EngineOptions
from emu.cpu.schedule import Schedule
from emu.cpu.traps import Trap
from emu.image import Image, load_image
from emu.toolchain import Toolchain
from emu.toolchain.build import build_firmware, firmware_folder

PROBE = """
#include "par.h"

int32_t probe_part(void *arg, int32_t first, int32_t end, int32_t core);
int32_t probe(struct emu_run *run, uint32_t *x, int32_t n, int32_t rounds);

int32_t probe_part(void *arg, int32_t first, int32_t end, int32_t core)
{
    uint32_t *x = arg;
    for (int32_t i = first; i < end; i++)
        x[i] = x[i] * 1664525u + 1013904223u + (uint32_t)i;
    return x[first] % 4096 == 0 ? 100 + core : 0;
}

/* Between the rounds core 0 moves every element to its neighbour: it needs what core 1 has just computed. */
int32_t probe(struct emu_run *run, uint32_t *x, int32_t n, int32_t rounds)
{
    int32_t status = 0;
    for (int32_t round = 0; round < rounds && status == 0; round++) {
        status = run_parts(run, probe_part, x, n);
        uint32_t last = x[n - 1];
        for (int32_t i = n - 1; i > 0; i--)
            x[i] = x[i - 1];
        x[0] = last;
    }
    return status;
}
"""
N, ROUNDS = 11, 12
WAIT = "    while (job->done != job->posted)\n        ;\n"
POSTED = "    job->posted++;\n"
FAULTS = {
    "core 0 does not wait": (WAIT, ""),
    "core 0 waits only for the first job": (WAIT, WAIT.replace("done != job->posted", "done == 0")),
    "the job is posted before it is written": (
        "    job->part = part;\n    job->arg = arg;\n    job->first = first;\n",
        "    job->posted++;\n    job->part = part;\n    job->arg = arg;\n    job->first = first;\n",
    ),
    "core 1 says done before it works": (
        "        job->status = job->part(job->arg, job->first, job->end, 1);\n",
        "        job->done = served + 1;\n"
        "        job->status = job->part(job->arg, job->first, job->end, 1);\n",
    ),
    "both cores take the middle element": (
        "post(job, part, arg, half, n)",
        "post(job, part, arg, half - 1, n)",
    ),
}


def image_with(toolchain: Toolchain, folder: Path, old: str = "", new: str = "") -> Image:
    """The firmware with the probe, and with one change of par.c."""
    sources = Path(shutil.copytree(firmware_folder(), folder / "firmware"))
    (sources / "models" / "probe.c").write_text(PROBE)
    par = sources / "models" / "par.c"
    text = par.read_text()
    assert not old or text.count(old) == 1
    text = text.replace(old, new) if old else text
    if new.startswith(POSTED):
        text = text.replace("    memory_barrier();\n" + POSTED, "")
    par.write_text(text)
    return load_image(build_firmware(toolchain, folder / "out", sources=sources).elf)


@pytest.fixture(scope="module")
def image(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Image:
    return image_with(toolchain, Path(tmp_path_factory.mktemp("probe")))


def expected(start: np.ndarray) -> np.ndarray:
    x = start.copy()
    for _ in range(ROUNDS):
        x = np.roll(x * np.uint32(1664525) + np.uint32(1013904223) + np.arange(N, dtype=np.uint32), 1)
    return x


def run(image: Image, schedule: Schedule, start: np.ndarray) -> tuple[int, np.ndarray, int]:
    """(status, elements, jobs that core 1 served)."""
    group = EngineGroup(image, EngineOptions(), schedule)
    memory, place = group.memory, group.cores[0].engine.arena.start
    x, job, context = place, place + 256, place + 512
    par = image.symbols.get("par_two_cores").address
    memory.write(x, start.tobytes())
    memory.write(job, bytes(32))
    memory.write(context, struct.pack("<9I", 0, 0, 0, 0, 0, 0, par, job, 0).ljust(108, b"\0"))
    group.start(1, "par_worker", [job])
    status = group.call("probe", [context, x, N, ROUNDS], budget=10_000_000).s32
    group.start(0, "par_stop", [job])
    group.run(1, budget=1_000_000)
    served = group.cores[1].result
    assert served is not None
    return status, np.frombuffer(memory.read(x, 4 * N), np.uint32), served.a2


START = np.arange(N, dtype=np.uint32) * np.uint32(0x01000193)


@pytest.mark.parametrize("longest", [1, 7, 60, 500])
def test_every_order_gives_the_same(image: Image, longest: int) -> None:
    for seed in (None, *range(12)):
        status, x, served = run(image, Schedule(seed, longest), START)
        assert (status, served) == (0, ROUNDS)
        assert (x == expected(START)).all(), (seed, longest)


def test_status_of_the_lower_core_counts(image: Image) -> None:
    """Core 0 fails in the first case, core 1 in the second, both in the third."""
    inverse = pow(1664525, -1, 1 << 32)
    failing = [(-(1013904223 + i) * inverse) % (1 << 32) for i in range(N)]
    half = (N + 1) // 2
    for elements, status in (((0,), 100), ((half,), 101), ((0, half), 100)):
        start = np.ones(N, np.uint32)
        for i in elements:
            start[i] = failing[i]
        assert run(image, Schedule(3, 50), start)[0] == status


@pytest.mark.parametrize("fault", sorted(FAULTS))
def test_fault_is_found(toolchain: Toolchain, tmp_path: Path, fault: str) -> None:
    """Some order out of a few dozen shows each: other elements, a trap, or a deadlock."""
    wrong = image_with(toolchain, tmp_path, *FAULTS[fault])
    for seed in range(40):
        try:
            status, x, served = run(wrong, Schedule(seed, 30), START)
        except Trap:
            return
        if (status, served) != (0, ROUNDS) or (x != expected(START)).any():
            return
    pytest.fail(f"{fault}: 40 orders gave the right result")
