"""Runs that are ended from outside keep what they have and leave no process behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPEC = """
import time
from emu.kernels.spec import Dim, Scalar, Tensor, kernel

for number in range(3):
    @kernel(f"slow_{number}", Tensor("y", "int8", ("n",), role="out"), Scalar("n", "int32", "n"),
            dims=(Dim("n", 0, 9),))
    def slow(y, n):
        time.sleep(0.05)
        y[:] = 0
"""


def start(folder: Path) -> subprocess.Popen[str]:
    (folder / "spec.py").write_text(SPEC)
    words = ["verify", "--target", "mirror", "--spec", "spec.py", "--kernel", "slow_*", "--examples", "40"]
    return subprocess.Popen(
        [sys.executable, "-m", "emu.cli", *words, "--jobs", "2", "--no-memory", "--out", "out"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "EMU_CACHE_DIR": str(folder / "cache")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(path: Path, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not path.exists():
        assert time.monotonic() < end, f"{path} did not appear"
        time.sleep(0.05)


def alive(group: int) -> list[str]:
    """Processes of a group that still run (zombies that nobody buries in a container do not)."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, pgrp = stat.read_text().rpartition(")")[2].split()[:3]
        except OSError:
            continue
        if int(pgrp) == group and state != "Z":
            found.append(stat.parent.name)
    return found


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_what_is_finished_is_reported(number: signal.Signals, tmp_path: Path) -> None:
    run = start(tmp_path)
    wait_for(tmp_path / "out" / "partial.json")
    run.send_signal(number)
    output, errors = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "Traceback" not in output + errors
    assert "interrupted: 3 kernels" in output
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert report["interrupted"] is True
    assert any(kernel["examples"] for kernel in report["kernels"])
    assert alive(run.pid) == []


def test_killed_runs_leave_a_partial_report_and_no_workers(tmp_path: Path) -> None:
    run = start(tmp_path)
    wait_for(tmp_path / "out" / "partial.json")
    run.kill()
    run.communicate(timeout=60)
    report = json.loads((tmp_path / "out" / "partial.json").read_text())
    assert any(kernel["examples"] for kernel in report["kernels"])
    end = time.monotonic() + 30
    while alive(run.pid):
        assert time.monotonic() < end, "workers outlive their parent"
        time.sleep(0.1)
    again = start(tmp_path)
    output, _ = again.communicate(timeout=120)
    assert again.returncode == 0, output
