"""The host's matrix products: every variant against exact integers, and the choice between them."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from emu.numerics.gemm import variant
from emu.numerics.gemm.native import native
from emu.numerics.gemm.packing import OFFSET, pack_weights

ROOT = Path(__file__).parents[2]
SHAPES = [
    (1, 1, 1),
    (1, 16, 4),
    (2, 17, 5),
    (3, 48, 36),
    (4, 64, 32),
    (5, 65, 33),
    (7, 112, 64),
    (9, 96, 100),
    (64, 192, 192),
    (1, 415, 128),
]


def product(name, x, w):
    """Sums of x [rows][cols] and w [outs][cols] by a variant, around them watched elements."""
    packed = pack_weights(w)
    blocks, steps = packed.shape[:2]
    wide = np.full((len(x), steps * 4 + 8), 99, np.int8)
    wide[:, : steps * 4] = 0
    wide[:, : x.shape[1]] = x
    start = (-OFFSET * x.astype(np.int64).sum(axis=1)).astype(np.int32)
    acc = np.full((len(x) + 1, blocks * 16 + 3), 77, np.int32)

    def at(array, kind):
        return array.ctypes.data_as(ctypes.POINTER(kind))

    native(name).ctypes(
        at(wide, ctypes.c_int8), wide.shape[1], len(x), at(packed, ctypes.c_uint8), packed[0].size, blocks,
        steps, at(start, ctypes.c_int32), at(acc, ctypes.c_int32), acc.shape[1],
    )  # fmt: skip
    assert (acc[-1] == 77).all()
    assert (acc[:, blocks * 16 :] == 77).all()
    assert (acc[: len(x), len(w) : blocks * 16] == 0).all()
    return acc[: len(x), : len(w)]


@pytest.mark.parametrize("name", variant.available())
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_variant_is_exact(name, shape):
    rng = np.random.default_rng(shape[2])
    rows, outs, cols = shape
    for low, high in ((-128, 128), (127, 128), (-128, -127)):
        x = rng.integers(low, high, (rows, cols)).astype(np.int8)
        w = rng.integers(-128, 128, (outs, cols)).astype(np.int8)
        exact = x.astype(np.int64) @ w.astype(np.int64).T
        assert np.array_equal(product(name, x, w), exact)


@pytest.mark.parametrize("name", variant.available())
def test_long_rows_of_one_sign(name):
    """16-bit partial sums would overflow after a few columns."""
    x, w = np.full((2, 4096), 127, np.int8), np.full((3, 4096), -128, np.int8)
    w[1] = 127
    assert product(name, x, w).tolist() == [[-128 * 127 * 4096, 127 * 127 * 4096, -128 * 127 * 4096]] * 2


def chosen(value: str) -> subprocess.CompletedProcess[str]:
    code = "from emu.numerics.gemm.variant import chosen; print(chosen())"
    env = {**os.environ, "EMU_GEMM": value, "PYTHONPATH": str(ROOT)}
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=False)


def test_the_choice():
    assert chosen("").stdout.strip() == variant.available()[0]
    assert variant.available()[-1] == "plain"
    for name in variant.available():
        assert chosen(name).stdout.strip() == name
    assert "the variants are amx, vnni, avx2, plain" in chosen("cuda").stderr


def test_a_variant_that_the_processor_lacks(monkeypatch):
    monkeypatch.setattr(variant.llvm, "get_host_cpu_features", dict)
    monkeypatch.setenv("EMU_GEMM", "vnni")
    with pytest.raises(variant.VariantError, match="this processor lacks avx512f"):
        variant.chosen.__wrapped__()


def test_a_picture_is_the_same_with_every_variant():
    code = (
        "import numpy as np, hashlib\n"
        "from emu.models.sources import load_model\n"
        "from emu.models.modelfile.kinds import Kind\n"
        "from emu.models.stages import Digests\n"
        "from emu.models.t2i.mirror import Request, T2iMirror\n"
        "d = Digests()\n"
        "T2iMirror(load_model('random:4', Kind.T2I)).run(Request(np.array([1, 2], np.int32), 5, 1), d)\n"
        "print(hashlib.sha256(str(d.values).encode()).hexdigest())\n"
    )
    found = set()
    for name in variant.available():
        env = {**os.environ, "EMU_GEMM": name, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True
        )
        found.add(done.stdout)
    assert len(found) == 1
