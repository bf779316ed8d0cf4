"""Faults of models planted in the C sources: the first stage that differs is the one that the fault is in.

Compiled for this machine, with plain C twins in place of vector code. Faults of kernels are planted on the
image target in tests/quality; these are others, most of them between kernels.
"""

from __future__ import annotations

import ctypes
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from emu.models.names import t2i_stages, tinylm_stages
from tests.firmware.host_library import FIRMWARE, build
from tests.firmware.host_models import HostRun, Outcome, draw, generate

PROMPT = "лысый мужчина с бородой".encode()  # noqa: RUF001
TOKENS = [65, 300, 2]


@dataclass(frozen=True)
class Fault:
    """`old` becomes `new` in one file of firmware/; the stage in which it shows first."""

    name: str
    file: str
    old: str
    new: str
    stage: str
    model: str = "t2i"


FAULTS = (
    Fault(
        "scale of the next row",
        "models/t2i_attention.c",
        "t->sx, ROWS, layer_at(t, id, 0, 0), WIDTH, WIDTH, y, WIDTH};",
        "t->sx + 1, ROWS, layer_at(t, id, 0, 0), WIDTH, WIDTH, y, WIDTH};",
        "s0.c.b0.proj",
    ),
    Fault(
        "scale of the next hidden group row",
        "models/t2i_mlp.c",
        "struct t2i_linear linear = {m->hidden, GROUP, m->sh, ROWS,",
        "struct t2i_linear linear = {m->hidden, GROUP, m->sh + 1, ROWS,",
        "s0.c.b0.mlp",
    ),
    Fault(
        "guidance branches swapped",
        "models/t2i.c",
        "flow_step(t->z, v, v + LATENT,",
        "flow_step(t->z, v + LATENT, v,",
        "s0.z",
    ),
    Fault(
        "shift and scale swapped",
        "models/t2i_denoise.c",
        "status = normed_rows(t, stage, 1, m, m + WIDTH, stride);",
        "status = normed_rows(t, stage, 1, m + WIDTH, m, stride);",
        "s0.c.b0.ln1",
    ),
    Fault(
        "scale of the next int4 group",
        "kernels/linear_int4.h",
        "half_to_float(*scale++)",
        "half_to_float(*++scale)",
        "p0.ple",
        "tinylm",
    ),
    Fault(
        "position of RoPE from 1",
        "models/tinylm_layer.c",
        "rope(s->qkv, 2 * HEADS, HEAD_WIDTH, s->position, frequencies);",
        "rope(s->qkv, 2 * HEADS, HEAD_WIDTH, s->position + 1, frequencies);",
        "p0.l0.qkv",
        "tinylm",
    ),
)


def planted(fault: Fault, folder: Path) -> ctypes.CDLL:
    """The sources with the fault, compiled."""
    sources = Path(shutil.copytree(FIRMWARE, folder / "firmware"))
    path = sources / fault.file
    text = path.read_text()
    assert text.count(fault.old) == 1, f"{fault.file} has changed: {fault.old}"
    text = text.replace(fault.old, fault.new)
    path.write_text(text)
    return build(folder / "firmware.so", sources)


@pytest.fixture(scope="module")
def right(
    host_firmware: ctypes.CDLL, t2i_model: np.ndarray, tinylm_model: np.ndarray
) -> dict[str, tuple[Callable[[ctypes.CDLL], Outcome], Outcome]]:
    """For each model: how to run it, and what it does without a fault."""
    runs = {
        "t2i": lambda library: draw(HostRun(library), t2i_model, PROMPT),
        "tinylm": lambda library: generate(HostRun(library), tinylm_model, TOKENS),
    }
    return {name: (run, run(host_firmware)) for name, run in runs.items()}


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_first_stage_that_differs(
    fault: Fault, right: dict[str, tuple[Callable[[ctypes.CDLL], Outcome], Outcome]], tmp_path: Path
) -> None:
    run, good = right[fault.model]
    assert good.status == 0
    stages = run(planted(fault, tmp_path)).stages
    order = t2i_stages(1) if fault.model == "t2i" else tinylm_stages(range(len(TOKENS)))
    assert set(order) == set(good.stages)
    differing = [name for name in order if stages.get(name) != good.stages[name]]
    assert differing[0] == fault.stage
