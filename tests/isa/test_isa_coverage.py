"""docs/isa-coverage.md: every row, no empty cell, the structure of a page made now; the records behind it."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from emu.isa.decode import decode
from emu.isa.encode import encode
from emu.isa.table import by_key, rows
from tests import coverage_log

ROOT = Path(__file__).resolve().parents[2]
SAMPLE = rows()[::23]


def _tool():
    spec = importlib.util.spec_from_file_location("isa_coverage", ROOT / "tools" / "isa_coverage.py")
    module = importlib.util.module_from_spec(spec)
    path = list(sys.path)
    spec.loader.exec_module(module)
    sys.path[:] = path
    return module


tool = _tool()


def parse(text: str) -> dict[str, list[str]]:
    """Cells by row."""
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert len({row[0] for row in cells}) == len(cells)
    return {row[0].strip("`"): row[1:] for row in cells}


@pytest.fixture(scope="module")
def committed() -> dict[str, list[str]]:
    return parse(tool.PAGE.read_text())


def test_the_committed_page_has_every_row_and_no_empty_cell(committed):
    assert list(committed) == [row.key for row in rows()]
    for row in rows():
        group, *cells = committed[row.key]
        assert group == row.group
        assert len(cells) == len(tool.COLUMNS)
        assert all(cells), f"{row.key}: {cells}"


def test_its_counts_and_reasons_stand_where_they_would_now(committed):
    for row in rows():
        for column, text in zip(tool.COLUMNS, committed[row.key][1:], strict=True):
            why = tool.reason(row, column)
            if why:
                assert text == why, f"{row.key}, {column}"
            else:
                assert re.fullmatch(r"[1-9]\d*( at ([1-9]|1[0-6]) of 16)?", text), (
                    f"{row.key}, {column}: {text}"
                )
                assert (column == "alignment") == ("of 16" in text)


def test_a_page_made_now_has_the_same_structure(committed, tmp_path):
    """A small campaign over some rows: whatever it executes has a count on the committed page."""
    names = sorted({row.mnemonic for row in SAMPLE})
    command = [
        sys.executable,
        "-m",
        "tests.translator.differential",
        "--encodings",
        "3",
        "--states",
        "6",
        *names,
    ]
    environment = {**os.environ, coverage_log.VARIABLE: str(tmp_path), "PYTHONPATH": str(ROOT)}
    subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    counts = coverage_log.read(tmp_path)
    assert tool.contradictions(counts) == []
    made = parse(tool.page(counts, "test"))
    for row in SAMPLE:
        assert counts[row.key, "reference"] >= 18
        for now, then in zip(made[row.key], committed[row.key], strict=True):
            assert then.split()[0].isdigit() if now[:1].isdigit() else now in ("", then)


def test_missing_and_contradicted_cells_are_found():
    every = {
        (row.key, how): 1
        for row in rows()
        for how in ("reference", "translated", "aliasing", "extremes", "qemu")
    }
    every |= {(row.key, "alignment:0"): 1 for row in rows()}
    assert tool.empty_cells(every) == []
    assert len(tool.contradictions(every)) > 1000
    wrong = _keys(tool.contradictions(every))
    honest = Counter({key: n for key, n in every.items() if key not in wrong})
    assert tool.contradictions(honest) == []
    assert tool.empty_cells(honest) == []
    del honest["add", "aliasing"]
    assert [(row.key, column) for row, column in tool.empty_cells(honest)] == [("add", "aliasing")]


def _keys(cells):
    names = {"QEMU": "qemu", "alignment": "alignment:0"}
    return {(row.key, names.get(column, column)) for row, column in cells}


# --- what the records mean --------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("key", "operands", "expected"),
    [
        ("add", {"r": 3, "s": 4, "t": 4}, True),
        ("add", {"r": 3, "s": 4, "t": 5}, False),
        ("add", {"r": 3, "s": 3, "t": 5}, True),
    ],
)
def test_aliases(key, operands, expected):
    assert coverage_log.has_alias(decode(encode(by_key()[key], operands), 0)) is expected


def test_extremes():
    from emu.cpu.state import new_state

    insn, state = decode(encode(by_key()["add"], {"r": 3, "s": 4, "t": 5}), 0), new_state()
    state.WindowBase = 2
    state.set_a(4, 1234)
    state.set_a(5, 5678)
    assert not coverage_log.has_extreme(insn, state)
    state.set_a(5, 0x80000000)
    assert coverage_log.has_extreme(insn, state)
    floats = decode(encode(by_key()["add.s"], {"fr": 1, "fs": 2, "ft": 3}), 0)
    state.f[2] = state.f[3] = 0x3F800000
    assert not coverage_log.has_extreme(floats, state)
    state.f[3] = 1  # subnormal
    assert coverage_log.has_extreme(floats, state)


def test_nothing_is_recorded_unless_asked(tmp_path):
    code = "from tests import coverage_log as c; c.add('add', 'reference', 3); c.add('add', 'reference', 4)"
    for folder in (None, str(tmp_path / "new")):
        environment = {k: v for k, v in os.environ.items() if k != coverage_log.VARIABLE}
        environment |= {coverage_log.VARIABLE: folder} if folder else {}
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, check=True)
    (path,) = tmp_path.glob("*/*.jsonl")
    assert json.loads(path.read_text()) == {"key": "add", "how": "reference", "count": 7}
