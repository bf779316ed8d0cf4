"""docs/known-faults.md: every row names tests, and every named test exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "known-faults.md").read_text(encoding="utf-8")
ROWS = {match[1]: match[0] for match in re.finditer(r"^\| (B\d{3}) \|.*$", PAGE, re.MULTILINE)}
HERE = "B001 B002 B004 B005 B007 B008 B014 B015 B020 B024 B034 B043 B045 B047 B048 B051 B052 B063 B064 B078"
"""The rows about instructions, the vector unit and images."""
NAMED = re.compile(r"(tests/[\w/]+\.py)::(\w+)")


@cache
def functions_of(path: str) -> frozenset[str]:
    """Names of the test functions in a file; empty when there is no such file."""
    file = ROOT / path
    tree = ast.parse(file.read_text(encoding="utf-8")) if file.is_file() else ast.Module([], [])
    return frozenset(node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))


def test_every_row_of_this_part_is_there() -> None:
    assert set(HERE.split()) <= set(ROWS)


@pytest.mark.parametrize("row", ROWS)
def test_the_named_tests_exist(row: str) -> None:
    named = NAMED.findall(ROWS[row])
    assert named, f"{row} names no test"
    for path, name in named:
        assert name in functions_of(path), f"{row}: {path} has no {name}"
        assert name.startswith("test_")
