"""Kernels as subjects of `emu bench kernels`: equal before they are timed; missing peers are named."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

from emu.bench.kernel_subjects import SIZES, Others, subjects
from emu.bench.naive import naive_product
from emu.bench.peers import onnx_product, torch_product
from emu.bench.suite_mirror import _must_be_product, inexact_peers, mirror_product
from emu.kernels import load_all
from emu.verify.errors import ToolError
from emu.verify.image_target import ImageTarget
from emu.verify.options import Options
from emu.verify.reference import reference_elf


@pytest.fixture(scope="module")
def target():
    return ImageTarget(reference_elf(), Options(elf=reference_elf(), bounds=False))


def test_amounts_and_callers(target):
    product = subjects(target, load_all()["gemm_s8"], {"rows": 4, "outs": 8, "cols": 48}, Others())
    assert (product.unit, product.amount) == ("MAC", 4 * 8 * 48)
    assert set(product.calls) == {"engine", "mirror"}
    assert product.instructions > 4 * 8 * 3
    array = subjects(target, load_all()["exp_array"], {"n": 500}, Others())
    assert (array.unit, array.amount) == ("element", 500)


def test_a_wrong_subject_is_not_timed(target):
    kernel = load_all()["exp_array"]

    def wrong(x, y, n):
        kernel.mirror(x, y, n)
        y[0] += 1

    with pytest.raises(ToolError, match="engine and mirror differ in y"):
        subjects(target, replace(kernel, mirror=wrong), {"n": 50}, Others())


def test_every_measured_kernel_exists():
    assert set(SIZES) <= set(load_all())


def test_missing_peers_are_named(monkeypatch):
    for name in ("onnx", "onnxruntime", "torch"):
        monkeypatch.setitem(sys.modules, name, None)
    for make in (onnx_product, torch_product):
        with pytest.raises(LookupError, match="not installed"):
            make(None, None)


@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 17, 5), (64, 192, 40)])
@pytest.mark.parametrize("kind", [np.int32, np.int64])
def test_plain_loops_and_mirror_are_products(shape, kind):
    rows, cols, outs = shape
    rng = np.random.default_rng(cols)
    x, w = (rng.integers(-128, 128, (n, cols), np.int8) for n in (rows, outs))
    acc = np.zeros((rows, outs), kind)
    naive_product(x, w, acc)()
    assert np.array_equal(acc, x.astype(np.int64) @ w.T.astype(np.int64))
    mirror_product(x, w)()  # compares by itself


def test_a_wrong_mirror_product_is_not_timed(monkeypatch):
    monkeypatch.setattr("emu.bench.suite_mirror._multiply", lambda *arguments: None)
    with pytest.raises(ToolError, match="wrong on this machine"):
        mirror_product(np.ones((2, 16), np.int8), np.ones((3, 16), np.int8))


def test_a_peer_that_saturates_is_named():
    """Pairs of products in 16 bits, as vpmaddubsw adds them; one that is exact; one that is not there."""

    def saturating(x, w):
        pairs = x.astype(np.int32).reshape(len(x), -1, 2, 1) * w.astype(np.int32).reshape(
            1, -1, 2, w.shape[1]
        )
        return lambda: [np.clip(pairs.sum(axis=2), -32768, 32767).sum(axis=1)]

    def missing(x, w):
        raise LookupError

    def exact(x, w):
        return lambda: x.astype(np.int32) @ w.astype(np.int32)

    (found,) = inexact_peers({"a": saturating, "b": exact, "c": missing})
    assert found.startswith("a is not exact: ")
    assert found.endswith("% of its sums of the whole range are wrong")
    assert inexact_peers({"torch": lambda x, w: exact(x.view(np.int8), w)}) == []


def test_a_peer_with_another_product_is_not_timed():
    x, w = np.ones((2, 16), np.int8), np.ones((3, 16), np.int8)
    _must_be_product("peer", [np.full((2, 3), 16)], x, w)
    _must_be_product("peer", np.full((2, 3), 16), x, w)
    with pytest.raises(ToolError, match="peer does not compute the same product"):
        _must_be_product("peer", np.full((2, 3), 15), x, w)
