"""The two lines of each README are run in a clean copy of the examples; planted faults are found."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from emu.toolchain import Toolchain

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = sorted(p.parent.name for p in (ROOT / "examples").glob("*/spec.py"))
MOST_LINES = 40


@dataclass(frozen=True)
class Planted:
    """A fault: ``old`` becomes ``new`` in a source; the kernel that must show it, and the verdict."""

    example: str
    file: str
    old: str
    new: str
    kernel: str
    verdict: str = "mismatch"


FAULTS = [
    # rounds halves of negative numbers up instead of away from zero
    Planted("int8_layer", "layer.c", "(mask >> 1) + (x < 0)", "(mask >> 1)", "requantize"),
    Planted("int8_layer", "layer.c", "product >= 0 ? 1 << 30 : 1 - (1 << 30)", "1 << 30", "dense_s8"),
    Planted("int8_layer", "layer.c", "v < requant->lowest ?", "v < -128 ?", "dense_s8"),
    # one element too many for the block: found by the guard zone of the heap
    Planted(
        "int8_layer",
        "layer.c",
        "memcpy(sums, bias, rows *",
        "memcpy(sums, bias, (rows + 1) *",
        "dense_s8",
        "board fault",
    ),
    # the accumulator holds what was in it before
    Planted("pie_kernels", "kernels.S", "ee.zero.accx", "nop", "dot_s8"),
    Planted("pie_kernels", "kernels.S", "ee.vmax.s8 q0, q0, q2", "ee.vmax.s16 q0, q0, q2", "add_relu_s8"),
    Planted("cpp_layer", "layers.cpp", "(exact + (1 << 15)) >> 16", "exact >> 16", "nn::Dense::run"),
    Planted("cpp_layer", "layers.cpp", "row += cols_", "row += cols_ & ~1", "nn::Dense::run"),
    # the object counts its calls: state that a method changes is compared too
    Planted("cpp_layer", "layers.cpp", "calls_++;\n    const", "calls_ += 2;\n    const", "nn::Dense::run"),
    Planted("cpp_layer", "main.cpp", "{ &pool, &dense }", "{ &dense, &dense }", "network"),
]


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The examples as in a fresh clone: nothing is built."""
    shutil.copytree(
        ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("build", "__pycache__")
    )
    return tmp_path


def run(line: str, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """A line of a README, with this Python as ``python`` and this checkout's ``emu``."""
    program, *words = line.split()
    start = [sys.executable, "-m", "emu.cli"] if program == "emu" else [sys.executable]
    return subprocess.run(
        [*start, *words, *more],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )


def lines(example: str) -> list[str]:
    """The commands of an example's README."""
    page = (ROOT / "examples" / example / "README.md").read_text()
    (block,) = re.findall(r"^```bash\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    return block.splitlines()


@pytest.mark.usefixtures("toolchain")
@pytest.mark.parametrize("example", EXAMPLES)
def test_the_two_lines_of_its_readme_verify_an_example(example: str, clone: Path) -> None:
    build, verify = lines(example)
    built = run(build, clone)
    assert built.returncode == 0, built.stdout + built.stderr
    done = run(verify, clone, "--no-memory")
    assert done.returncode == 0, done.stdout + done.stderr
    kernels = (clone / "examples" / example / "spec.py").read_text().count("@kernel")
    assert f"{kernels} kernels: {kernels} equal" in done.stdout


@pytest.mark.parametrize("example", EXAMPLES)
def test_a_spec_is_short(example: str) -> None:
    assert len((ROOT / "examples" / example / "spec.py").read_text().splitlines()) < MOST_LINES


def test_the_table_names_every_example() -> None:
    page = (ROOT / "examples" / "README.md").read_text()
    assert sorted(re.findall(r"\| \[(\w+)\]\(\w+\)", page)) == EXAMPLES
    assert {fault.example for fault in FAULTS} == set(EXAMPLES)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda f: f"{f.example}-{FAULTS.index(f)}")
def test_a_planted_fault_is_found(fault: Planted, clone: Path, toolchain: Toolchain) -> None:
    source = clone / "examples" / fault.example / fault.file
    text = source.read_text()
    assert text.count(fault.old) == 1
    source.write_text(text.replace(fault.old, fault.new))
    build, verify = lines(fault.example)
    built = run(build, clone)
    assert built.returncode == 0, built.stdout + built.stderr
    done = run(verify, clone, "--no-memory", "--kernel", fault.kernel)
    assert done.returncode == {"mismatch": 1, "board fault": 4}[fault.verdict], done.stdout + done.stderr
    assert f"{fault.verdict}: {fault.kernel}" in done.stdout
    if fault.kernel == "dense_s8" and fault.verdict == "mismatch":
        assert re.search(r"printed +I \(0\) dense: \d+ outputs", done.stdout)
