"""Sizes that the specification states, and the tensors that the firmware's header lists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from emu.models.modelfile.kinds import Kind, layout_of
from emu.models.modelfile.reasons import Reason
from emu.models.modelfile.tensors import NAME_BYTES, DType
from emu.models.names import t2i_stages, ternary_stages, tinylm_stages
from emu.models.t2i import sizes
from tests.models.files import KINDS, random_bytes

HEADER = (Path(__file__).parents[2] / "firmware" / "include" / "emu_models.h").read_text()


def test_parameters_and_bytes():
    parameters = {kind: sum(s.parameters for s in layout_of(kind)) for kind in KINDS}
    assert parameters[Kind.T2I] == 3_093_667
    assert parameters[Kind.TINYLM] == 4_120_768
    text = [s for s in layout_of(Kind.T2I) if s.name.startswith("txt.")]
    assert sum(s.parameters for s in text) == 285_504
    decoder = [s for s in layout_of(Kind.T2I) if s.name.startswith("dec.")]
    assert sum(s.parameters for s in decoder) == 178_707
    assert 3_270_000 < len(random_bytes(Kind.T2I)) < 3_300_000


def test_packed_sizes():
    ternary = [s for s in layout_of(Kind.TERNARY) if s.dtype is DType.TERNARY]
    assert len(ternary) == 16
    assert sum(s.rows * s.cols for s in ternary) == 524_288
    assert sum(s.length for s in ternary) == 131_072
    tinylm = layout_of(Kind.TINYLM)
    assert sum(s.length for s in tinylm if s.dtype is DType.INT4) == 2_059_520
    assert sum(s.length for s in tinylm if s.dtype is DType.F16) == 134_560


def test_multiplications_of_a_picture():
    assert sizes.picture_macs(8, 4) == 2_652_948_480
    assert sizes.decoder_macs() == 225_902_592


@pytest.mark.parametrize(("kind", "count"), [(Kind.T2I, 175), (Kind.TERNARY, 44), (Kind.TINYLM, 117)])
def test_tensors_of_the_header(kind, count):
    layout = layout_of(kind)
    assert len(layout) == len({s.name for s in layout}) == count
    assert f"{count} tensors" in HEADER
    assert all(0 < len(s.name) < NAME_BYTES for s in layout)


def test_reasons_are_those_of_the_header():
    found = {name: int(value) for name, value in re.findall(r"MODEL_(\w+) = (\d+)", HEADER)}
    assert found == {reason.name: int(reason) for reason in Reason}


def test_stage_counts():
    assert len(t2i_stages(8)) == len(set(t2i_stages(8))) == 692
    assert [len(t2i_stages(n)) for n in (1, 64)] == [8 + 84 * n + 12 for n in (1, 64)]
    assert len(ternary_stages()) == 27
    assert len(set(tinylm_stages(range(3)))) == 99
    assert max(map(len, [*t2i_stages(64), *ternary_stages(), *tinylm_stages([255])])) < 24
