"""Ending commands by SIGKILL at any moment, and what has to be true afterwards."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

COMMAND = (sys.executable, "-c", "from emu.cli import main; main()")
PATIENCE = 60.0
"""Seconds for processes to disappear: they end at once, on a machine that has time for them."""
Row = dict[str, Any]


@dataclass
class Run:
    """One command in a session of its own, so that whatever it starts can be found again."""

    words: tuple[str, ...]
    folder: Path
    environment: dict[str, str]
    process: subprocess.Popen[str] = field(init=False)

    def __post_init__(self) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *self.words],
            cwd=self.folder,
            env={**os.environ, **self.environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def end(self) -> str:
        """Wait until the command and all that it started are gone; what it printed."""
        told, _ = self.process.communicate()
        limit = time.monotonic() + PATIENCE
        while (left := session_members(self.process.pid)) and time.monotonic() < limit:
            time.sleep(0.02)
        assert not left, (
            f"processes {left} outlive {self.words}, which was ended by {self.process.returncode}"
        )
        return told

    def kill(self, whom: str, rng: random.Random) -> bool:
        """SIGKILL to ``all``, the ``parent`` or one ``worker``; False when there was nobody to kill."""
        if self.process.poll() is not None:
            return False
        workers = [pid for pid in session_members(self.process.pid) if pid != self.process.pid]
        if whom == "worker" and not workers:
            return False
        with contextlib.suppress(ProcessLookupError):
            if whom == "all":
                os.killpg(self.process.pid, signal.SIGKILL)
            else:
                os.kill(self.process.pid if whom == "parent" else rng.choice(workers), signal.SIGKILL)
            return True
        return False


def session_members(session: int) -> list[int]:
    """Processes of a session that are alive (Linux)."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, _, _, of = path.read_text().rpartition(")")[2].split()[:4]
            if int(of) == session and state not in "ZX":
                found.append(int(path.parent.name))
    return found


def rows(ledger: Path, statement: str, *values: object) -> list[Row]:
    """What a query of the ledger gives; the ledger must be sound."""
    if not ledger.is_file():
        return []
    with closing(sqlite3.connect(ledger, timeout=PATIENCE)) as connection:
        connection.row_factory = sqlite3.Row
        assert connection.execute("PRAGMA integrity_check").fetchall()[0][0] == "ok"
        assert not connection.execute("PRAGMA foreign_key_check").fetchall()
        if not connection.execute("PRAGMA user_version").fetchone()[0]:
            return []
        return [dict(row) for row in connection.execute(statement, values)]


