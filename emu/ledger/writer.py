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
from types import MappingProxyType
from typing import Final, Self

from emu.ledger.commit import current_commit
from emu.ledger.database import LedgerError, connect, ledger_error, ledger_path
from emu.verify.verdict import EXIT_INTERRUPTED

Statement = tuple[str, tuple[object, ...]]


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
    stages: int = 0
    """Of a model or golden: stages that were compared."""
    internal_ram: int = 0
    """Most bytes of internal RAM in use at one time."""


@dataclass(frozen=True)
class Cost:
    """What a stage of a model takes on the target."""

    instructions: int = 0
    seconds: float = 0.0


MEASURED: Final = "measured"
"""The verdict of a result that is there for its figures."""


@dataclass(frozen=True)
class Figure:
    """What was measured, over the rounds of one run; its unit is in its name."""

    median: float
    low: float
    high: float

    @classmethod
    def once(cls, value: float) -> Self:
        """Measured in one round."""
        return cls(value, value, value)


@dataclass(frozen=True)
class Session:
    """What happened on the line to a board; see the table ``sessions``. ``board``: its MAC address."""

    port: str
    requests: int
    sent: int
    received: int
    mended: int
    told: str
    board: str = ""
    build: str = ""


class RunWriter:
    """A run in the ledger. What was added is safe at once.

    Used as a context manager, so that no run stays open: one that an error leaves before :meth:`end` is kept
    as interrupted (Ctrl-C, SIGTERM) or as failed, with the error. Trouble with the file never stops a run:
    ``notes`` says what went wrong, and writing ends.
    """

    def __init__(self, run: Run, path: Path | None = None) -> None:
        """``path``: None for :func:`ledger_path`, which may say that nothing is written."""
        self.id = uuid.uuid4().hex[:16]
        self.notes: list[str] = []
        self._path = path or ledger_path()
        self._started = time.monotonic()
        self._is_open = True
        self._try(lambda: self._begin(run))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if not self._is_open:
            return
        if error is None or is_interruption(error):
            self.end(EXIT_INTERRUPTED if error else 0, interrupted=error is not None)
        else:
            self._close("failed", None, str(error) or type(error).__name__)

    def add(
        self,
        result: Result,
        costs: Mapping[str, Cost] = MappingProxyType({}),
        figures: Mapping[str, Figure] = MappingProxyType({}),
    ) -> None:
        """Keep a finished result; a later one of the same name replaces it.

        ``costs``: by stage; ``figures``: what was measured, by name.
        """
        statements = [_insert("results", {"run": self.id, **result.__dict__}, "OR REPLACE")]
        for table, key, parts in (("stages", "stage", costs), ("figures", "figure", figures)):
            for part, value in parts.items():
                named = {"run": self.id, "name": result.name, key: part, **value.__dict__}
                statements.append(_insert(table, named, "OR REPLACE"))
        self._try(lambda: self._execute(*statements))

    def tell(self, session: Session) -> None:
        """What happened on the line up to now; a later call replaces it."""
        values = {"run": self.id, **session.__dict__}
        statements = [_insert("sessions", values, "OR REPLACE")]
        if session.board:
            statements.append(("UPDATE runs SET board = ? WHERE id = ?", (session.board, self.id)))
        self._try(lambda: self._execute(*statements))

    def end(self, exit_code: int, interrupted: bool = False) -> None:
        """The run is over."""
        self._close("interrupted" if interrupted else "finished", exit_code)

    def _close(self, state: str, exit_code: int | None, message: str = "") -> None:
        self._is_open = False
        seconds = time.monotonic() - self._started
        statement = "UPDATE runs SET state = ?, seconds = ?, exit_code = ?, message = ? WHERE id = ?"
        self._try(lambda: self._execute((statement, (state, seconds, exit_code, message, self.id))))

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
        self._execute(_insert("runs", values))

    def _execute(self, *statements: Statement) -> None:
        """All or none. A connection each time: workers are forked in between, SQLite must not be forked."""
        assert self._path is not None
        with closing(connect(self._path)) as connection:
            try:
                connection.execute("BEGIN IMMEDIATE")
                for statement in statements:
                    connection.execute(*statement)
                connection.execute("COMMIT")
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


def is_interruption(error: BaseException | None) -> bool:
    """Whether it is Ctrl-C, or what somebody made of it: a compiler that it stopped raises what it likes."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _insert(table: str, values: Mapping[str, object], conflict: str = "") -> Statement:
    names, marks = ", ".join(values), ", ".join("?" * len(values))
    return f"INSERT {conflict} INTO {table} ({names}) VALUES ({marks})", tuple(values.values())


UNDECIDED: Final = ("tool error", "link fault", "not run")
"""Verdicts that say nothing about the code under test: the same may be asked again."""


def finished_equal(fingerprint: str, path: Path | None = None) -> dict[str, Result]:
    """What a resumed run with that fingerprint need not compute again: results ``equal``, by name.

    They are those of the runs since the last complete one, however often these were killed and resumed. A
    run is complete when it came to its end and has a verdict about the code for each name. Raises
    LedgerError.
    """
    path = path or ledger_path()
    if path is None or not path.is_file():
        return {}
    with closing(connect(path)) as connection:
        try:
            return _equal_since_complete(connection, fingerprint)
        except sqlite3.Error as error:
            raise ledger_error(path, error) from error


def _equal_since_complete(connection: sqlite3.Connection, fingerprint: str) -> dict[str, Result]:
    runs = connection.execute(
        "SELECT id, state FROM runs WHERE fingerprint = ? ORDER BY started DESC, rowid DESC", (fingerprint,)
    )
    newest: dict[str, Result] = {}
    columns = ", ".join(Result.__dataclass_fields__)
    for run in runs.fetchall():
        rows = connection.execute(f"SELECT {columns} FROM results WHERE run = ?", (run["id"],))
        found = [Result(**dict(row)) for row in rows]
        if run["state"] == "finished" and not any(result.verdict in UNDECIDED for result in found):
            break
        for result in found:
            newest.setdefault(result.name, result)
    return {name: result for name, result in newest.items() if result.verdict == "equal"}
