"""Runs of every command in the ledger: how they end when something ends them; benches and searches."""

from __future__ import annotations

import ast
import json
import pkgutil
import shutil
import signal
import sqlite3
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from click.testing import Result as Output

from emu.bench import suite_mirror
from emu.bench.ledgered import bench_run, keep
from emu.bench.report import Bound, Report
from emu.bench.settings import Settings
from emu.cli import main
from emu.ledger import database, queries
from emu.ledger.database import connect
from emu.ledger.writer import Figure, Result, Run, RunWriter
from tests.goldens.wrong_image import image_that_subtracts

GOLDEN = "ternary-random"
BUNDLED = Path(__file__).parents[2] / "golden" / "models"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EMU_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def goldens(tmp_path: Path) -> Path:
    shutil.copytree(BUNDLED / GOLDEN, tmp_path / "goldens" / GOLDEN)
    return tmp_path / "goldens"


def emu(*words: object) -> Output:
    return CliRunner().invoke(main, [*map(str, words)], terminal_width=300)


def runs(path: Path) -> list[dict[str, Any]]:
    with closing(connect(path)) as connection:
        return queries.runs(connection, 20)


def results(path: Path) -> dict[str, dict[str, Any]]:
    with closing(connect(path)) as connection:
        return {r["name"]: r for r in queries.results_of(connection, queries.runs(connection, 1)[0]["id"])}


def stop() -> None:
    raise KeyboardInterrupt


def break_down() -> None:
    raise ValueError("the roof fell in\nand more")


def turned_into_another_error() -> None:
    try:
        stop()
    except KeyboardInterrupt:
        raise RuntimeError("a compiler's complaint") from None


ENDINGS: list[tuple[Callable[[], None], str, int | None, str]] = [
    (stop, "interrupted", 130, ""),
    (turned_into_another_error, "interrupted", 130, ""),
    (break_down, "failed", None, "the roof fell in\nand more"),
    (lambda: None, "finished", 0, ""),
]


@pytest.mark.parametrize(("end", "state", "code", "message"), ENDINGS)
def test_a_run_never_stays_open(
    path: Path, end: Callable[[], None], state: str, code: int | None, message: str
) -> None:
    writer = RunWriter(Run("models", "image", "test"))
    try:
        with writer:
            writer.add(Result("a", "equal"))
            end()
    except (KeyboardInterrupt, ValueError, RuntimeError):
        pass
    (run,) = runs(path)
    assert (run["state"], run["exit_code"], run["message"], run["results"]) == (state, code, message, 1)
    assert run["seconds"] is not None
    told = state if code is None else f"{state}, exit {code}"
    assert told + (": the roof fell in" if message else "") in emu("history", "list").output


def test_what_was_ended_stays_as_it_is(path: Path) -> None:
    writer = RunWriter(Run("models", "image", "test"))
    writer.end(1)
    with pytest.raises(ValueError, match="the roof"), writer:
        break_down()
    assert [(r["state"], r["exit_code"]) for r in runs(path)] == [("finished", 1)]


KERNEL = ("--kernel", "exp_array", "--examples", "8", "--no-memory")
COMMANDS = {
    "emu.verify.command.run_sampled": (1, "verify", *KERNEL),
    "emu.verify.command.run_exhaustive": (1, "verify", "--exhaustive", "--kernel", "exp_array"),
    "emu.verify.command.run_one": (1, "verify", *KERNEL, "--example", "3"),
    "emu.verify.bundled_models.compare_model": (1, "verify", "--models"),
    "emu.bench.command._suite": (1, "bench", "mirror"),
    "emu.bisect.command.bisect_kernel": (1, "bisect", "kernel", "exp_array", "--elf", "ELF", "--fresh"),
    "emu.bisect.command_commits._search": (1, "bisect", "commits", "a", "b", "--kernel", "exp_array"),
    "emu.goldens.command.make_manifest": (1, "golden", "record", GOLDEN, "--folder", "GOLDENS"),
    "emu.goldens.command.check": (2, "golden", "check", "--folder", "GOLDENS"),
    "emu.goldens.command.propose": (1, "golden", "accept", "--folder", "GOLDENS"),
}
"""(the call that is its last one, words): what is called while a run of the command is open."""


@pytest.mark.parametrize("function", COMMANDS)
@pytest.mark.parametrize(("end", "state", "code"), [(stop, "interrupted", 130), (break_down, "failed", 5)])
def test_every_command_ends_its_run(
    path: Path,
    goldens: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    function: str,
    end: Callable[[], None],
    state: str,
    code: int,
) -> None:
    last, *words = COMMANDS[function]
    original, calls = pkgutil.resolve_name(":".join(function.rsplit(".", 1))), 0

    def ends(*arguments: Any, **more: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == last:
            end()
        return original(*arguments, **more)

    monkeypatch.setattr(function, ends)
    wrong = image_that_subtracts("residual_gated", tmp_path / "wrong.elf")
    places = {"GOLDENS": goldens, "ELF": wrong}
    done = emu(*(places.get(str(word), word) for word in words))
    assert done.exit_code == code, done.output
    assert calls == last
    assert {run["state"] for run in runs(path)} == {state}


def test_no_code_opens_a_run_that_it_may_leave_open() -> None:
    """RunWriter is entered where it is made, or made by something that is entered itself."""
    wrapped = {"LedgerListener", "_Campaign"}
    found = 0
    for file in sorted((Path(__file__).parents[2] / "emu").rglob("*.py")):
        for node, owners in _calls(ast.parse(file.read_text()), ()):
            found += 1
            is_entered = any(isinstance(owner, ast.withitem) for owner in owners)
            is_entered |= any(
                isinstance(owner, ast.Call) and ast.unparse(owner.func).endswith("enter_context")
                for owner in owners
            )
            names = {owner.name for owner in owners if isinstance(owner, ast.ClassDef)}
            assert is_entered or names & wrapped, f"{file}:{node.lineno}"
    assert found >= 10


def _calls(node: ast.AST, owners: tuple[ast.AST, ...]) -> Iterator[tuple[ast.Call, tuple[ast.AST, ...]]]:
    """Calls of RunWriter, with all that is around each."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) == "RunWriter":
        yield node, owners
    for child in ast.iter_child_nodes(node):
        yield from _calls(child, (*owners, node))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_accept_that_is_ended_at_its_question(path: Path, goldens: Path, number: signal.Signals) -> None:
    manifest = goldens / GOLDEN / "manifest.json"
    document = json.loads(manifest.read_bytes())
    stage = next(iter(document["stages"]))
    document["stages"][stage] = "0" * 16
    manifest.write_text(json.dumps(document))
    words = ["-c", "from emu.cli import main; main()", "golden", "accept", "--folder", str(goldens)]
    process = subprocess.Popen(
        [sys.executable, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    told = b""
    while b"accept ternary-random?" not in told:
        piece = process.stdout.read1()
        assert piece, told
        told += piece
    process.send_signal(number)
    rest, error = process.communicate(timeout=120)
    assert process.returncode == 130, error
    assert b"interrupted; what is left: emu golden accept ternary-random" in rest
    assert {(run["kind"], run["state"], run["exit_code"]) for run in runs(path)} == {
        ("golden accept", "interrupted", 130)
    }
    assert json.loads(manifest.read_bytes()) == document


def test_a_bench_is_a_run_with_figures(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite_mirror, "SHAPES", ((2, 33, 5),))
    words = ("bench", "mirror", "--rounds", 3, "--seconds", 0.001)
    shown = json.loads(emu(*words, "-q", "--json", "-").output)
    assert emu(*words, "-q").output == ""
    assert [(r["kind"], r["state"], r["results"], r["wrong"]) for r in runs(path)] == [
        ("bench mirror", "finished", 1, 0)
    ] * 2
    name = "bench mirror: 2 x 33 x 5"
    with closing(connect(path)) as connection:
        figures = queries.figures(connection, name)
    (table,) = shown["suites"][0]["tables"]
    measured = {c: cell for c, cell in table["rows"]["2 x 33 x 5"].items() if "median" in cell}
    assert "mirror" in measured
    assert [f["figure"] for f in figures[::2]] == [f"{table['title']}: {column}" for column in measured]
    for figure, cell in zip(figures[::2], measured.values(), strict=True):
        assert (figure["median"], figure["low"]) == (cell["median"], min(cell["each"]))
        assert figure["low"] <= figure["median"] <= figure["high"]
    trend = emu("history", "trend", name).output
    (at,) = [i for i, line in enumerate(trend.splitlines()) if line == f"{table['title']}: mirror"]
    assert [line.split()[0] for line in trend.splitlines()[at + 1 : at + 4]] == [
        "started", *(f["started"][:19] for f in figures[:2])
    ]  # fmt: skip
    assert f"{table['title']}: mirror" in emu("history", "show", runs(path)[0]["id"]).output


def test_a_bound_is_a_figure(path: Path) -> None:
    report = Report("engine", "emu bench engine", "", bounds=[Bound("slowest", 2.0, "at least", 5.0, " x")])
    with RunWriter(bench_run("engine", Settings())) as writer:
        keep(writer, report)
        writer.end(0)
    assert results(path)["bench engine: slowest"]["message"] == "slowest: 2.00 x, at least 5.00 x: NOT MET"
    assert runs(path)[0]["wrong"] == 0


def test_a_search_is_a_run(path: Path, tmp_path: Path) -> None:
    wrong = image_that_subtracts("residual_gated", tmp_path / "wrong.elf")
    words = ("--elf", wrong, "--out", tmp_path / "out", "-q")
    assert emu("bisect", "kernel", "exp_array", *words).output == ""
    assert (runs(path)[0]["kind"], results(path)["exp_array"]["verdict"]) == ("bisect kernel", "equal")
    assert emu("bisect", "kernel", "residual_gated", *words).exit_code == 1
    found = results(path)["residual_gated"]
    assert found["verdict"] == "mismatch"
    assert found["message"].startswith("in residual_gated; instruction residual_gated+0x")
    assert runs(path)[0]["image_sha256"] is not None
    assert "first bad on image: commit" in emu("history", "trend", "residual_gated").output


def test_a_single_case_is_a_run_that_proves_nothing_of_others(path: Path, tmp_path: Path) -> None:
    wrong = image_that_subtracts("residual_gated", tmp_path / "wrong.elf")
    words = ("verify", "--elf", wrong, "--kernel", "residual_gated", "--examples", 20, "--no-memory")
    words += ("--jobs", 1, "--out", tmp_path)
    assert emu(*words).exit_code == 1
    (case,) = tmp_path.glob("residual_gated-*.json")
    assert emu("verify", "--elf", wrong, "--replay", case, "--out", tmp_path).exit_code == 1
    assert emu("verify", "--replay", case, "--out", tmp_path).exit_code == 0
    assert [(r["kind"], r["wrong"], r["results"]) for r in runs(path)] == [
        ("replay", 0, 1),
        ("replay", 1, 1),
        ("kernels", 1, 1),
    ]
    with closing(connect(path)) as connection:
        (bad,) = queries.first_bad(connection, "residual_gated")
        assert bad.bad["run"] == runs(path)[2]["id"]
    assert emu("history", "slower").exit_code == 0


def test_verdicts_of_mutants_in_exports(path: Path, tmp_path: Path) -> None:
    with RunWriter(Run("mutate", "image", "test")) as writer:
        for verdict in ("killed", "equivalent", "unbuilt", "unreached", "survived", "tool error"):
            writer.add(Result(f"m-{verdict}", verdict))
        writer.add(Result("mutants", "measured"), figures={"killed": Figure(1, 1, 1)})
        writer.end(1)
    assert runs(path)[0]["wrong"] == 2
    assert emu("history", "export", "-o", tmp_path / "h.xml").exit_code == 0
    (suite,) = ET.parse(tmp_path / "h.xml").getroot()
    assert (suite.attrib["failures"], suite.attrib["errors"]) == ("1", "1")
    assert [case.attrib["name"] for case in suite if len(case)] == ["m-survived", "m-tool error"]
    (run,) = json.loads(emu("history", "export", "-o", "-", "--format", "json").output)["runs"]
    assert run["results"][-1]["figures"] == {"killed": {"median": 1.0, "low": 1.0, "high": 1.0}}
    assert (run["message"], run["results"][0]["figures"]) == ("", {})


@pytest.mark.parametrize("version", range(1, database.VERSION))
def test_an_older_ledger_is_migrated_with_all_that_is_in_it(path: Path, version: int) -> None:
    steps = [database._TABLES, *(database._SINCE[number] for number in range(1, version))]
    with closing(sqlite3.connect(path)) as old:
        old.executescript("".join(steps) + f"PRAGMA user_version = {version};")
        old.execute("INSERT INTO runs (id, started, state, kind, program, target) VALUES "
                    "('r1', '2026-01-01T00:00:00', 'running', 'kernels', 'emu 0', 'image')")  # fmt: skip
        old.execute("INSERT INTO results (run, name, verdict, cases, differ, instructions, seconds) VALUES "
                    "('r1', 'exp_array', 'equal', 200, 0, 5, 0.1)")  # fmt: skip
        if version > 1:
            old.execute("INSERT INTO stages VALUES ('r1', 'exp_array', 'emb', 5, 0.1)")
        old.commit()
    with RunWriter(Run("bench mirror", "host", "test")) as writer:
        writer.add(Result("bench mirror: row", "measured"), figures={"GMAC/s": Figure(2, 1, 3)})
        writer.end(0)
    assert not writer.notes
    with closing(connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone()[0] == database.VERSION
        assert [r["cases"] for r in queries.trend(connection, "exp_array")] == [200]
        assert len(queries.costs(connection, "exp_array")) == version - 1
        assert len(queries.figures(connection, "bench mirror: row")) == 1
        assert [r["message"] for r in queries.runs(connection, 5)] == ["", ""]
