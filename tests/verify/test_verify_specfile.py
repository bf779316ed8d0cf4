"""Spec files: what is wrong is named with file, kernel and parameter, before anything runs."""

from __future__ import annotations

import itertools
import sys
import textwrap

import pytest

from emu.kernels import load_all
from emu.kernels.spec import REGISTRY
from emu.verify.errors import UsageProblem
from emu.verify.selection import choose
from emu.verify.specfile import load_spec, validate

COUNTER = itertools.count()

GOOD = """
import numpy as np
from emu.kernels.spec import Dim, Fault, Scalar, Tensor, kernel

@kernel(
    "NAME",
    Tensor("x", "int8", ("rows", "cols"), values="s8"),
    Scalar("rows", "int32", "rows"),
    Tensor("y", "int32", ("rows",), role="out"),
    dims=(Dim("rows", 0, 9), Dim("cols", 1, 40)),
    returns="int32",
)
def sums(x, rows, y):
    y[:] = x.reshape(len(y), -1).astype(np.int32).sum(axis=1) if len(y) else 0
    return 0
"""


@pytest.fixture
def write(tmp_path):
    before = dict(REGISTRY)

    def make(text, **replace):
        text = textwrap.dedent(text).replace("NAME", f"own_kernel_{next(COUNTER)}")
        for old, new in replace.items():
            assert old.replace("__", " ") in text or True
            text = text.replace(old, new)
        path = tmp_path / "spec.py"
        path.write_text(text)
        return path

    yield make
    for symbol in set(REGISTRY) - set(before):
        del REGISTRY[symbol]


def test_a_spec_may_use_modules_that_lie_beside_it(write, tmp_path, monkeypatch):
    """Last in the order: a neighbour called ``json`` hides nothing."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "beside_the_spec.py").write_text("LIMIT = 40\n")
    (tmp_path / "json.py").write_text("raise RuntimeError('not this one')\n")
    text = GOOD.replace('Dim("cols", 1, 40)', 'Dim("cols", 1, LIMIT)')
    (kernel,) = load_spec(write("from beside_the_spec import LIMIT\nimport json\n" + text)).values()
    assert kernel.dims[1].high == 40


def test_good_spec_loads(write):
    found = load_spec(write(GOOD))
    validate(found)
    (kernel,) = found.values()
    assert kernel.symbol.startswith("own_kernel_")
    assert choose(found, [])[0] is kernel


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"int8", ("rows", "cols")', '"int7", ("rows", "cols")', "tensor x: dtype 'int7' is not one of int8"),
        ('"int8", ("rows", "cols")', '"float16", ("rows", "cols")', "dtype 'float16'"),
        ('("rows", "cols")', '("rows", "colz")', "tensor x: the shape names 'colz', no dimension"),
        ('("rows", "cols")', '("rows", lambda d: d["q"])', "asks for dimension 'q'"),
        ('("rows", "cols")', '("rows", lambda d: 1 / 0)', "ZeroDivisionError"),
        ('("rows", "cols")', '("rows", 2.5)', "failed|integer"),
        ('("rows", "cols")', '("rows", lambda d: 2.5)', "must be an integer"),
        ('("rows", "cols")', '"rows"', "shape must be a tuple"),
        ('values="s8"', 'values="s9"', "no value family 's9'"),
        ('values="s8"', 'values="s8", align=3', "align 3 is not a power of two"),
        ('values="s8"', 'values="s8", margin=65', "margin 65 is not 0 to 64 bytes"),
        ('role="out"', 'role="output"', "role 'output'"),
        ('Scalar("rows", "int32", "rows")', 'Scalar("rows", "int32", "count")', "'count' is no dimension"),
        ('Scalar("rows", "int32", "rows")', 'Scalar("rows", "int32", values="odd")', "no value family 'odd'"),
        ('Dim("rows", 0, 9)', 'Dim("rows", 9, 0)', "low <= high"),
        ('Dim("cols", 1, 40)', 'Dim("rows", 1, 40)', "dimension 'rows' is declared 2 times"),
        ('Tensor("y"', 'Tensor("x"', "parameter 'x' is declared 2 times"),
        ("def sums(x, rows, y)", "def sums(x, y, rows)", "the mirror takes"),
        ('returns="int32"', 'returns="word"', "return value: dtype 'word'"),
        ('returns="int32",', 'faults=(Fault("none", 1),),', "returns nothing"),
        ('returns="int32",', 'returns="int32", faults=(Fault("f", 1, {"z": 0}),),', "names z, no parameter"),
        ('"NAME"', '"two words"', "is no C symbol"),
        ("0, 9", "10**9, 10**9", "more than fit"),
    ],
)
def test_wrong_specs_are_named(write, old, new, words):
    assert old in GOOD
    with pytest.raises(UsageProblem, match=words):
        validate(load_spec(write(GOOD.replace(old, new))))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("def f(:\n", r"spec.py:1: "),
        ("import no_such_module_at_all\n", r"spec.py:1: ModuleNotFoundError"),
        ("x = 1\n\ny = x / 0\n", r"spec.py:3: ZeroDivisionError"),
        ("x = 1\n", "registers no kernel"),
        (GOOD + GOOD, r"spec.py:\d+: ValueError: kernel .* is registered twice"),
    ],
)
def test_files_that_do_not_run(write, text, words):
    with pytest.raises(UsageProblem, match=words):
        load_spec(write(text))


def test_missing_and_foreign_files(tmp_path):
    with pytest.raises(UsageProblem, match="no such file"):
        load_spec(tmp_path / "none.py")
    other = tmp_path / "spec.txt"
    other.write_text("x = 1")
    with pytest.raises(UsageProblem, match="not a Python file"):
        load_spec(other)


def test_choose_by_name_and_pattern():
    kernels = {name: load_all()[name] for name in ("exp_array", "ln_array", "dot_rows_s8", "dot_rows_s8_c")}
    assert [k.symbol for k in choose(kernels, ["dot_*", "ln_array"])] == [
        "ln_array",
        "dot_rows_s8",
        "dot_rows_s8_c",
    ]
    with pytest.raises(UsageProblem, match=r"no kernel is called 'exp_aray' \(did you mean exp_array"):
        choose(kernels, ["exp_aray"])
    with pytest.raises(UsageProblem, match="say --kernel once for each name"):
        choose(load_all(), ["exp_array,gelu_array"])


def test_bundled_specs_are_valid():
    validate({name: k for name, k in load_all().items() if not name.startswith("own_kernel")})
