"""Specs of models: the worked example of docs/your-models.md, built and run, and what can be wrong."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from emu.cli import main
from emu.kernels.spec import REGISTRY
from emu.toolchain import Toolchain
from emu.toolchain.build import firmware_folder
from emu.verify.modelspec import MODELS
from tests.robust.odd_image import SCRIPT

DOC = Path(__file__).parents[2] / "docs" / "your-models.md"
START = "void _start(void) { for (;;) ; }\n"
FLAGS = ("-O1", "-g", "-ffreestanding", "-fno-inline")


def block(language: str, name: str) -> str:
    """The code block of the page that names itself in its first line."""
    for code in re.findall(rf"```{language}\n(.*?)```", DOC.read_text(), re.DOTALL):
        if name in code.splitlines()[0]:
            return code
    raise AssertionError(f"{DOC} has no {language} block {name}")


class Bench:
    """Builds net.c in one folder and runs `emu verify` on it."""

    def __init__(self, toolchain: Toolchain, folder: Path) -> None:
        self.toolchain, self.folder = toolchain, folder
        for name in ("mymodel.py", "mymodel_places.py"):
            (folder / name).write_text(block("python", name))
        (folder / "net.ld").write_text(SCRIPT)

    def elf(self, name: str, changes: tuple[tuple[str, str], ...] = (), taps: bool = True) -> Path:
        text = block("c", "net.c")
        for old, new in changes:
            assert text.count(old) == 1
            text = text.replace(old, new)
        (self.folder / f"{name}.c").write_text(text + START)
        flags = [*FLAGS, f"-I{firmware_folder() / 'include'}", *(["-DEMU_TAPS"] if taps else [])]
        self.toolchain.compile(self.folder / f"{name}.c", self.folder / f"{name}.o", flags)
        elf = self.folder / f"{name}.elf"
        self.toolchain.link([self.folder / f"{name}.o"], elf, self.folder / "net.ld")
        return elf

    def verify(self, elf: Path, spec: str, *more: str) -> Result:
        MODELS.clear()
        words = ["verify", "--elf", str(elf), "--spec", str(self.folder / spec), "--tier", "stepper"]
        return CliRunner().invoke(main, [*words, *more])


@pytest.fixture(scope="module")
def bench(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(toolchain, tmp_path_factory.mktemp("net"))


def test_the_worked_example_is_equal(bench: Bench):
    result = bench.verify(bench.elf("right"), "mymodel.py")
    assert result.exit_code == 0, result.output
    assert "net_run: equal; 20 examples, 60 stages equal" in result.output


def test_nothing_is_left_of_a_tap_that_is_off(bench: Bench):
    elf = bench.elf("off", taps=False)
    assert b"emu_stage_seen" not in elf.read_bytes()
    result = bench.verify(elf, "mymodel.py")
    assert result.exit_code == 2
    assert "shows no stages" in result.output
    assert "-DEMU_TAPS" in result.output


@pytest.mark.parametrize(
    ("old", "new", "stage"),
    [
        ("sum >> 3", "sum / 8", "conv"),
        ("x[i] > 0 ? x[i] : 0", "x[i] > 1 ? x[i] : 0", "relu"),
        ("w[o * N + i]", "w[i * OUTS + o]", "logits"),
    ],
)
def test_the_first_wrong_stage_is_named(bench: Bench, tmp_path: Path, old: str, new: str, stage: str):
    elf = bench.elf(f"wrong_{stage}", ((old, new),))
    result = bench.verify(elf, "mymodel.py", "--json", str(tmp_path / "r.json"), "--out", str(tmp_path))
    assert result.exit_code == 1, result.output
    assert f"first wrong stage: {stage} (" in result.output
    found = json.loads((tmp_path / "r.json").read_text())["models"][0]
    assert found["first_wrong"] == stage
    assert found["equal_before"] == ["conv", "relu", "logits"][: ["conv", "relu", "logits"].index(stage)]
    assert found["difference"]["count"] >= 1
    assert Path(found["case_file"]).is_file()
    again = bench.verify(elf, "mymodel.py", "--example", str(found["example"]))
    assert again.exit_code == 1


def test_places_do_without_taps(bench: Bench):
    result = bench.verify(bench.elf("plain", taps=False), "mymodel_places.py")
    assert result.exit_code == 0, result.output
    assert "40 stages equal" in result.output
    changes = (("x[i] > 0 ? x[i] : 0", "x[i] > 1 ? x[i] : 0"),)
    wrong = bench.verify(bench.elf("plain_wrong", changes, taps=False), "mymodel_places.py")
    assert wrong.exit_code == 1
    assert "first wrong stage: relu (equal before it: conv)" in wrong.output


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"conv", hidden, EMU_TAP_S8, N', '"conv", hidden, EMU_TAP_S8, N - 1', "shows 15 elements of int8"),
        ('"conv", hidden, EMU_TAP_S8, N', '"conv", hidden, EMU_TAP_U8, N', "elements of uint8"),
        ('"conv", hidden, EMU_TAP_S8, N', '"conv1", hidden, EMU_TAP_S8, N', "never showed this stage"),
        ('"conv", hidden, EMU_TAP_S8, N', '"conv", (void *)64, EMU_TAP_S8, N', "are not in memory"),
    ],
)
def test_stages_that_do_not_fit_are_told(bench: Bench, old: str, new: str, message: str):
    result = bench.verify(bench.elf("unfit", ((old, new),)), "mymodel.py")
    assert result.exit_code == 1, result.output
    assert message in result.output


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('yield "conv", a', 'yield "conv"', "not (NAME, ARRAY)"),
        ('yield "relu", a', 'yield "conv", a', "yielded stage 'conv' twice"),
        ('yield "conv", a', 'yield "conv", a.astype(np.float64)', "is float64"),
    ],
)
def test_mirrors_that_cannot_be_used_are_told(bench: Bench, old: str, new: str, message: str):
    (bench.folder / "bad.py").write_text(block("python", "mymodel.py").replace(old, new))
    result = bench.verify(bench.elf("right2"), "bad.py")
    assert result.exit_code == 5, result.output
    assert message in result.output


def test_a_place_that_is_none_is_told(bench: Bench):
    text = block("python", "mymodel_places.py").replace('At("relu", "arg0")', 'At("nowhere", "arg0")')
    (bench.folder / "places.py").write_text(text)
    result = bench.verify(bench.elf("plain2", taps=False), "places.py")
    assert result.exit_code == 2, result.output
    assert "nowhere" in result.output


KERNEL_SPEC = """
import numpy as np
from emu.kernels.spec import Tensor, kernel


