"""Writing a run: begun, its results one by one as they are finished, ended."""

from __future__ import annotations

import platform
import sqlite3
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from emu.ledger.commit import current_commit
from emu.ledger.database import LedgerError, connect, ledger_error, ledger_path


@dataclass(frozen=True)
class Run:
    """What is known of a run when it begins; see the table ``runs``."""

    kind: str
    target: str
    program: str
    image: str | None = None
    image_sha256: str | None = None
    board: str | None = None
    seed: int | None = None
    examples: int | None = None
    fingerprint: str | None = None


@dataclass(frozen=True)
class Result:
    """One finished kernel, model or golden; ``message``: the first thing that differs."""

    name: str
    verdict: str
    cases: int = 0
    differ: int = 0
    instructions: int = 0
    seconds: float = 0.0
    retries: int = 0
    message: str = ""


class RunWriter:
    """A run in the ledger. What was added is safe at once.

    Trouble with the file never stops a run: ``notes`` says what went wrong, and writing ends.
    """

    def __init__(self, run: Run, path: Path | None = None) -> None:
        """``path``: None for :func:`ledger_path`, which may say that nothing is written."""
        self.id = uuid.uuid4().hex[:16]
        self.notes: list[str] = []
        self._path = path or ledger_path()
        self._started = time.monotonic()
        self._try(lambda: self._begin(run))

    def add(self, result: Result) -> None:
        """Keep a finished result; a later one of the same name replaces it."""
        values = {"run": self.id, **result.__dict__}
        self._try(lambda: self._insert("results", values, "OR REPLACE"))

    def end(self, exit_code: int, interrupted: bool = False) -> None:
        """The run is over."""
        state = "interrupted" if interrupted else "finished"
        seconds = time.monotonic() - self._started
        statement = "UPDATE runs SET state = ?, seconds = ?, exit_code = ? WHERE id = ?"
        self._try(lambda: self._execute(statement, (state, seconds, exit_code, self.id)))

    def _begin(self, run: Run) -> None:
        commit, dirty = current_commit()
        values = {
            "id": self.id,
            "started": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "state": "running",
            "commit_id": commit,
            "dirty": dirty,
            "host": platform.node(),
            **run.__dict__,
        }
        self._insert("runs", values)

    def _insert(self, table: str, values: Mapping[str, object], conflict: str = "") -> None:
        names, marks = ", ".join(values), ", ".join("?" * len(values))
        self._execute(f"INSERT {conflict} INTO {table} ({names}) VALUES ({marks})", tuple(values.values()))

    def _execute(self, statement: str, values: tuple[object, ...]) -> None:
        """A connection for each statement: workers are forked in between, and SQLite must not be forked."""
        assert self._path is not None
        with closing(connect(self._path)) as connection:
            try:
                connection.execute(statement, values)
            except sqlite3.Error as error:
                raise ledger_error(self._path, error) from error

    def _try(self, step: Callable[[], None]) -> None:
        if self._path is None:
            return
        try:
            step()
        except LedgerError as error:
            self.notes.append(f"this run is not in the ledger from here on: {error}")
            self._path = None


def finished_equal(fingerprint: str, path: Path | None = None) -> dict[str, Result]:
    """Results ``equal`` of the last run with that fingerprint if it did not finish: a resumed run skips them.

    Raises LedgerError.
    """
    path = path or ledger_path()
    if path is None or not path.is_file():
        return {}
    connection = connect(path)
    try:
        run = connection.execute(
            "SELECT id, state FROM runs WHERE fingerprint = ? ORDER BY started DESC, rowid DESC LIMIT 1",
            (fingerprint,),
        ).fetchone()
        if run is None or run["state"] == "finished":
            return {}
        rows = connection.execute(
            "SELECT name, verdict, cases, differ, instructions, seconds, retries, message "
            "FROM results WHERE run = ? AND verdict = 'equal'",
            (run["id"],),
        )
        return {row["name"]: Result(**dict(row)) for row in rows}
    except sqlite3.Error as error:
        raise ledger_error(path, error) from error
    finally:
        connection.close()
