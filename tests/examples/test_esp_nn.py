"""ESP-NN, where a checkout of it is at hand: ``ESP_NN=/path/to/esp-nn pytest tests/examples/test_esp_nn.py``.

What needs none is tested anyway: the arithmetic of the mirrors, and what the build says without a checkout.
"""

from __future__ import annotations

import os
import subprocess
import sys
from fractions import Fraction
from math import exp, floor
from pathlib import Path

import numpy as np
import pytest

from emu.toolchain import Toolchain

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "examples" / "esp_nn"
CHECKOUT = os.environ.get("ESP_NN", "")
needs_checkout = pytest.mark.skipif(
    not CHECKOUT,
    reason="ESP_NN names no checkout of espressif/esp-nn, and nothing of it is in this repository",
)


@pytest.fixture(scope="module")
def arithmetic():
    sys.path.insert(0, str(HERE))
    try:
        import esp_nn_math

        yield esp_nn_math
    finally:
        sys.path.remove(str(HERE))


def rounded(value: Fraction, *, away: bool) -> int:
    """To the nearest whole number; halves away from zero, or up."""
    if away and value < 0:
        return -floor(-value + Fraction(1, 2))
    return floor(value + Fraction(1, 2))


def test_requantization_rounds_twice(arithmetic) -> None:
    rng = np.random.default_rng(1)
    values = np.concatenate([rng.integers(-(2**24), 2**24, 500), [0, 1, -1, 2**24, -(2**24), 3, -3]])
    for mult in (1 << 30, (1 << 31) - 1, 1518500250):
        for shift in (-12, -1, 0, 3):
            found = arithmetic.requantized(values, mult, shift)
            for value, result in zip(values, found, strict=True):
                high = rounded(Fraction(int(value) << max(shift, 0)) * mult / 2**31, away=False)
                assert result == rounded(Fraction(high, 2 ** max(-shift, 0)), away=True), (value, mult, shift)


def test_exp_and_reciprocal_are_what_their_names_say(arithmetic) -> None:
    values = -np.arange(0, 31 << 26, 12345677, dtype=np.int64)
    wanted = [exp(v / 2**26) for v in values]
    assert np.abs(arithmetic.exp_on_negatives(values) / 2**31 - wanted).max() < 2**-22
    values = np.arange(0, 2**31, 12345677, dtype=np.int64)
    wanted = 1 / (1 + values / 2**31)
    assert np.abs(arithmetic.one_over_one_plus(values) / 2**31 - wanted).max() < 2**-22


def test_windows_hold_the_image_and_the_border(arithmetic) -> None:
    image = np.arange(1, 31).reshape(3, 5, 2)
    found = arithmetic.windows(image, (2, 3), (2, 1), (1, 1), (2, 5), -7)
    assert found.shape == (2, 5, 2, 3, 2)
    for y, x, i, j in np.ndindex(2, 5, 2, 3):
        row, column = 2 * y - 1 + i, x - 1 + j
        inside = 0 <= row < 3 and 0 <= column < 5
        assert (found[y, x, i, j] == (image[row, column] if inside else -7)).all()


def build(checkout: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, HERE / "build.py"],
        env={**os.environ, "ESP_NN": checkout},
        capture_output=True,
        text=True,
    )


@pytest.mark.parametrize(
    ("checkout", "code", "said"), [("", 2, "git clone"), (str(ROOT), 5, "is it a checkout")]
)
def test_the_build_says_what_it_misses(checkout: str, code: int, said: str, toolchain: Toolchain) -> None:
    done = build(checkout)
    assert (done.returncode, done.stdout) == (code, "")
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.fixture(scope="module")
def elf(toolchain: Toolchain) -> Path:
    done = build(CHECKOUT)
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


@needs_checkout
@pytest.mark.parametrize("tier", ["translator", "stepper"])
@pytest.mark.parametrize("spec", ["kernels.py", "inner.py"])
def test_portable_and_vector_functions_are_equal(spec: str, tier: str, elf: Path, tmp_path: Path) -> None:
    examples = "20" if tier == "translator" else "4"
    command = [sys.executable, "-m", "emu.cli", "verify", "--elf", elf, "--spec", HERE / spec, "--tier", tier]
    done = subprocess.run([*command, "--examples", examples], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