@kernel("relu", Tensor("x", "int8", (16,), role="inout", values="s8_full"))
def relu(x):
    np.maximum(x, 0, out=x)


@kernel("dense", Tensor("x", "int8", (16,), values="s8"), Tensor("w", "int8", (4, 16), values="s8"),
        Tensor("y", "int32", (4,), role="out"))
def dense(x, w, y):
    y[:] = w.reshape(4, 16).astype(np.int32) @ x.astype(np.int32)
"""
RELU = (("x[i] > 0 ? x[i] : 0", "x[i] > 1 ? x[i] : 0"),)


@pytest.mark.parametrize(("spec", "taps"), [("mymodel.py", True), ("mymodel_places.py", False)])
def test_a_model_of_yours_is_bisected_down_to_the_line(bench: Bench, tmp_path: Path, spec: str, taps: bool):
    for symbol in ("relu", "dense"):
        REGISTRY.pop(symbol, None)
    MODELS.clear()
    (bench.folder / "kernels.py").write_text(KERNEL_SPEC)
    good, bad = bench.elf(f"good{taps}", taps=taps), bench.elf(f"bad{taps}", RELU, taps=taps)
    words = ["bisect", "spec", bench.folder / spec, "--elf", bad, "--good", good]
    words += ["--kernels", bench.folder / "kernels.py", "--out", tmp_path, "--json", tmp_path / "r.json"]
    result = CliRunner().invoke(main, [*map(str, words)])
    assert result.exit_code == 1, result.output
    found = json.loads((tmp_path / "r.json").read_text())
    assert found["stage"]["first"] == "relu"
    assert found["stage"]["wrong_on_golden_inputs"] == ["relu"]
    assert found["culprit"] == "relu", result.output
    assert found["kernel"]["smallest"]["nonzero_inputs"] == 1
    assert found["instruction"]["where"]["symbol"] == "relu"


def test_an_image_that_shows_no_stage_is_refused(bench: Bench, tmp_path: Path):
    MODELS.clear()
    elf = bench.elf("untapped", RELU, taps=False)
    words = ["bisect", "spec", bench.folder / "mymodel.py", "--elf", elf, "--out", tmp_path]
    result = CliRunner().invoke(main, [*map(str, words)])
    assert result.exit_code == 2, result.output
    assert "shows no stages: build it with -DEMU_TAPS" in result.output


def test_an_equal_model_of_yours_has_nothing_to_bisect(bench: Bench, tmp_path: Path):
    MODELS.clear()
    words = ["bisect", "spec", bench.folder / "mymodel.py", "--elf", bench.elf("equal"), "--out", tmp_path]
    result = CliRunner().invoke(main, [*map(str, words)])
    assert result.exit_code == 0, result.output
    assert "equal: 60 stages compared" in result.output
