"""A small pool of worker processes that survives the death of a worker.

The standard executors give up all work when one process dies. Here the task in hand is reported as crashed, a
new worker takes its place and everything else goes on. The parent has one thread only, so forking is safe at
any time.
"""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from emu.verify.watchdog import DEFAULT_SECONDS, Clock, use

_REPORT_SECONDS = 0.1
_PR_SET_PDEATHSIG = 1
_ENDING = (signal.SIGINT, signal.SIGTERM)
Handler = Callable[[Any, Callable[[int], None]], Any]
"""(task, progress) -> result, run in the worker."""


@dataclass
class Event:
    """News of a task: ``kind`` is progress (``value``: int), result, failed (``value``: text) or crashed
    (text).
    """

    kind: str
    task: Any
    value: Any


@dataclass
class _Worker:
    process: Any
    pipe: Connection
    clock: Clock
    task: Any = None
    busy: bool = False
    overdue: str = ""
    """Why it was ended, when a mirror did not return."""


class Pool:
    """``jobs`` processes, each of which makes its handler with ``factory()`` when it gets its first task."""

    def __init__(
        self, jobs: int, factory: Callable[[], Handler], mirror_seconds: float = DEFAULT_SECONDS
    ) -> None:
        """``mirror_seconds``: a worker whose mirror runs for longer is ended (emu.verify.watchdog)."""
        self._mirror_seconds = mirror_seconds
        self._context = multiprocessing.get_context("fork")
        self._factory = factory
        self._workers: list[_Worker] = []
        for _ in range(max(jobs, 1)):
            self._workers.append(self._spawn())

    def _spawn(self) -> _Worker:
        ours, theirs = self._context.Pipe()
        others = [w.pipe for w in self._workers] + [ours]
        clock = Clock()
        process = self._context.Process(
            target=_work, args=(theirs, others, self._factory, clock), daemon=True
        )
        with _held_back(_ENDING):
            process.start()
        theirs.close()
        return _Worker(process, ours, clock)

    def run(self, tasks: Iterable[Any], tick: float = 0.2) -> Iterator[Event | None]:
        """Yield events as they come, and None at least every ``tick`` seconds (to redraw a progress bar)."""
        waiting = iter(tasks)
        while True:
            for worker in self._workers:
                if not worker.busy:
                    self._give(worker, waiting)
            busy = {w.pipe: w for w in self._workers if w.busy}
            if not busy:
                return
            ready = multiprocessing.connection.wait(list(busy), tick)
            self._end_overdue()
            if not ready:
                yield None
            for pipe in ready:
                yield self._receive(busy[pipe])  # type: ignore[index]

    def _end_overdue(self) -> None:
        """Workers whose mirror does not return; their death is noticed when their pipe is read."""
        for worker in self._workers:
            text = worker.clock.overdue(self._mirror_seconds) if worker.busy and not worker.overdue else ""
            if text:
                worker.overdue = text
                worker.process.kill()

    def _give(self, worker: _Worker, waiting: Iterator[Any]) -> None:
        for task in waiting:
            worker.task, worker.busy = task, True
            # a worker that died while idle is noticed when its pipe is read
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                worker.pipe.send(task)
            return

    def _receive(self, worker: _Worker) -> Event:
        task = worker.task
        try:
            kind, value = worker.pipe.recv()
        except (EOFError, OSError):
            kind, value = "crashed", self._bury(worker)
        if kind != "progress":
            worker.busy, worker.task = False, None
        return Event(kind, task, value)

    def _bury(self, worker: _Worker) -> str:
        worker.process.join()
        worker.pipe.close()
        fresh = self._spawn_in_place_of(worker)
        code, overdue = worker.process.exitcode, worker.overdue
        worker.process, worker.pipe, worker.clock = fresh.process, fresh.pipe, fresh.clock
        worker.overdue = ""
        if overdue:
            return f"{overdue} (the worker process was ended)"
        return f"the worker process died ({_exit_text(code)})"

    def _spawn_in_place_of(self, worker: _Worker) -> _Worker:
        self._workers.remove(worker)
        try:
            return self._spawn()
        finally:
            self._workers.append(worker)

    def close(self) -> None:
        """End the workers at once; results that have not been read are lost."""
        for worker in self._workers:
            worker.process.terminate()
        for worker in self._workers:
            worker.process.join()
            worker.pipe.close()


def _exit_text(code: int | None) -> str:
    if code is not None and code < 0:
        return f"signal {signal.Signals(-code).name}"
    return f"exit status {code}"


@contextlib.contextmanager
def _held_back(signals: tuple[signal.Signals, ...]) -> Iterator[None]:
    """Signals wait until the end of the block, and in a process forked in it until the process lets them in.

    A new process still has the parent's handlers. One that raises inside the interpreter's own work after a
    fork is swallowed there: the process would then live on, and whoever ended it would wait for ever.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(pipe: Connection, others: list[Connection], factory: Callable[[], Handler], clock: Clock) -> None:
    _end_with_parent()
    use(clock)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ENDING)
    for other in others:
        other.close()
    handler: Handler | None = None
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        try:
            handler = handler or factory()
            news = ("result", handler(task, _reporter(pipe)))
        except BaseException as error:  # code of users may raise anything; Ctrl-C is the parent's
            news = ("failed", _one_line(error))
        try:
            pipe.send(news)
        except OSError:
            return  # nobody listens any more


def _end_with_parent() -> None:
    """A worker in code that never returns would go on for ever when its parent is killed (Linux)."""
    if sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    parent = multiprocessing.parent_process()
    if parent is not None and os.getppid() != parent.pid:  # it was killed before
        os._exit(1)


def _reporter(pipe: Connection) -> Callable[[int], None]:
    last = 0.0

    def report(done: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _REPORT_SECONDS:
            last = now
            pipe.send(("progress", done))

    return report


def _one_line(error: BaseException) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    text = str(error).strip()
    return f"{type(error).__name__}: {text.splitlines()[0] if text else ''}{where}"
