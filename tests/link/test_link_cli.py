"""The commands that talk to a board: what they print and how they end."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from emu.cli import main
from emu.cpu.readings import READINGS
from emu.image import load_image
from emu.kernels.spec import REGISTRY
from emu.link import selftest_command
from emu.link.client import Client
from emu.link.facts import load_facts, save_facts
from emu.link.ports import Line
from emu.link.selftest import EngineBoard
from emu.link.session import Session, Timing
from emu.verify.command import VerifyRequest
from emu.verify.reference import agent_elf


def emu(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def verify(url: str, folder: Path, *arguments: str) -> Result:
    chosen = ("--kernel", "relu_in_place", "--kernel", "add_array", "--examples", "8", "--no-memory")
    return emu("verify", "--port", url, "--out", str(folder), *chosen, *arguments)


@pytest.fixture(autouse=True)
def little_shrinking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small failing cases are not what is tested here."""
    options = VerifyRequest.options
    monkeypatch.setattr(
        VerifyRequest, "options", lambda self, elf: replace(options(self, elf), shrink_calls=5)
    )


def plant(server, kernel: str, mode: int) -> None:
    client = Client(Session(lambda baud: Line(server.url, baud), Timing(patience=60)))
    server.agent.library.host_plant(client.kernels[kernel].index, mode)
    client.session.close()


@pytest.mark.parametrize(
    ("mode", "code", "says"),
    [(0, 0, "2 equal"), (1, 1, "mismatch: add_array"), (2, 4, "exception 28 in add_array")],
)
def test_verify_with_a_port(serve, tmp_path: Path, mode: int, code: int, says: str) -> None:
    server = serve()
    plant(server, "add_array", mode)
    done = verify(server.url, tmp_path)
    assert done.exit_code == code, done.output
    assert says in done.output
    assert "link: " in done.output


