"""Random bytes as code on translated code: the process lives, and both tiers agree.

Every chunk runs in a process of its own, with guest memory and the processor's state between pages that
cannot be touched: an access outside of them ends that process and is reported with the seed of the program.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SLOWEST = 10.0
"""Seconds for a program: far above what one takes, far below a hang."""


def run_chunk(first: int, count: int) -> list[str]:
    """Lines about how programs ended. Fails with the seed of the program that ended the process."""
    command = [sys.executable, "-m", "tests.robust.child", str(first), str(count)]
    try:
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=60 + SLOWEST * count, check=False
        )
    except subprocess.TimeoutExpired as late:
        out = late.stdout.decode() if isinstance(late.stdout, bytes) else late.stdout or ""
        pytest.fail(f"hangs at {last_seed(out)}", pytrace=False)
    if done.returncode or not done.stdout.endswith("done\n"):
        how = f"signal {-done.returncode}" if done.returncode < 0 else f"exit code {done.returncode}"
        pytest.fail(f"{how} at {last_seed(done.stdout)}\n{done.stderr[-3000:]}", pytrace=False)
    return [line for line in done.stdout.splitlines() if line.startswith("end ")]


def last_seed(out: str) -> str:
    """The program that was running."""
    seeds = [line for line in out.splitlines() if line.startswith("seed ")]
    return seeds[-1] if seeds else "the start"


def test_random_programs() -> None:
    ends = run_chunk(0, 100)
    assert len(ends) >= 6, ends


CRASH = """
import ctypes, sys
sys.path.insert(0, {root!r})
from tests.robust.machine import Machine
machine = Machine("stepper", "built-in")
region = machine.engine.memory.find(machine.engine.arena.start)
edge = region.buffer.address + ({offset})
print("touching", flush=True)
ctypes.memset(edge, 1, 1)
print("survived")
"""


@pytest.mark.parametrize(("offset", "survives"), [("0", True), ("-1", False), ("region.buffer.size", False)])
def test_the_guard_pages_guard(offset: str, survives: bool) -> None:
    """A store one byte outside of guest memory ends the process."""
    code = CRASH.format(root=str(ROOT), offset=offset)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "touching" in done.stdout
    assert ("survived" in done.stdout) == survives
    assert (done.returncode == 0) == survives


def test_a_crash_is_reported_with_its_seed() -> None:
    assert last_seed("seed 5\nseed 6\n") == "seed 6"
    assert last_seed("") == "the start"
