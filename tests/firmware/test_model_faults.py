"""Faults of models planted in the C sources: the first stage that differs is the one that the fault is in.

Compiled for this machine, with plain C twins in place of vector code.
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


PER_TOKEN = """
        float largest = 0.0f;
        for (int32_t r = 0; r < rows; r++) {
            uint32_t top = max_magnitude(x + r * x_stride, cols);
            q[r] = (int8_t)rne(column[r] * (127.0f / f32_from_bits(top)));
            largest = f32_from_bits(top) > largest ? f32_from_bits(top) : largest;
        }
        scale[c] = largest / 127.0f;
"""

FAULTS = (
    Fault(
        "final modulation read with stride 512",
        "models/t2i_condition.c",
        "return t->final_mod + branch * FINAL_MOD_STRIDE;",
        "return t->final_mod + branch * 512;",
        "s0.u.final.mod",
    ),
    Fault(
        "scale of the next row",
        "models/t2i_attention.c",
        "t->sx, ROWS, layer_at(t, id, 0, 0), WIDTH, WIDTH, y, WIDTH};",
        "t->sx + 1, ROWS, layer_at(t, id, 0, 0), WIDTH, WIDTH, y, WIDTH};",
        "s0.c.b0.proj",
    ),
    Fault(
        "row sum of softmax from the row before",
        "kernels/attention_q8.h",
        "        row.sq = sq[r];\n",
        "        row.sq = sq[r];\n        float before = row.sum;\n",
        "txt.b0.attn",
    ),
    Fault(
        "V quantized per token",
        "kernels/softmax_s8.c",
        "        if (quantize_row_s8(column, rows, q, q_stride, scale + c, 1, rows, &ignored) != EMU_OK) {\n"
        "            *bad = c;\n"
        "            return EMU_NOT_FINITE;\n"
        "        }\n",
        PER_TOKEN + "        (void)bad;\n        (void)ignored;\n",
        "txt.b0.attn",
    ),
    Fault(
        "scale of the next hidden group row",
        "models/t2i_mlp.c",
        "struct t2i_linear linear = {m->hidden, GROUP, m->sh, ROWS,",
        "struct t2i_linear linear = {m->hidden, GROUP, m->sh + 1, ROWS,",
        "s0.c.b0.mlp",
    ),
    Fault(
        "residual added before the gate",
        "kernels/layer_elements.c",
        "x[c] = x[c] + g[c] * y[c];",
        "x[c] = g[c] * (x[c] + y[c]);",
        "s0.c.b0.proj",
    ),
    Fault(
        "padding of the decoder from the row before",
        "kernels/conv3x3_rows.c",
        "if (line == 0 || source < 0 || source >= width)",
        "if (line == 0 || (source < 0 && line == in->x) || source >= width)",
        "dec.conv0",
    ),
    Fault(
        "upsampling index rounded",
        "kernels/conv3x3_rows.c",
        "copy_pixel(in, line + (source >> in->up) * channels, to);",
        "copy_pixel(in, line + ((source + in->up) >> in->up) * channels, to);",
        "dec.conv3",
    ),
    Fault(
        "guidance branches swapped",
        "models/t2i.c",
        "flow_step(t->z, v, v + LATENT,",
        "flow_step(t->z, v + LATENT, v,",
        "s0.z",
    ),
    Fault(
        "order of a pair of normals swapped",
        "numerics/random.c",
        "        y[i] = pair.z0;\n        if (n - i > 1)\n            y[i + 1] = pair.z1;\n",
        "        y[i] = pair.z1;\n        if (n - i > 1)\n            y[i + 1] = pair.z0;\n",
        "z.init",
    ),
    Fault(
        "shift and scale swapped",
        "models/t2i_denoise.c",
        "status = normed_rows(t, stage, 1, m, m + WIDTH, stride);",
        "status = normed_rows(t, stage, 1, m + WIDTH, m, stride);",
        "s0.c.b0.ln1",
    ),
    Fault(
        "cache written one position late",
        "models/tinylm_layer.c",
        "HEAD_WIDTH, s->position, POSITIONS,",
        "HEAD_WIDTH, s->position + 1, POSITIONS,",
        "p0.l0.attn",
        "tinylm",
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
SECOND_CHANGES = {
    "row sum of softmax from the row before": (
        "float a = 1.0f / (row.sum * 127.0f);",
        "float a = 1.0f / ((r > 0 ? before : row.sum) * 127.0f);",
    ),
    "V quantized per token": ('#include "softmax.h"', '#include "quantize.h"\n#include "softmax.h"'),
}


def planted(fault: Fault, folder: Path) -> ctypes.CDLL:
    """The sources with the fault, compiled."""
    sources = Path(shutil.copytree(FIRMWARE, folder / "firmware"))
    path = sources / fault.file
    text = path.read_text()
    for old, new in ((fault.old, fault.new), SECOND_CHANGES.get(fault.name, ("", ""))):
        assert not old or text.count(old) == 1, f"{fault.file} has changed: {old}"
        text = text.replace(old, new) if old else text
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
