"""`emu bench kernels`: subjects agree before they are timed, figures are positive, missing peers are named."""

from __future__ import annotations

import json
import sys

import pytest
from click.testing import CliRunner

from emu.cli import main
from emu.verify import bench
from emu.verify.bench_peers import onnx_product, torch_product
from emu.verify.reference import reference_elf


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(bench, "_LEAST_SECONDS", 0.001)
    monkeypatch.setattr(
        bench,
        "_SIZES",
        {"gemm_s8": {"rows": 4, "outs": 8, "cols": 48}, "exp_array": {"n": 500}, "crc32_bytes": {"n": 99}},
    )


def test_figures(quick, tmp_path):
    out = tmp_path / "bench.json"
    result = CliRunner().invoke(main, ["bench", "kernels", "--rounds", "2", "--json", str(out)])
    assert result.exit_code == 0, result.output
    document = json.loads(out.read_text())
    rows = {r["kernel"]: r for r in document["kernels"]}
    assert rows["gemm_s8"]["amount"] == 4 * 8 * 48
    assert rows["gemm_s8"]["work"] == "MAC"
    assert rows["exp_array"]["amount"] == 500
    assert all(r["engine"] > 0 and r["mirror"] > 0 and r["mips"] > 0 for r in rows.values())
    assert document["cases_per_second"] > 1


def test_missing_peers_are_named(quick, monkeypatch):
    for name in ("onnx", "onnxruntime", "torch"):
        monkeypatch.setitem(sys.modules, name, None)
    for make in (onnx_product, torch_product):
        with pytest.raises(LookupError, match="not installed"):
            make(None, None)
    result = CliRunner().invoke(main, ["bench", "--help"])
    assert "kernels" in result.output


def test_a_wrong_subject_is_not_timed(quick, monkeypatch):
    from dataclasses import replace

    from emu.kernels import load_all
    from emu.verify.errors import ToolError
    from emu.verify.image_target import ImageTarget
    from emu.verify.options import Options

    kernel = load_all()["exp_array"]

    def wrong(x, y, n):
        kernel.mirror(x, y, n)
        y[0] += 1

    target = ImageTarget(reference_elf(), Options(elf=reference_elf(), bounds=False))
    with pytest.raises(ToolError, match="engine and mirror differ in y"):
        bench._measure(target, replace(kernel, mirror=wrong), None, 1)


def test_interleaved_takes_medians():
    order = []
    seconds = bench.interleaved([lambda: order.append("a"), lambda: order.append("b")], 3)
    assert len(seconds) == 2
    assert all(s >= 0 for s in seconds)
    assert "b" in order[: len(order) // 2]
