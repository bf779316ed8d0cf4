"""Prototypes from DWARF against specs: wrong numbers, types and results are named."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from strange_image import build, many, plain, returning

from emu.image import load_image
from emu.image.prototypes import Prototypes
from emu.kernels import load_all
from emu.kernels.spec import Scalar, Tensor
from emu.verify.prototype import disagreements
from emu.verify.reference import reference_elf


@pytest.fixture(scope="module")
def image(toolchain, tmp_path_factory):
    return load_image(build(toolchain, Path(tmp_path_factory.mktemp("strange"))))


def test_bundled_specs_fit_the_bundled_image():
    assert disagreements(load_image(reference_elf()), list(load_all().values())) == []


def test_right_specs_fit(image):
    assert disagreements(image, [plain("good"), many(), *returning()]) == []
    prototype = Prototypes(image).function("many")
    assert prototype is not None
    names = [
        "int8_t",
        "uint8_t",
        "int64_t",
        "float",
        "int16_t",
        "uint64_t",
        "const int8_t *",
        "int32_t",
        "int32_t *",
    ]
    assert [p.type.text for p in prototype.parameters] == names
    assert prototype.result.text == "int32_t"


def changed(kernel, index, param):
    params = list(kernel.params)
    params[index : index + 1] = param
    return replace(kernel, params=tuple(params))


X, Y, N = plain("good").params


@pytest.mark.parametrize(
    ("index", "param", "words"),
    [
        (0, [replace(X, dtype="int32")], "good: parameter x is const int8_t * in C, int32 * in the spec"),
        (0, [replace(X, dtype="uint8")], "good: parameter x is const int8_t * in C, uint8 * in the spec"),
        (1, [replace(Y, dtype="float32")], "good: parameter y is int8_t * in C, float32 * in the spec"),
        (2, [replace(N, dtype="int64")], "good: parameter n is int32_t in C, int64 in the spec"),
        (2, [replace(N, dtype="float32")], "good: parameter n is int32_t in C, float32 in the spec"),
        (0, [Scalar("x", "int32", "n")], "good: parameter x is const int8_t * in C, int32 in the spec"),
        (2, [Tensor("n", "int32", (1,))], "good: parameter n is int32_t in C, int32 * in the spec"),
        (2, [], "good takes 3 parameters in C (const int8_t *, int8_t *, int32_t), the spec lists 2"),
    ],
)
def test_wrong_parameters_are_named(image, index, param, words):
    assert disagreements(image, [changed(plain("good"), index, param)]) == [words]


def test_sign_of_a_scalar_does_not_matter(image):
    assert disagreements(image, [changed(plain("good"), 2, [replace(N, dtype="uint32")])]) == []


def test_wrong_results_are_named(image):
    assert disagreements(image, [replace(plain("good"), returns="int32")]) == [
        "good returns nothing in C, int32 in the spec"
    ]
    assert disagreements(image, [replace(many(), returns="float32")]) == [
        "many returns int32_t in C, float32 in the spec"
    ]
    assert disagreements(image, [replace(many(), returns=None)]) == []


def test_no_debug_information_is_no_complaint(toolchain, image, tmp_path):
    elf = build(toolchain, tmp_path)
    toolchain.run("strip", ["-g", elf])
    wrong = changed(plain("good"), 0, [replace(X, dtype="int32")])
    assert disagreements(load_image(elf), [wrong]) == []
