"""Goldens recorded as on one machine and checked as on another: the bits are the same."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from emu.numerics.gemm.variant import NEEDS, available

ROOT = Path(__file__).parents[2]
BUNDLED = ROOT / "golden" / "models"
OLDEST = ("numpy==2.0.2", "numba==0.62.1", "llvmlite==0.45.1")
"""The oldest that pyproject.toml allows."""


def golden(*words: object, path: str = "") -> str:
    """``emu golden WORDS`` in a process of its own: what it is compiled for is chosen once a process."""
    code = "from emu.cli import main; main()"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, (path, str(ROOT))))}
    command = [sys.executable, "-c", code, "golden", *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("variant", list(NEEDS))
def test_every_matrix_product_gives_the_recorded_bits(variant: str) -> None:
    if variant not in available():
        pytest.skip(f"this machine cannot run {variant}, which needs {', '.join(NEEDS[variant])}")
    golden("check", "t2i-extreme", "--target", "mirror", "--gemm", variant, "--folder", BUNDLED)


@pytest.mark.parametrize("cpu", ["x86-64", "x86-64-v2", "x86-64-v3"])
def test_what_another_processor_records_is_equal_here(cpu: str, tmp_path: Path) -> None:
    """Recorded without this processor's own instructions, the files are those of the repository."""
    if platform.machine() != "x86_64":
        pytest.skip(f"{cpu} is no processor for code of {platform.machine()}")
    golden("record", "ternary-random", "--cpu", cpu, "--folder", tmp_path)
    for name in ("manifest.json", "tensors.safetensors"):
        assert (tmp_path / "ternary-random" / name).read_bytes() == (
            BUNDLED / "ternary-random" / name
        ).read_bytes(), f"{name} recorded for {cpu}"
    golden("check", "--folder", tmp_path)


def test_the_oldest_are_those_that_the_package_allows() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    for name, _, version in (pinned.partition("==") for pinned in OLDEST):
        assert f"{name}>={version.rpartition('.')[0]}" in declared


@pytest.mark.long
def test_the_oldest_numpy_and_numba_give_the_recorded_bits(tmp_path: Path) -> None:
    """Installed in a folder by pip; without a registry in reach that is said, and nothing is tested."""
    folder = tmp_path / "oldest"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--target", str(folder), *OLDEST]
    done = subprocess.run(pip, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"pip cannot install {', '.join(OLDEST)} here: {done.stderr.strip().splitlines()[-1]}")
    code = "import numpy, numba; print(numpy.__version__, numba.__version__)"
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert seen.stdout.split() == [OLDEST[0].partition("==")[2], OLDEST[1].partition("==")[2]]
    golden("check", "ternary-random", "tinylm-random", "--folder", BUNDLED, path=str(folder))
