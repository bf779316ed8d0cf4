"""The SQLite file: where it is, its tables, and connections that survive killed writers.

Write-ahead logging with full synchronisation: a result that was committed is there after a crash of the
program or of the machine, and readers never wait for writers.
"""

from __future__ import annotations

import os
import sqlite3
import time
from pathlib import Path
from typing import Final

import platformdirs

VARIABLE: Final = "EMU_LEDGER"
OFF: Final = "off"
VERSION: Final = 3
_PATIENCE_SECONDS = 60.0
_PAUSE_SECONDS = 0.002

_TABLES = """
CREATE TABLE runs (
    id TEXT PRIMARY KEY,
    started TEXT NOT NULL,      -- UTC, ISO 8601
    seconds REAL,               -- NULL while it runs, and for ever when it was killed
    state TEXT NOT NULL,        -- running, finished, interrupted, failed
    kind TEXT NOT NULL,         -- kernels, models, golden check, bench engine, mutate, ... (docs/goldens.md)
    program TEXT NOT NULL,
    commit_id TEXT,             -- of the folder that the run was started in
    dirty INTEGER,
    image TEXT,
    image_sha256 TEXT,
    target TEXT NOT NULL,
    board TEXT,
    seed INTEGER,
    examples INTEGER,
    fingerprint TEXT,           -- same fingerprint: a finished result may stand for another run
    exit_code INTEGER,
    host TEXT
);
CREATE TABLE results (
    run TEXT NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    name TEXT NOT NULL,
    verdict TEXT NOT NULL,
    cases INTEGER NOT NULL,
    differ INTEGER NOT NULL,
    instructions INTEGER NOT NULL,
    seconds REAL NOT NULL,
    retries INTEGER NOT NULL DEFAULT 0,
    message TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (run, name)
);
CREATE INDEX results_by_name ON results(name);
"""

_SINCE: Final = {
    1: """
ALTER TABLE results ADD COLUMN stages INTEGER NOT NULL DEFAULT 0;
ALTER TABLE results ADD COLUMN internal_ram INTEGER NOT NULL DEFAULT 0;
CREATE TABLE stages (           -- what the stages of a result cost; families of stages, see emu.models.names
    run TEXT NOT NULL,
    name TEXT NOT NULL,
    stage TEXT NOT NULL,
    instructions INTEGER NOT NULL,
    seconds REAL NOT NULL,
    PRIMARY KEY (run, name, stage),
    FOREIGN KEY (run, name) REFERENCES results(run, name) ON DELETE CASCADE
);
CREATE TABLE sessions (         -- what happened on the line to a board
    run TEXT PRIMARY KEY REFERENCES runs(id) ON DELETE CASCADE,
    port TEXT NOT NULL,
    requests INTEGER NOT NULL,
    sent INTEGER NOT NULL,
    received INTEGER NOT NULL,
    mended INTEGER NOT NULL,    -- what had to be done again on the line
    told TEXT NOT NULL,         -- the same in words
    board TEXT NOT NULL,        -- its MAC address, "" when it never answered
    build TEXT NOT NULL         -- what its agent said of the firmware
);
""",
    2: """
ALTER TABLE runs ADD COLUMN message TEXT NOT NULL DEFAULT '';
CREATE TABLE figures (          -- what was measured, over the rounds of one run
    run TEXT NOT NULL,
    name TEXT NOT NULL,
    figure TEXT NOT NULL,       -- of what, and in which unit
    median REAL NOT NULL,
    low REAL NOT NULL,
    high REAL NOT NULL,
    PRIMARY KEY (run, name, figure),
    FOREIGN KEY (run, name) REFERENCES results(run, name) ON DELETE CASCADE
);
""",
}
"""What makes the tables of the next version from those of a version; a new file takes all steps."""


class LedgerError(Exception):
    """The file cannot be used; says which one and what to do. Never a reason to lose a run."""


def ledger_path() -> Path | None:
    """The file that ``EMU_LEDGER`` names, the user's own without it, None for ``off``."""
    named = os.environ.get(VARIABLE)
    if named == OFF:
        return None
    if named:
        return Path(named).expanduser().absolute()
    return Path(platformdirs.user_data_dir("esp32s3-emu")) / "ledger.sqlite"


def connect(path: Path, create: bool = True) -> sqlite3.Connection:
    """Open the ledger. Raises LedgerError."""
    if not create and not path.is_file():
        raise LedgerError(f"{path}: no run is recorded yet; set {VARIABLE} if your ledger is elsewhere")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=_PATIENCE_SECONDS, isolation_level=None)
        connection.row_factory = sqlite3.Row
        _prepare_patiently(connection, path)
    except (sqlite3.Error, OSError) as error:
        raise ledger_error(path, error) from error
    return connection


def ledger_error(path: Path, error: Exception) -> LedgerError:
    """What is wrong with the file, and what to do."""
    if isinstance(error, sqlite3.DatabaseError) and "not a database" in str(error):
        return LedgerError(f"{path}: no ledger ({error}); move it away, a new one is made")
    return LedgerError(f"{path}: {error}; name another file with {VARIABLE}, or {VARIABLE}={OFF}")


def _prepare_patiently(connection: sqlite3.Connection, path: Path) -> None:
    """Prepare again while another process makes the same file.

    SQLite does not wait when two connections change a file to write-ahead logging at once: it says "locked"
    to one of them, whatever its timeout.
    """
    end = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            return _prepare(connection, path)
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(_PAUSE_SECONDS)


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("PRAGMA foreign_keys = ON")
    if _version(connection) < VERSION:
        _migrate(connection)
    if _version(connection) != VERSION:
        raise LedgerError(
            f"{path}: ledger version {_version(connection)}, this program knows {VERSION}; update the "
            f"program, or name another file with {VARIABLE}"
        )


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _migrate(connection: sqlite3.Connection) -> None:
    """Make or mend the tables in one transaction; of several processes that try, one does."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for version in range(_version(connection), VERSION):
            for statement in (_SINCE[version] if version else _TABLES).split(";\n"):
                if statement.strip():
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {version + 1}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise
