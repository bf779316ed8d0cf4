"""The ledger file: several writers, killed writers, files that are none, and what it answers."""

from __future__ import annotations

import csv
import json
import sqlite3
import subprocess
import sys
import time
import xml.etree.ElementTree as ET
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from click.testing import Result as Output

from emu.cli import main
from emu.ledger import queries
from emu.ledger.database import LedgerError, connect
from emu.ledger.writer import Result, Run, RunWriter, finished_equal

RUN = Run("kernels", "image", "test", image_sha256="a" * 64, seed=0, examples=200, fingerprint="f")


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty place for a ledger, named by the environment as a user would."""
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[2]))
    monkeypatch.setenv("EMU_LEDGER", str(tmp_path / "ledger.sqlite"))
    return tmp_path / "ledger.sqlite"


def history(*words: object) -> Output:
    return CliRunner().invoke(main, ["history", *map(str, words)], terminal_width=300)


def write(run: Run = RUN, *results: Result, ended: bool = True, exit_code: int = 0) -> str:
    writer = RunWriter(run)
    for result in results:
        writer.add(result)
    if ended:
        writer.end(exit_code)
    assert not writer.notes
    return writer.id


WRITER = """
import sys
from emu.ledger.writer import Result, Run, RunWriter
writer = RunWriter(Run("kernels", "image", "test"))
print(writer.id, flush=True)
for i in range(int(sys.argv[1])):
    writer.add(Result(f"kernel{i}", "equal", 200))
    print(i, flush=True)
assert not writer.notes, writer.notes
"""


def test_a_run_and_its_results_come_back(path: Path) -> None:
    run = write(RUN, Result("a", "equal", 200, 0, 1000, 0.5), Result("b", "mismatch", 10, 3, message="y[0]"))
    with closing(connect(path)) as connection:
        (row,) = queries.runs(connection, 5)
        results = queries.results_of(connection, run)
    assert (row["state"], row["exit_code"], row["results"], row["wrong"]) == ("finished", 0, 2, 1)
    assert [r["message"] for r in results] == ["", "y[0]"]
    assert run[:8] in history("list").output
    assert "y[0]" in history("show", run[:6]).output


def test_several_processes_write_at_the_same_time(path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, "25"], stdout=subprocess.PIPE) for _ in range(4)
    ]
    assert [w.communicate() and w.returncode for w in writers] == [0] * 4
    with closing(connect(path)) as connection:
        rows = queries.runs(connection, 10)
        assert [row["results"] for row in rows] == [25] * 4
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"


OPENER = """
import sys
from contextlib import closing
from pathlib import Path
from emu.ledger.database import connect

for folder in sys.stdin:
    with closing(connect(Path(folder.strip()) / "ledger.sqlite")):
        print("opened", flush=True)
"""


def test_several_processes_make_the_file_at_the_same_time(tmp_path: Path) -> None:
    openers = [
        subprocess.Popen(
            [sys.executable, "-c", OPENER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(3)
    ]
    folders = "".join(f"{tmp_path / str(number)}\n" for number in range(300))
    for opener in openers:
        assert opener.stdin is not None
        opener.stdin.write(folders)
        opener.stdin.close()
    for opener in openers:
        assert opener.stdout is not None
        assert opener.stdout.read().split() == ["opened"] * 300
        assert opener.wait() == 0


def kill_a_writer(path: Path, told: int) -> None:
    """End a writer by SIGKILL after it told its result number ``told``; what it told must be there."""
    writer = subprocess.Popen([sys.executable, "-c", WRITER, "500"], stdout=subprocess.PIPE, text=True)
    assert writer.stdout is not None
    run = writer.stdout.readline().strip()
    for _ in range(told):
        writer.stdout.readline()
    writer.kill()
    later = writer.stdout.read().split()
    writer.wait()
    with closing(connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
        kept = len(queries.results_of(connection, run))
        assert told + len(later) <= kept <= told + len(later) + 1
        assert next(r["state"] for r in queries.runs(connection, 99) if r["id"] == run) == "running"


def test_a_killed_writer_loses_nothing_that_it_told(path: Path) -> None:
    for told in (0, 3, 11):
        kill_a_writer(path, told)


@pytest.mark.long
def test_fifty_killed_writers_lose_nothing_that_they_told(path: Path) -> None:
    for told in range(50):
        kill_a_writer(path, told)


def test_what_is_no_ledger_is_left_alone_and_told(path: Path) -> None:
    path.write_bytes(b"precious text, no database" * 100)
    writer = RunWriter(RUN)
    writer.add(Result("a", "equal"))
    writer.end(0)
    assert len(writer.notes) == 1
    assert "no ledger" in writer.notes[0]
    assert str(path) in writer.notes[0]
    assert path.read_bytes().startswith(b"precious")
    shown = history("list")
    assert shown.exit_code == 2
    assert "move it away" in shown.output


def test_a_newer_ledger_is_refused(path: Path) -> None:
    write()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(LedgerError, match="version 99"):
        connect(path)


def test_off_and_missing(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "no run is recorded yet" in history("list").output
    monkeypatch.setenv("EMU_LEDGER", "off")
    write(RUN, Result("a", "equal"))
    assert not path.exists()
    assert "the ledger is off" in history("list").output


def test_first_bad_names_the_commit_after_the_last_good_one(path: Path) -> None:
    for verdict in ("mismatch", "equal", "equal", "tool error", "mismatch", "mismatch"):
        write(RUN, Result("k", verdict))
    with closing(connect(path)) as connection:
        found = queries.first_bad(connection, "k")
        rows = queries.trend(connection, "k")
    assert [f.target for f in found] == ["image"]
    assert found[0].good is not None
    assert (found[0].good["run"], found[0].bad["run"]) == (rows[2]["run"], rows[4]["run"])
    assert "first bad on image: commit" in history("trend", "k").output
    write(RUN, Result("k", "equal"))
    assert "first bad" not in history("trend", "k").output
    assert "was ever run" in history("trend", "unknown").output


def test_flaky_means_the_same_image_options_and_board(path: Path) -> None:
    write(RUN, Result("k", "equal"), Result("steady", "equal"))
    other = Run("kernels", "image", "test", fingerprint="other image")
    write(other, Result("k", "mismatch"), Result("steady", "equal"))
    assert history("flaky").exit_code == 0
    write(RUN, Result("k", "mismatch"), Result("steady", "equal"))
    shown = history("flaky")
    assert shown.exit_code == 1
    assert "1 equal, 1 mismatch" in shown.output
    assert "steady" not in shown.output


def test_slower_compares_instructions_of_the_same_cases(path: Path) -> None:
    def image(letter: str) -> Run:
        return Run("kernels", "image", "test", image_sha256=letter * 64, seed=0, examples=200)

    write(image("a"), Result("k", "equal", 200, 0, 200_000), Result("m", "equal", 200, 0, 5000))
    write(image("b"), Result("k", "equal", 100, 0, 900_000), Result("m", "equal", 200, 0, 5000))
    assert history("slower").exit_code == 0  # other cases: nothing can be said
    write(image("b"), Result("k", "equal", 200, 0, 206_000))
    shown = history("slower")
    assert shown.exit_code == 1
    assert "1.030" in shown.output
    assert not any(line.startswith("m ") for line in shown.output.splitlines())
    assert history("slower", "--percent", 5).exit_code == 0


def test_export(path: Path, tmp_path: Path) -> None:
    write(RUN, Result("a", "equal", 200), Result("b", "mismatch", message='\x00 y[0], "5"'))
    outputs = [tmp_path / f"history{suffix}" for suffix in (".json", ".csv", ".xml")]
    for output in outputs:
        assert history("export", "-o", output).exit_code == 0
    (run,) = json.loads(outputs[0].read_bytes())["runs"]
    assert [r["verdict"] for r in run["results"]] == ["equal", "mismatch"]
    rows = list(csv.DictReader(outputs[1].read_text().splitlines()))
    assert [row["name"] for row in rows] == ["a", "b"]
    (suite,) = ET.parse(outputs[2]).getroot()
    assert suite.attrib["failures"] == "1"
    assert history("export", "-o", tmp_path / "history.txt").exit_code == 2


def test_only_an_unfinished_run_is_resumed(path: Path) -> None:
    assert finished_equal("f") == {}
    write(RUN, Result("a", "equal", 200), Result("b", "mismatch"), ended=False)
    assert list(finished_equal("f")) == ["a"]
    assert finished_equal("g") == {}
    write(RUN, Result("a", "equal", 200))
    assert finished_equal("f") == {}


COMMAND = [sys.executable, "-c", "from emu.cli import main; main()", "verify"]
OPTIONS = ["--no-memory", "--jobs", "1", "--examples", "400"]
KERNELS = [w for name in ("exp_array", "ln_array", "gelu_array", "silu_array") for w in ("--kernel", name)]
VERIFY = [*COMMAND, *OPTIONS, *KERNELS]


def finished(path: Path) -> int:
    if not path.exists():
        return 0
    with closing(connect(path)) as connection:
        return sum(row["results"] for row in queries.runs(connection, 1))


def test_a_killed_verify_goes_on_where_it_stopped(path: Path, tmp_path: Path) -> None:
    first = subprocess.Popen([*VERIFY], stdout=subprocess.DEVNULL, cwd=tmp_path)
    end = time.monotonic() + 300
    while not finished(path) and first.poll() is None and time.monotonic() < end:
        time.sleep(0.01)
    first.kill()
    first.wait()
    done = finished(path)
    again = subprocess.run(
        [*VERIFY, "--resume", "--json", "r.json"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert again.returncode == 0, again.stdout + again.stderr
    assert f"resumed: {done} of 4 kernels" in again.stdout
    kernels = json.loads((tmp_path / "r.json").read_bytes())["kernels"]
    assert [k["examples"] for k in kernels] == [400] * 4
    assert all(k["instructions"] for k in kernels)
    third = subprocess.run(
        [*VERIFY, "--resume"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        check=False,
    )
    assert "nothing to resume" in third.stdout
