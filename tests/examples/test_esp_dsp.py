"""examples/esp_dsp: its lines where ESP_DSP names a checkout of esp-dsp; what needs none, always."""

from __future__ import annotations

import os
import re
import runpy
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from emu.kernels.spec import REGISTRY

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "examples" / "esp_dsp"
OURS = """
    .text
    .align 4
    .global dsps_add_s16_ae32
    .type dsps_add_s16_ae32, @function
dsps_add_s16_ae32:
    entry a1, 16
    l32i a10, a1, 16
    l32i a9, a1, 20
    ssr a9
    loopnez a5, .end
    l16si a11, a2, 0
    l16si a8, a3, 0
    addx2 a2, a6, a2
    addx2 a3, a7, a3
    {operation} a8, a11, a8
    sra a8, a8
    s16i a8, a4, 0
    addx2 a4, a10, a4
.end:
    movi a2, 0
    retw
"""
"""A kernel of ours under the name of one of theirs: the build and the mirror need no checkout."""


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The examples as in a fresh clone: nothing is built."""
    ignored = shutil.ignore_patterns("build", "__pycache__")
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=ignored)
    return tmp_path


def run(words: list[str], folder: Path, checkout: Path | str) -> subprocess.CompletedProcess[str]:
    start = [sys.executable, "-m", "emu.cli"] if words[0] == "emu" else [sys.executable]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "ESP_DSP": str(checkout)}
    return subprocess.run(
        [*start, *words[1:]], cwd=folder, env=environment, capture_output=True, text=True, timeout=900
    )


def lines() -> list[list[str]]:
    """The commands of the README, without the variable."""
    (block,) = re.findall(r"^```bash\n(.*?)^```", (EXAMPLE / "README.md").read_text(), re.M | re.S)
    return [[w for w in line.split() if "ESP_DSP=" not in w] for line in block.splitlines()]


@pytest.mark.usefixtures("toolchain")
def test_both_lines_with_a_checkout(clone: Path) -> None:
    checkout = os.environ.get("ESP_DSP")
    if not checkout:
        pytest.skip("ESP_DSP names no checkout of espressif/esp-dsp, of which nothing is in this repository")
    build, verify = lines()
    built = run(build, clone, Path(checkout).resolve())
    assert built.returncode == 0, built.stdout + built.stderr
    if "not in this checkout" in built.stderr:
        pytest.skip(f"the checkout is of another release: {built.stderr}")
    done = run([*verify, "--no-memory", "--examples", "60"], clone, checkout)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"(\d+) kernels: \1 equal", done.stdout)


@pytest.mark.usefixtures("toolchain")
@pytest.mark.parametrize(("operation", "code"), [("add", 0), ("sub", 1)])
def test_a_kernel_of_that_name_is_built_and_judged(clone: Path, operation: str, code: int) -> None:
    source = clone / "checkout/modules/math/add/fixed/dsps_add_s16_ae32.S"
    source.parent.mkdir(parents=True)
    source.write_text(OURS.replace("{operation}", operation))
    (clone / "checkout/modules/common").mkdir()
    build, verify = lines()
    built = run(build, clone, clone / "checkout")
    assert built.returncode == 0, built.stdout + built.stderr
    assert "not in this checkout: modules/math/mulc/fixed/dsps_mulc_s16_ae32.S" in built.stderr
    chosen = ["--kernel", "dsps_add_s16_ae32", "--examples", "40", "--no-memory"]
    done = run([*verify, *chosen], clone, "")
    assert done.returncode == code, done.stdout + done.stderr


@pytest.mark.parametrize("checkout", ["", "/nowhere"])
def test_without_a_checkout_the_build_says_what_it_wants(clone: Path, checkout: str) -> None:
    build, _ = lines()
    done = run(build, clone, checkout)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "ESP_DSP must name a checkout of esp-dsp (a folder with modules/common)\n"


def test_fma_rounds_once() -> None:
    before = dict(REGISTRY)
    fma = runpy.run_path(str(EXAMPLE / "mirrors.py"))["fma"]
    for symbol in set(REGISTRY) - set(before):
        del REGISTRY[symbol]
    rng = np.random.default_rng(1)
    sign = rng.integers(0, 2, (3, 4000), np.uint32) << np.uint32(31)
    bits = rng.integers(90 << 23, 160 << 23, (3, 4000), np.uint32) | sign
    bits[2, ::2] = bits[0, ::2] & np.uint32(0xFF800000)  # sums near a power of two, ties among them
    bits[:, ::3] &= np.uint32(0xFFFFF000)
    a, b, c = bits.view(np.float32)
    for x, y, z, got in zip(a.tolist(), b.tolist(), c.tolist(), fma(a, b, c).tolist(), strict=True):
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        below, above = (np.nextafter(np.float32(got), np.float32(end)) for end in (-np.inf, np.inf))
        nearest = abs(exact - Fraction(got))
        assert nearest <= abs(exact - Fraction(float(below)))
        assert nearest <= abs(exact - Fraction(float(above)))
        if nearest in (abs(exact - Fraction(float(below))), abs(exact - Fraction(float(above)))):
            assert np.float32(got).view(np.uint32) % 2 == 0  # a tie goes to the even one
