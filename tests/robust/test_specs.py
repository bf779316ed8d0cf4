"""Spec files that are wrong in ways that Python lets through: one message, exit code 2 or 5, no verdict."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from emu.cli import main
from emu.kernels.spec import REGISTRY

COUNTER = itertools.count()
HEAD = """
import numpy as np
from emu.kernels.spec import Dim, Fault, Scalar, Tensor, kernel

@kernel("NAME", Tensor("x", "int8", ("n",)), Tensor("y", "int8", ("n",), role="out"),
        Scalar("n", "int32", "n"), dims=(Dim("n", 1, 40),), returns="int32")
def mirror(x, y, n):
    y[:] = x
    return 0
"""


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EMU_CACHE_DIR", str(tmp_path / "cache"))
    before = dict(REGISTRY)
    yield
    for symbol in set(REGISTRY) - set(before):
        del REGISTRY[symbol]


def verify(text: str) -> tuple[int, str]:
    name = f"robust_{next(COUNTER)}"
    Path("spec.py").write_text(text.replace("NAME", name))
    words = ["verify", "--target", "mirror", "--spec", "spec.py", "--kernel", f"{name}*", "--examples", "6"]
    result = CliRunner().invoke(main, [*words, "--jobs", "1", "--no-memory"])
    said = result.output + result.stderr
    assert "Traceback" not in said
    assert "internal error" not in said
    return result.exit_code, said


def changed(old: str, new: str) -> str:
    assert old in HEAD
    return HEAD.replace(old, new)


def test_the_unchanged_spec_is_equal() -> None:
    assert verify(HEAD)[0] == 0


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import sys\nsys.exit(0)", "spec.py:2: SystemExit: 0"),
        ("class Odd(BaseException): pass\nraise Odd('x')", "spec.py:2: Odd: x"),
        ("raise ValueError('one\\ntwo')", "spec.py:1: ValueError: one\n"),
        ("x = (", "spec.py:1: '(' was never closed"),
        ("import nothing_of_that_name", "spec.py:1: ModuleNotFoundError"),
    ],
)
def test_a_spec_that_does_not_load_is_no_verdict(text: str, words: str) -> None:
    code, said = verify(text)
    assert code == 2
    assert words in said


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('Tensor("x", "int8", ("n",))', '"x"', "params is ('x',"),
        ('Tensor("x", "int8", ("n",))', 'Tensor("x", "int8", ("n",), align="16")', "align is '16'"),
        ('Tensor("x", "int8", ("n",))', 'Tensor("x", "int8", ("n",), values=5)', "values is 5"),
        ('Tensor("x", "int8", ("n",))', 'Tensor("x", "int8", ("n",), fill="zero")', "fill is 'zero'"),
        ('Scalar("n", "int32", "n")', 'Scalar("n", "int32", 7)', "value is 7"),
        ('(Dim("n", 1, 40),)', 'Dim("n", 1, 40)', "it must be a tuple of Dim"),
        ('Dim("n", 1, 40)', 'Dim("n", "1", 40)', "low is '1'"),
        ('Dim("n", 1, 40)', 'Dim("n", 0.5, 40)', "low is 0.5"),
        ('Dim("n", 1, 40)', 'Dim("n", 1, 40, special=(3, "a"))', "special is (3, 'a')"),
        ('Dim("n", 1, 40)', 'Dim("n", 1, 40, multiple=16)', "1 plus steps of 16 never gives 40"),
        ('returns="int32"', 'returns="int32", faults=("bad",)', "faults is ('bad',)"),
        ('returns="int32"', 'returns="int32", derived={"q": 5}', "derived is"),
        ('returns="int32"', 'returns="int32", derived={"q": lambda d: "abc"}', "derived size 'q' failed"),
        ('role="out"', 'role="out", valid=lambda d: np.ones(3, bool)', "valid gives 3 elements of 1"),
        ('role="out"', 'role="out", valid=lambda d: slice(0, "a")', "valid elements of 'y' failed"),
        ('"NAME"', "5", "symbol is 5"),
    ],
)
def test_wrong_fields_are_named_before_anything_runs(old: str, new: str, words: str) -> None:
    code, said = verify(changed(old, new))
    assert code == 2
    assert words in said


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("return 0.75", "returned 0.75 (float); its spec says int32"),
        ("return float('nan')", "returned nan (float)"),
        ("return 'zero'", "returned 'zero' (str)"),
        ("return np.zeros(3)", "returned array([0., 0., 0.]) (ndarray)"),
        ("return None", "returned nothing"),
        ("raise SystemExit(0)", "raised SystemExit"),
        ("raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("x[:] = 0; return 0", "of input x changed"),
    ],
)
def test_what_a_mirror_does_wrong_is_a_tool_error(
    body: str, words: str, capfd: pytest.CaptureFixture[str]
) -> None:
    code, said = verify(changed("    return 0", f"    {body}"))
    assert code == 5
    assert words in " ".join(said.replace("│", " ").split())
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("good", ["np.int64(0)", "True", "np.array(0)", "1 << 32"])
def test_whole_numbers_of_any_type_are_a_result(good: str) -> None:
    assert verify(changed("    return 0", f"    return {good}"))[0] == 0
