"""Random weights: one hash for each model and seed, and the recipe by hand for every kind of tensor."""

from __future__ import annotations

import hashlib
import zlib

import numpy as np
import pytest

from emu.models.modelfile.kinds import Kind
from emu.models.modelfile.random_weights import inverse_root, random_model, random_tensors
from emu.numerics.int4 import int4_weights
from tests.kernels.calls import words
from tests.models.files import KINDS, random_file
from tests.numerics import reference as ref
from tests.numerics import softfloat as sf

HASHES = {
    (Kind.T2I, 0): "66b70fd6043c354e1e0904c819db5554b395831fe2f337c923ff22e33d02be8b",
    (Kind.T2I, 1): "28681a6b94b0d343eccdfcc9feabaf599f17ddf30f0dc93b42eba80d5da2be80",
    (Kind.T2I, 7): "9b813e31d91de256d254bc5eac1b53f03faaa57d0757c4886b4ca83902556ab1",
    (Kind.TERNARY, 0): "1e5a66491a2aac8408b1c6168fc0d57fb6da0a97d63d7dcb20578360717f22e6",
    (Kind.TERNARY, 1): "e7d600d3cd8f8d1382ac6a1b982ccad848428a44256555539e73693f4a6a147c",
    (Kind.TERNARY, 7): "b68e4c16ad1ef84f55974b545c2d80288df808358cc49a956b69a363681138f8",
    (Kind.TINYLM, 0): "e8a2f3aa099d061c88387952706087a0c5e22240699bab11e74f955b32e9ee81",
    (Kind.TINYLM, 1): "080f7fddae52b801594cb108b93af1e476e2163772299ff93d7ab6e2e572c5fa",
    (Kind.TINYLM, 7): "7f674bd9e3576c07ba6aad510c14a598f4f21a99ba93c5c185513669b04e65b6",
}


@pytest.mark.parametrize(("kind", "seed"), HASHES)
def test_hash_of_the_file(kind, seed):
    assert hashlib.sha256(random_model(kind, seed)).hexdigest() == HASHES[kind, seed]


def normals(seed: int, name: str, n: int) -> list[int]:
    """Patterns of the first normals of a tensor, by the reference arithmetic."""
    return ref.normals(ref.fmix32(seed ^ zlib.crc32(name.encode())), n)[1]


def test_int8_rows_and_scales():
    tensors = random_tensors(Kind.T2I, 3)
    codes, scale = ref.quantize_row(normals(3, "patch.w", 16))
    assert tensors["patch.w"][0].tolist() == codes
    root = sf.div(ref.ONE, sf.sqrt(sf.from_int(16)))
    assert words(tensors["patch.w.scale"])[0] == sf.mul(scale, root)


def test_the_scale_of_the_last_convolution_is_smaller():
    tensors = random_tensors(Kind.T2I, 3)
    _, scale = ref.quantize_row(normals(3, "dec.conv9.w", 288))
    root = sf.div(ref.ONE, sf.sqrt(sf.from_int(288)))
    assert words(tensors["dec.conv9.w.scale"])[0] == sf.mul(sf.mul(scale, root), 0x3E4CCCCD)


@pytest.mark.parametrize(
    ("name", "formula"),
    [
        ("txt.emb", lambda z: z),
        ("txt.null", lambda z: z),
        ("txt.pos", lambda z: sf.mul(0x3CA3D70A, z)),
        ("b4.table", lambda z: sf.mul(0x3CA3D70A, z)),
        ("b4.fc2.b", lambda z: sf.mul(0x3CA3D70A, z)),
        ("txt.b1.ln2.w", lambda z: sf.add(ref.ONE, sf.mul(0x3CA3D70A, z))),
        ("txt.b1.ln2.b", lambda z: sf.mul(0x3CA3D70A, z)),
        ("dec.s_in", lambda z: 0x3D8F5C29),
    ],
)
def test_float_tensors(name, formula):
    found = words(np.array(random_tensors(Kind.T2I, 3)[name]).reshape(-1)[:10])
    assert found == [formula(z) for z in normals(3, name, 10)]


def test_ternary_and_int4():
    codes = random_tensors(Kind.TERNARY, 9)["l2.fc1.w"]
    half = 0x3F000000
    expected = [sf.less(half, z) - sf.less(z, sf.neg(half)) for z in normals(9, "l2.fc1.w", 40)]
    assert codes.reshape(-1)[:40].tolist() == expected
    tensors = random_tensors(Kind.TINYLM, 9)
    z = np.array(normals(9, "l0.o.w", 128), np.uint32).view(np.float32)
    codes, scale = int4_weights((z * inverse_root(128)).reshape(1, 128), 32)
    assert tensors["l0.o.w"][0].tolist() == codes[0].tolist()
    assert tensors["l0.o.w.scale"][0].tolist() == scale[0].tolist()
    z = np.array(normals(9, "emb.w", 128), np.uint32).view(np.float32)
    assert tensors["emb.w"][0].tolist() == int4_weights(z.reshape(1, 128), 128)[0][0].tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_seeds_differ_and_zero_is_a_seed(kind):
    assert random_model(kind, 0) != random_model(kind, 1)
    assert random_file(kind).kind is kind


def test_every_output_count_of_a_ternary_model():
    for outputs in (1, 3, 4096):
        from emu.models.modelfile.reader import ModelFile

        assert ModelFile(random_model(Kind.TERNARY, 1, outputs)).outputs == outputs
