"""The pool: all results arrive, and a dying worker costs its own task only."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from emu.verify.pool import Pool


def make_handler():
    def handle(task, progress):
        if task == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if task == "exit":
            os._exit(3)
        if task == "raise":
            raise ValueError("bad luck\nsecond line")
        if task == "slow":
            for i in range(4):
                progress(i)
                time.sleep(0.12)
        return (task, os.getpid())

    return handle


def events(tasks, jobs=2):
    pool = Pool(jobs, make_handler)
    try:
        return [e for e in pool.run(tasks) if e is not None]
    finally:
        pool.close()


def test_all_results_arrive():
    found = events(range(50))
    assert sorted(e.value[0] for e in found) == list(range(50))
    assert {e.kind for e in found} == {"result"}
    assert len({e.value[1] for e in found}) == 2


ENDLESS = """
import os, sys
from emu.verify.pool import Pool
def endless(task, progress):
    print(os.getpid(), flush=True)
    while True: pass
list(Pool(1, lambda: endless).run([1]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends a child with its parent")
def test_a_worker_that_never_returns_ends_with_its_killed_parent():
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    parent = subprocess.Popen([sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, env=environment)
    worker = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    assert parent.stdout.read() == b""  # the worker held the other end: without its end this waits for ever
    assert not Path(f"/proc/{worker}/cmdline").exists() or not Path(f"/proc/{worker}/cmdline").read_bytes()


def test_nothing_to_do():
    assert events([]) == []


@pytest.mark.parametrize(("word", "text"), [("die", "SIGKILL"), ("exit", "exit status 3")])
def test_a_dying_worker_costs_one_task(word, text):
    found = events([1, word, 2, 3, word, 4])
    crashed = [e for e in found if e.kind == "crashed"]
    assert [e.task for e in crashed] == [word, word]
    assert all(text in e.value for e in crashed)
    assert sorted(e.task for e in found if e.kind == "result") == [1, 2, 3, 4]


def test_every_worker_may_die_at_once():
    found = events(["die"] * 6 + [1])
    assert sum(e.kind == "crashed" for e in found) == 6
    assert found[-1].kind == "result" or any(e.kind == "result" for e in found)


def test_an_exception_is_one_line_with_its_place():
    found = events(["raise", 1], jobs=1)
    assert found[0].kind == "failed"
    assert found[0].value.startswith("ValueError: bad luck (test_verify_pool.py:")
    assert found[1].kind == "result"


def test_progress_and_ticks():
    pool = Pool(1, make_handler)
    seen = list(pool.run(["slow"], tick=0.02))
    pool.close()
    assert None in seen
    assert [e.value for e in seen if e is not None and e.kind == "progress"][:1] == [0]


def test_a_factory_that_fails_is_reported_for_each_task():
    def broken():
        raise RuntimeError("no engine")

    pool = Pool(2, broken)
    found = [e for e in pool.run([1, 2, 3]) if e is not None]
    pool.close()
    assert [e.kind for e in found] == ["failed"] * 3
    assert all("no engine" in e.value for e in found)


def test_close_ends_busy_workers():
    pool = Pool(2, lambda: lambda task, progress: time.sleep(60))
    stream = pool.run([1, 2], tick=0.05)
    next(stream)
    started = time.monotonic()
    pool.close()
    assert time.monotonic() - started < 5


def test_workers_end_although_the_parent_makes_sigterm_an_exception():
    """A worker that is ended while it starts still has the parent's handler."""

    def interrupt(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        for _ in range(100):
            pool = Pool(2, lambda: lambda task, progress: task)
            pool.close()
    finally:
        signal.signal(signal.SIGTERM, before)