def test_a_session_is_in_the_ledger(serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMU_LEDGER", str(tmp_path / "ledger.sqlite"))
    url = serve().url
    assert verify(url, tmp_path).exit_code == 0
    assert emu("history", "export", "-o", str(tmp_path / "h.json")).exit_code == 0
    (run,) = json.loads((tmp_path / "h.json").read_bytes())["runs"]
    (session,) = run["sessions"]
    assert (session["port"], session["mended"]) == (url, 0)
    assert session["requests"] > 0
    assert run["board"] == session["board"]
    assert len(session["board"].split(":")) == 6
    assert session["build"].startswith("build 0x")
    assert session["board"] in emu("history", "boards").output


def test_verify_without_anybody_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Exit code 3, and the second kernel is not waited for."""
    monkeypatch.setattr("emu.link.session.Timing", lambda: Timing(patience=0.5, hello=0.1))
    done = verify("socket://127.0.0.1:9", tmp_path)
    assert done.exit_code == 3, done.output
    assert "no agent" in done.output
    assert "1 link fault" in done.output


def test_a_kernel_that_the_board_lacks(serve, tmp_path: Path) -> None:
    spec = tmp_path / "mine.py"
    spec.write_text(
        "from emu.kernels.spec import Dim, Scalar, Tensor, kernel\n"
        "@kernel('not_there', Tensor('x', 'int8', ('n',), role='inout'), Scalar('n', 'int32', 'n'),\n"
        "        dims=(Dim('n', 1, 8),))\n"
        "def not_there(x, n):\n    x[:] = 0\n"
    )
    done = emu(
        "verify", "--port", serve().url, "--spec", str(spec), "--examples", "2", "--out", str(tmp_path)
    )
    assert done.exit_code in (2, 5), done.output
    REGISTRY.pop("not_there", None)
    assert "has no kernel not_there" in done.output.replace("\n", " ")


@pytest.mark.parametrize(
    "arguments", [("--target", "board"), ("--port", "socket://h:1", "--target", "mirror")]
)
def test_port_and_target_belong_together(arguments: tuple[str, ...]) -> None:
    done = emu("verify", *arguments)
    assert done.exit_code == 2
    assert "belong together" in done.output


def test_boards(serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("emu.link.discover.devices", list)
    monkeypatch.setattr("emu.link.discover.PROBE", Timing(patience=60))
    url = serve().url
    done = emu("boards", url)
    assert done.exit_code == 0, done.output
    assert f"{url}\n  agent 1, port host" in done.output
    assert "MAC 00:00:00:12:34:56" in done.output
    monkeypatch.setattr("emu.link.discover.PROBE", Timing(patience=0.3, hello=0.1))
    done = emu("boards", "socket://127.0.0.1:9")
    assert done.exit_code == 3
    assert "no agent" in done.output
    assert "no serial ports" in emu("boards").output


def test_flash_refuses_what_is_no_model(tmp_path: Path) -> None:
    wrong = tmp_path / "model.bin"
    wrong.write_bytes(b"not a model" * 100)
    done = emu("flash", "--port", "socket://127.0.0.1:9", "--model", str(wrong))
    assert done.exit_code == 2
    assert "Traceback" not in done.output


def test_facts_are_read_back(tmp_path: Path) -> None:
    path = tmp_path / "facts.json"
    save_facts(path, {"readings": {"xq_index": "signed"}})
    assert load_facts(path) == {"xq_index": "signed"}


@pytest.mark.parametrize(
    "change",
    [
        {"format": "x"},
        {"version": 2},
        {"readings": {"no_such_fact": "x"}},
        {"readings": {"xq_index": "maybe"}},
    ],
)
def test_strange_facts_are_refused(tmp_path: Path, change: dict) -> None:
    path = tmp_path / "facts.json"
    save_facts(path, {"readings": {}})
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    done = emu("verify", "--readings", str(path), "--kernel", "add_array", "--examples", "1")
    assert done.exit_code == 2, done.output
    assert "--readings" in done.output


def test_readings_change_the_image(tmp_path: Path) -> None:
    """Every fact can be chosen; kernels depend on none of them."""
    path = tmp_path / "facts.json"
    save_facts(path, {"readings": {name: r.alternatives[0] for name, r in READINGS.items()}})
    done = emu(
        "verify",
        "--readings",
        str(path),
        "--kernel",
        "dot_rows_s8",
        "--examples",
        "8",
        "--out",
        str(tmp_path),
    )
    assert done.exit_code == 0, done.output


def last_run(tmp_path: Path) -> dict[str, Any]:
    """The last run of the ledger, with its results."""
    assert emu("history", "export", "-o", str(tmp_path / "h.json")).exit_code == 0
    return dict(json.loads((tmp_path / "h.json").read_bytes())["runs"][0])


def test_the_speed_of_the_line_is_in_the_ledger(serve, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("EMU_LEDGER", str(tmp_path / "ledger.sqlite"))
    url = serve().url
    done = emu("bench", "link", "--port", url, "--baud", "115200")
    assert done.exit_code == 0, done.output
    run = last_run(tmp_path)
    assert (run["kind"], run["state"], run["sessions"][0]["port"]) == ("bench link", "finished", url)
    (result,) = run["results"]
    assert (result["name"], result["verdict"]) == ("bench link: 115200 baud", "measured")
    assert f"{result['figures']['round trips a second']['median']:,.0f} round trips/s" in done.output


def test_a_self_test_is_in_the_ledger(serve, tmp_path: Path, monkeypatch) -> None:
    """The board's answers are the stepper's; one board has no self-test, which is told as a failed run."""
    monkeypatch.setenv("EMU_LEDGER", str(tmp_path / "ledger.sqlite"))
    url = serve().url
    assert emu("selftest", "--port", url).exit_code == 3
    run = last_run(tmp_path)
    assert (run["kind"], run["state"]) == ("selftest", "failed")
    assert run["message"].startswith("the agent on the board has no self-test")
    engine = EngineBoard(load_image(agent_elf()), {"xq_index": "signed"})
    monkeypatch.setattr(selftest_command, "RealBoard", lambda board: engine)
    few = partial(selftest_command.selftest, only=("xq_index",))
    monkeypatch.setattr(selftest_command, "selftest", few)
    done = emu("selftest", "--port", url)
    assert done.exit_code == 0, done.output
    assert "xq_index: signed; the emulator assumes" in done.output
    assert emu("selftest", "--port", url, "-q").output == ""
    run = last_run(tmp_path)
    fact = next(r for r in run["results"] if r["name"] == "selftest xq_index")
    assert (run["state"], fact["verdict"]) == ("finished", "equal")
    assert fact["message"].startswith("signed; the emulator assumes")


def test_bench_link_wants_a_port() -> None:
    assert emu("bench", "link").exit_code == 2
