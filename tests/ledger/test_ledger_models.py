"""Models, goldens and boards in the ledger: what is kept, what history says of it, what is resumed."""

from __future__ import annotations

import csv
import io
import json
import shutil
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner
from click.testing import Result as Output
from rich.console import Console

from emu.cli import main
from emu.ledger import queries
from emu.ledger.database import connect
from emu.ledger.writer import Cost, Result, Run, RunWriter, Session
from emu.models.modelfile.kinds import Kind
from emu.terminal import Terminal
from emu.verify import bundled_models
from emu.verify.bundled_models import ModelsRequest, verify_models
from emu.verify.models import Effort
from emu.verify.reference import reference_elf
from tests.goldens.wrong_image import image_that_subtracts

EFFORT = Effort(seeds=(1, 2), samples=2, kinds=(Kind.TERNARY,))
BUNDLED = Path(__file__).parents[2] / "golden" / "models"


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EMU_LEDGER", str(tmp_path / "ledger.sqlite"))
    return tmp_path / "ledger.sqlite"


def emu(*words: object) -> Output:
    return CliRunner().invoke(main, [*map(str, words)], terminal_width=300)


def verify(resume: bool = False, elf: Path | None = None) -> tuple[int, str]:
    told = io.StringIO()
    console = Console(file=told, width=200)
    request = ModelsRequest(effort=EFFORT, resume=resume)
    return verify_models(
        request, elf or reference_elf(), terminal=Terminal(console, console)
    ), told.getvalue()


def last_results(path: Path) -> dict[str, dict[str, object]]:
    with closing(connect(path)) as connection:
        run = queries.runs(connection, 1)[0]
        return {r["name"]: r for r in queries.results_of(connection, run["id"])}


def test_a_run_of_models_is_kept_with_its_stages(path: Path) -> None:
    code, told = verify()
    assert code == 0, told
    results = last_results(path)
    assert list(results) == [f"ternary {w}:{seed}" for seed in (1, 2) for w in ("random", "extreme")]
    assert all(r["cases"] == 2 and r["stages"] == 54 and r["instructions"] for r in results.values())
    with closing(connect(path)) as connection:
        costs = queries.costs(connection, "ternary random:1")
    stages = sum(cost["instructions"] for cost in costs)
    assert len(costs) == 9
    assert stages < results["ternary random:1"]["instructions"] < 3 * stages
    shown = emu("history", "trend", "ternary random:1").output
    assert "54" in shown
    assert all(cost["stage"] in shown for cost in costs)


def test_a_run_of_models_that_was_stopped_goes_on(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[str] = []
    compare = bundled_models.compare_model

    def stopped_at_the_third(kind, data, weights, *more):
        started.append(weights)
        if len(started) == 3:
            raise KeyboardInterrupt
        return compare(kind, data, weights, *more)

    monkeypatch.setattr(bundled_models, "compare_model", stopped_at_the_third)
    code, told = verify()
    assert code == 130
    assert "the same command with --resume goes on from here" in told
    assert "2 of 4 models" in told
    code, told = verify(resume=True)
    assert code == 0
    assert "resumed: 2 of 4 models were finished by the run before" in told
    assert started == ["random:1", "extreme:1", "random:2", "random:2", "extreme:2"]
    assert len(last_results(path)) == 4
    assert "nothing to resume" in verify(resume=True)[1]


def test_a_wrong_model_is_kept_with_its_first_stage(path: Path, tmp_path: Path) -> None:
    assert verify(elf=image_that_subtracts("residual_add", tmp_path / "wrong.elf"))[0] == 1
    result = last_results(path)["ternary random:1"]
    assert result["verdict"] == "mismatch"
    assert "first differing stage: l0.proj" in str(result["message"])
    assert "first bad on image: commit" in emu("history", "trend", "ternary random:1").output


def test_goldens_are_kept_for_each_target(path: Path, tmp_path: Path) -> None:
    folder = tmp_path / "goldens"
    shutil.copytree(BUNDLED / "ternary-random", folder / "ternary-random")
    assert emu("golden", "check", "--folder", folder, "-q").output == ""
    wrong = image_that_subtracts("residual_add", tmp_path / "wrong.elf")
    assert emu("golden", "check", "--folder", folder, "--elf", wrong).exit_code == 1
    assert emu("golden", "record", "ternary-random", "--folder", folder, "--elf", wrong).exit_code == 1
    with closing(connect(path)) as connection:
        rows = queries.trend(connection, "ternary-random")
    assert [(r["target"], r["verdict"]) for r in rows] == [
        ("mirror", "equal"), ("image", "equal"), ("mirror", "equal"), ("image", "mismatch"),
        ("image", "mismatch"),
    ]  # fmt: skip
    shown = emu("history", "trend", "ternary-random").output
    assert "first bad on image" in shown
    assert "first bad on mirror" not in shown


def test_a_slower_stage_is_named(path: Path) -> None:
    for image, instructions in (("a", 1000), ("b", 1100)):
        writer = RunWriter(Run("models", "image", "test", image_sha256=image * 64))
        costs = {"l*.q": Cost(instructions, 0.1), "emb": Cost(500, 0.1)}
        writer.add(Result("ternary random:1", "equal", 200, 0, 1_000_000 + instructions, stages=54), costs)
        writer.end(0)
    shown = emu("history", "slower", "--percent", 5)
    assert shown.exit_code == 1
    (line,) = [line for line in shown.output.splitlines() if line.startswith("ternary")]
    assert line.split()[2:6] == ["l*.q", "1,000", "1,100", "1.100"]
    assert emu("history", "slower", "--percent", 20).exit_code == 0


def test_boards_show_what_had_to_be_mended(path: Path) -> None:
    for mac, mended, verdict in (("02:a", 0, "equal"), ("02:b", 7, "equal"), ("02:b", 9, "link fault")):
        writer = RunWriter(Run("kernels", "board", "test", board="socket://x", fingerprint="f"))
        writer.add(Result("exp_array", verdict, 10, retries=mended))
        writer.tell(Session("socket://x", 100, 2000, 3000, mended, "link: ...", mac, "build 0x1"))
        writer.end(0)
    lines = emu("history", "boards").output.splitlines()
    assert lines[1].split()[:8] == ["02:b", "socket://x", "2", "200", "16", "1", "0", "1"]
    assert lines[2].split()[:8] == ["02:a", "socket://x", "1", "100", "0", "0", "0", "0"]
    flaky = emu("history", "flaky")
    assert flaky.exit_code == 1
    assert "02:b" in flaky.output
    assert "02:a" not in flaky.output


def test_exports_have_stages_and_sessions(path: Path, tmp_path: Path) -> None:
    test_boards_show_what_had_to_be_mended(path)
    test_a_slower_stage_is_named(path)
    runs = json.loads(emu("history", "export", "-o", "-", "--format", "json").output)["runs"]
    assert runs[0]["results"][0]["stage_costs"]["l*.q"]["instructions"] == 1100
    assert [run["sessions"][0]["mended"] for run in runs if run["sessions"]] == [9, 7, 0]
    emu("history", "export", "-o", tmp_path / "h.csv")
    rows = list(csv.DictReader((tmp_path / "h.csv").read_text().splitlines()))
    assert [row["stages"] for row in rows][:2] == ["54", "54"]
    assert emu("history", "export", "-o", tmp_path / "h.data").exit_code == 2
