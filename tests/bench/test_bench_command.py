"""`emu bench` end to end in small sizes: figures, bounds, files, missing peers, wrong input."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from click.testing import CliRunner

from emu.bench import (
    engine_subjects,
    kernel_rounds,
    kernel_subjects,
    native,
    programs,
    qemu,
    suite_engine,
    suite_kernels,
    suite_mirror,
)
from emu.bench.probe import probing
from emu.cli import main
from emu.cpu.engine import Engine
from emu.cpu.options import EngineOptions
from emu.image import load_image
from emu.verify.reference import reference_elf

QUICK = ["--rounds", "1", "--seconds", "0.001"]


@pytest.fixture
def small(monkeypatch):
    few = [replace(programs.program(n), size=n_size) for n, n_size in (("random", 16), ("fibonacci", 5))]
    monkeypatch.setattr(engine_subjects, "PROGRAMS", few)
    monkeypatch.setattr(kernel_rounds, "SIZES", {"n": 40, "cols": 33, "rows": 2})
    monkeypatch.setattr(
        kernel_subjects, "SIZES", {"exp_array": {"n": 50}, "dot_rows_s8": {"rows": 2, "cols": 33}}
    )
    monkeypatch.setattr(suite_kernels, "SIZES", kernel_subjects.SIZES)
    monkeypatch.setattr(suite_kernels, "ROWS", 2)
    monkeypatch.setattr(suite_kernels, "OUTS", 3)
    monkeypatch.setattr(suite_mirror, "SHAPES", ((2, 33, 5),))


def bench(tmp_path, *arguments):
    out = tmp_path / "bench.json"
    result = CliRunner().invoke(main, ["bench", *arguments, *QUICK, "--json", str(out)], terminal_width=200)
    assert result.exit_code == 0, result.output
    (suite,) = json.loads(out.read_text())["suites"]
    return suite, result.output


def positive(table):
    cells = [cell for row in table["rows"].values() for cell in row.values() if "median" in cell]
    return cells and all(len(cell["each"]) == 1 and min(cell["each"]) > 0 for cell in cells)


def test_engine(small, toolchain, tmp_path):
    suite, output = bench(tmp_path, "engine", "--kernel", "exp_array", "--kernel", "gemm_s8*")
    speeds, ratios, translation = suite["tables"]
    assert positive(speeds)
    assert positive(ratios)
    assert positive(translation)
    assert set(translation["rows"]) == {"quick, at first", "full, when a unit has run often"}
    programs = {"random (16)", "fibonacci (5)"}
    if "qemu" in suite["missing"]:
        assert set(speeds["rows"]) == programs
        return
    assert set(speeds["rows"]) == {"exp_array", "gemm_s8_c"} | programs, "gemm_s8 is vector code"
    subjects = [b["subject"].partition(",")[0] for b in suite["bounds"]]
    assert subjects[:4] == [
        "scalar suite (C kernels and classic programs)",
        "C kernels",
        "classic programs",
        "other programs",
    ]
    assert [b["limit"] for b in suite["bounds"][:9]] == [5.0] * 4 + [1.0] * 4 + [10.0]
    assert "scalar suite (C kernels and classic programs), 3: " in suite["bounds"][0]["subject"]
    assert "Million guest instructions a second" in output


def test_engine_without_peers(small, tmp_path, monkeypatch):
    monkeypatch.setattr(qemu, "why_not", lambda: "qemu-xtensa is not installed (apt-get install qemu-user)")
    monkeypatch.setattr(native, "why_not", lambda: "gcc is not installed (apt-get install gcc)")
    monkeypatch.setattr(suite_engine, "measure_translation", lambda settings, report: None)
    suite, output = bench(tmp_path, "engine")
    assert set(suite["missing"]) == {"qemu", "native"}
    assert "apt-get install qemu-user" in output
    assert suite["tables"][0]["rows"]["random (16)"]["qemu"] == {"absent": "missing"}
    assert set(suite["tables"][0]["rows"]) == {"random (16)", "fibonacci (5)"}


def test_kernels(small, tmp_path):
    page = tmp_path / "performance.md"
    suite, _ = bench(tmp_path, "kernels", "--markdown", str(page))
    assert all(positive(table) for table in suite["tables"])
    assert [b["limit"] for b in suite["bounds"]] == [1.0, 1.0, 2.0, 2.0]
    assert "## `emu bench kernels --rounds 1 --seconds 0.001`" in page.read_text()
    chosen, _ = bench(tmp_path, "kernels", "--kernel", "exp_*")
    assert list(chosen["tables"][2]["rows"]) == ["exp_array, element"]


def test_mirror(small, tmp_path):
    suite, _ = bench(tmp_path, "mirror")
    assert positive(suite["tables"][0])
    assert suite["notes"][0].startswith("variant of the mirror: ")


def test_verify(small, tmp_path):
    """One kernel, campaigns in fresh processes with fresh caches."""
    suite, _ = bench(tmp_path, "verify", "--examples", "6", "--kernel", "relu_in_place")
    campaigns, targets = suite["tables"]
    assert campaigns["rows"]["cold"]["translating, share"]["median"] > 0
    made = {name: row["units made"]["median"] for name, row in campaigns["rows"].items()}
    assert made["cold"] > 0
    assert made["warm"] == 0, "units that the campaign before had kept were made again"
    assert set(targets["rows"]) == {"relu_in_place"}
    assert [b["subject"] for b in suite["bounds"]] == ["cold, translating and slow tier, share"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["kernels", "--kernel", "exp_arr"], "did you mean exp_array"),
        (["kernels", "--elf", "/nowhere.elf"], "nowhere.elf"),
        (["nothing"], "'engine', 'kernels', 'mirror', 'verify', "),
        (["engine", "--rounds", "0"], "x>=1"),
    ],
)
def test_wrong_input_is_one_message(arguments, message):
    result = CliRunner().invoke(main, ["bench", *QUICK, *arguments], terminal_width=200)
    assert result.exit_code == 2
    assert message in result.output
    assert "Traceback" not in result.output


def test_the_probe_tells_the_tiers_apart_and_leaves_nothing_behind(tmp_path):
    image = load_image(reference_elf())
    before = Engine(image, EngineOptions(tier="stepper")).stepper.__class__.step
    with probing() as times:
        engine = Engine(image, EngineOptions(cache_dir=tmp_path))
        engine.call("crc32_bytes", [engine.arena.start, 100])
        assert times.translating > 0
        assert times.units >= 1
        assert times.instructions >= 10
        made, stepped = times.translating, times.stepping
        engine.call("crc32_bytes", [engine.arena.start, 100])
        assert times.translating == made
        Engine(image, EngineOptions(tier="stepper")).call("crc32_bytes", [engine.arena.start, 10])
        assert times.stepping > stepped
    assert Engine(image, EngineOptions(tier="stepper")).stepper.__class__.step is before
