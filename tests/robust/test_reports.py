"""Reports go where they were sent, destroy nothing on the way, and never take the verdict with them."""

from __future__ import annotations

import json
import os
import stat
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner

from emu.cli import main
from emu.models.modelfile.writer import write_file
from emu.verify.errors import ToolError
from emu.verify.records import write_whole


@pytest.fixture(autouse=True)
def _own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EMU_CACHE_DIR", str(tmp_path / "cache"))


def verify(*words: str) -> tuple[int, str]:
    fixed = ["verify", "--target", "mirror", "--kernel", "exp_array", "--examples", "4", "--no-memory"]
    result = CliRunner().invoke(main, [*fixed, *words])
    said = result.output + result.stderr
    assert "internal error" not in said
    assert "Traceback" not in said
    return result.exit_code, said


@pytest.mark.parametrize("write", [write_whole, write_file])
def test_a_pipe_stays_a_pipe_and_gets_the_report(write) -> None:
    pipe = Path("pipe")
    os.mkfifo(pipe)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(pipe.read_bytes()), daemon=True)
    reader.start()
    write(pipe, b"report")
    reader.join(20)
    assert found == [b"report"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.parametrize("write", [write_whole, write_file])
def test_a_link_stays_a_link(write) -> None:
    Path("real").write_bytes(b"old")
    Path("link").symlink_to("real")
    write(Path("link"), b"new")
    assert Path("link").is_symlink()
    assert Path("real").read_bytes() == b"new"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_costs_the_report_and_not_the_table() -> None:
    code, said = verify("--json", "/dev/full")
    assert code == 5
    assert "1 equal" in said
    assert "/dev/full cannot be written: No space left" in said
    assert not Path("/dev/full").is_file()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--out", "file"), "is a file, not a folder"),
        (("--out", "file/deeper"), "is a file, not a folder"),
        (("--json", "file/r.json"), "is a file, not a folder"),
        (("--json", "folder"), "a folder; name a file in it"),
        (("--junit", "folder"), "a folder; name a file in it"),
    ],
)
def test_places_that_cannot_take_a_report_are_found_before_the_run(
    words: tuple[str, ...], message: str
) -> None:
    Path("file").write_text("x")
    Path("folder").mkdir()
    code, said = verify(*words)
    assert code == 2
    assert message in said
    assert "1 kernels" not in said
    assert Path("file").read_text() == "x"


def test_folders_are_made() -> None:
    assert verify("--json", "a/b/r.json", "--out", "c/d")[0] == 0
    assert json.loads(Path("a/b/r.json").read_text()) == json.loads(Path("c/d/report.json").read_text())


def test_a_name_that_is_too_long_has_one_message() -> None:
    with pytest.raises(ToolError, match="cannot be written"):
        write_whole(Path("a" * 300), b"x")