@dataclass
class Campaign:
    """One ``emu`` command that is killed, resumed, and compared with the run that nobody disturbed."""

    words: tuple[str, ...]
    folder: Path
    fresh_cache: int = 5
    """Every so many rounds the cache is empty, so that some moments are in the middle of writing it."""

    def __post_init__(self) -> None:
        self.ledger = self.folder / "ledger.sqlite"
        self.out = self.folder / "out"
        self.cache = self.folder / "cache"
        self.expected = self.verdicts(self.run("--json", "undisturbed.json"), "undisturbed.json")
        started = time.monotonic()
        self.run()
        self.seconds = time.monotonic() - started

    def start(self, *more: str) -> Run:
        """Begin the command."""
        places = {"EMU_LEDGER": str(self.ledger), "EMU_CACHE_DIR": str(self.cache)}
        return Run((*self.words, *more), self.folder, places)

    def run(self, *more: str) -> tuple[int, str]:
        """The whole command: its exit code and what it printed."""
        run = self.start(*more)
        told = run.end()
        return run.process.returncode, told

    def verdicts(self, done: tuple[int, str], name: str) -> Row:
        """What a run found, without times: exit code, and the decided facts of each kernel."""
        code, told = done
        assert code in (0, 1), told
        kernels = json.loads((self.folder / name).read_bytes())["kernels"]
        facts = {k["kernel"]: _facts(k) for k in kernels}
        return {"exit code": code, **facts}

    def round(self, number: int, seed: int) -> str:
        """Kill a run at a moment, perhaps its continuation too, and let it come to its end; a line on it."""
        rng = random.Random(f"{seed} {number}")
        if number % self.fresh_cache == 0:
            shutil.rmtree(self.cache, ignore_errors=True)
        whom = ("all", "parent", "worker")[number % 3]
        told, moment = self.killed(rng, whom)
        if number % 4 == 3:
            told += self.killed(rng, "all", "--resume")[0]
        return self.resumed(f"{number:2} kill {whom:6} after {moment:.2f} s: ", told)

    def killed(self, rng: random.Random, whom: str, *more: str) -> tuple[list[Row], float]:
        """(results that the ledger has of the killed run, the moment); tries until a kill came in time."""
        longest = self.seconds
        while True:
            moment = rng.uniform(0, longest)
            shutil.rmtree(self.out, ignore_errors=True)
            run = self.start("--out", str(self.out), *more)
            with contextlib.suppress(subprocess.TimeoutExpired):
                run.process.wait(moment)
            hit = run.kill(whom, rng)
            output = run.end()
            kept = self.kept()
            if hit and (run.process.returncode < 0 or "SIGKILL" in output) and not self.complete():
                return kept, moment
            longest = max(longest * 0.9, 1.0)

    def complete(self) -> bool:
        """Whether the last run has come to its end with a verdict for everything: it was killed too late."""
        state = rows(self.ledger, "SELECT state FROM runs ORDER BY rowid DESC LIMIT 1")
        return bool(state) and state[0]["state"] == "finished" and not self._undecided()

    def _undecided(self) -> bool:
        last = "SELECT id FROM runs ORDER BY rowid DESC LIMIT 1"
        found = rows(self.ledger, f"SELECT verdict FROM results WHERE run = ({last})")
        return any(row["verdict"] == "tool error" for row in found)

    def kept(self) -> list[Row]:
        """Results in the ledger of the last run; everything that was told as finished must be among them."""
        last = rows(self.ledger, "SELECT id FROM runs ORDER BY rowid DESC LIMIT 1")
        found = rows(self.ledger, "SELECT * FROM results WHERE run = ?", last[0]["id"] if last else "")
        names = {row["name"] for row in found}
        for path in (self.out / "partial.json", self.out / "report.json"):
            if path.is_file():  # whole, or not there
                told = {
                    k["kernel"] for k in json.loads(path.read_bytes())["kernels"] if k["verdict"] != "not run"
                }
                assert told <= names, f"told as finished, not in the ledger: {sorted(told - names)}"
        return found

    def resumed(self, line: str, kept: list[Row]) -> str:
        """The run that goes on: same verdicts, and nothing that was finished is computed again."""
        done = self.run("--resume", "--json", "resumed.json")
        assert self.verdicts(done, "resumed.json") == self.expected, f"{line}\n{done[1]}"
        equal = {row["name"]: row for row in kept if row["verdict"] == "equal"}
        last = rows(self.ledger, "SELECT id, state FROM runs ORDER BY rowid DESC LIMIT 1")[0]
        assert last["state"] == "finished"
        now = {r["name"]: r for r in rows(self.ledger, "SELECT * FROM results WHERE run = ?", last["id"])}
        for name, row in equal.items():
            # a result that was computed again would hardly have taken the same time to the last bit
            assert now[name]["seconds"] == row["seconds"], f"{name} was computed again"
        count = len(self.expected) - 1
        wanted = f"resumed: {len(equal)} of {count} kernels" if equal else "nothing to resume"
        assert wanted in done[1], done[1]
        return f"{line}{len(kept)} results kept, {len(equal)} not computed again, verdicts as undisturbed"


def _facts(kernel: Row) -> tuple[Any, ...]:
    failure = kernel["failure"]
    if failure is None:
        return kernel["verdict"], kernel["examples"], kernel["instructions"], kernel["error"]
    return kernel["verdict"], failure["example"]  # how far it was shrunk depends on the time there was
