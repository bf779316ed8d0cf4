"""docs/versions.md: its numbers are those of the code, and every promise of a refusal has its test."""

from __future__ import annotations

import dataclasses
import re
import sqlite3
from pathlib import Path

import pytest

from emu.goldens import manifest
from emu.ledger import database
from emu.link import facts, wire
from emu.link.errors import LinkFault
from emu.models.modelfile import header
from emu.toolchain import build
from emu.verify import casefile, records
from tests.docs.page import ROOT

PAGE = (ROOT / "docs" / "versions.md").read_text()
ELSEWHERE = {
    "tests/models/test_models_file.py": ("R.VERSION", "R.SPEC_VERSION"),
    "tests/goldens/test_golden_record.py": ("version 7 of the arithmetic", "golden version 2"),
    "tests/verify/test_verify_casefile.py": ("version 2",),
    "tests/link/test_link_cli.py": ('{"version": 2}',),
    "tests/ledger/test_ledger.py": ("version 99",),
}
"""Tests of the rows that stand in other rooms: a text of each."""


def now(thing: str) -> str:
    """The column `now` of the row that begins with ``thing``."""
    (row,) = re.findall(rf"^\| {re.escape(thing)}.*$", PAGE, re.MULTILINE)[:1]
    return row.split("|")[3].strip()


def test_the_numbers_are_those_of_the_code() -> None:
    specs = {header.SPEC_VERSION, build.SPEC_VERSION, wire.SPEC_VERSION}
    assert specs == {int(now("arithmetic"))}
    assert now("model file") == str(header.VERSION)
    assert now("golden") == str(manifest.VERSION)
    assert now("wire") == f"{wire.VERSION}, {wire.AGENT_VERSION}"
    assert now("case file") == f"{casefile.VERSION}, {facts.VERSION}"
    assert now("JSON report") == str(records.VERSION)
    assert now("ledger") == str(database.VERSION)
    project = (ROOT / "pyproject.toml").read_text()
    assert f'version = "{now("Python")}.' in project


@pytest.mark.parametrize("name", ELSEWHERE)
def test_the_rows_of_other_rooms_have_their_tests(name: str) -> None:
    text = (ROOT / name).read_text()
    assert all(words in text for words in ELSEWHERE[name])


def hello(**changes: int) -> wire.Hello:
    """What a board of this version says, changed."""
    fields = {f.name: 0 for f in dataclasses.fields(wire.Hello)} | {"agent": 1, "spec": 1}
    return wire.Hello(**{**fields, **changes})  # type: ignore[arg-type]


def test_a_board_of_this_version_is_taken() -> None:
    wire.require_versions(hello())


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"agent": 2}, "speaks version 2 of docs/wire.md, this program knows version 1"),
        ({"spec": 2}, "computes by version 2 of docs/numerics.md, this program knows version 1"),
        ({"spec": 0}, "computes by version 0 of docs/numerics.md, this program knows version 1"),
    ],
)
def test_a_board_of_another_version_is_refused_with_both_numbers(changes: dict[str, int], said: str) -> None:
    with pytest.raises(LinkFault, match=said):
        wire.require_versions(hello(**changes))


def test_a_longer_hello_of_a_later_agent_is_read() -> None:
    payload = bytearray(wire._HELLO.pack(2, 1, *[0] * 7, 1040, 8, *[0] * 6, b"later", *[0] * 7, b""))
    found = wire.Hello.of(bytes(payload) + b"more")
    assert found is not None
    assert (found.agent, found.name) == (2, "later")
    assert wire._HELLO.size == 160


def test_a_ledger_of_version_1_is_migrated_and_keeps_its_runs(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    with sqlite3.connect(path) as old:
        old.executescript(database._TABLES + "PRAGMA user_version = 1;")
        old.execute(
            "INSERT INTO runs (id, started, program, kind, target, state) "
            "VALUES ('a', 't', '0.1.0', 'kernels', 'image', 'finished')"
        )
    with database.connect(path) as mended:
        assert mended.execute("PRAGMA user_version").fetchone()[0] == database.VERSION
        assert mended.execute("SELECT id FROM runs").fetchone()[0] == "a"
