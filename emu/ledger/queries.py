"""Questions to the ledger: what ran, how a kernel fared, since which commit it is wrong, what flickers."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

BAD = ("mismatch", "board fault")
"""Verdicts that say something about the code under test."""


@dataclass(frozen=True)
class FirstBad:
    """Since when a name is wrong; ``good``: the last run before that was equal, None when there is none."""

    name: str
    good: dict[str, Any] | None
    bad: dict[str, Any]


@dataclass(frozen=True)
class Flaky:
    """A name with different verdicts although everything that decides was the same."""

    name: str
    board: str
    fingerprint: str
    verdicts: dict[str, int]


@dataclass(frozen=True)
class Slower:
    """Guest instructions a case on two images: exact, so any change is real."""

    name: str
    before: float
    after: float
    image_before: str
    image_after: str

    @property
    def ratio(self) -> float:
        """After over before."""
        return self.after / self.before


def runs(connection: sqlite3.Connection, last: int) -> list[dict[str, Any]]:
    """The last runs, the newest first, each with the number of its results that are not equal."""
    rows = connection.execute(
        "SELECT runs.*, COUNT(results.name) AS results, "
        "COALESCE(SUM(results.verdict != 'equal'), 0) AS wrong, COALESCE(SUM(cases), 0) AS cases, "
        "COALESCE(SUM(results.retries), 0) AS retries "
        "FROM runs LEFT JOIN results ON results.run = runs.id "
        "GROUP BY runs.id ORDER BY started DESC, runs.rowid DESC LIMIT ?",
        (last,),
    )
    return [dict(row) for row in rows]


def results_of(connection: sqlite3.Connection, run: str) -> list[dict[str, Any]]:
    """Results of the run whose id begins with ``run``."""
    rows = connection.execute(
        "SELECT * FROM results WHERE run LIKE ? || '%' ORDER BY run, rowid", (run.replace("%", ""),)
    )
    return [dict(row) for row in rows]


def trend(connection: sqlite3.Connection, name: str) -> list[dict[str, Any]]:
    """Every result of a name, the oldest first, with what is known of its run."""
    rows = connection.execute(
        "SELECT results.*, started, seed, commit_id, dirty, image_sha256, target, board, fingerprint "
        "FROM results JOIN runs ON runs.id = results.run WHERE name = ? ORDER BY started, runs.rowid",
        (name,),
    )
    return [dict(row) for row in rows]


def names(connection: sqlite3.Connection) -> list[str]:
    """Everything that ever had a result."""
    return [row[0] for row in connection.execute("SELECT DISTINCT name FROM results ORDER BY name")]


def first_bad(connection: sqlite3.Connection, name: str) -> FirstBad | None:
    """The first wrong result of the present series of wrong ones; None when the last one is right."""
    good: dict[str, Any] | None = None
    bad: dict[str, Any] | None = None
    for result in trend(connection, name):
        if result["verdict"] in BAD:
            bad = bad or result
        elif result["verdict"] == "equal":
            good, bad = result, None
    return None if bad is None else FirstBad(name, good, bad)


def flaky(connection: sqlite3.Connection) -> list[Flaky]:
    """Names whose verdict changed between runs of the same fingerprint on the same board."""
    rows = connection.execute(
        "SELECT name, COALESCE(board, target) AS board, fingerprint, verdict, COUNT(*) AS n "
        "FROM results JOIN runs ON runs.id = results.run WHERE fingerprint IS NOT NULL "
        "GROUP BY name, 2, fingerprint, verdict ORDER BY name, 2"
    ).fetchall()
    found: dict[tuple[str, str, str], dict[str, int]] = {}
    for row in rows:
        found.setdefault((row["name"], row["board"], row["fingerprint"]), {})[row["verdict"]] = row["n"]
    return [Flaky(*key, verdicts) for key, verdicts in found.items() if len(verdicts) > 1]


def slower(connection: sqlite3.Connection, threshold: float) -> list[Slower]:
    """Names that need ``threshold`` times the instructions of the image before, or more; the worst first."""
    found = [_step(name, trend(connection, name)) for name in names(connection)]
    worse = [step for step in found if step is not None and step.ratio >= threshold]
    return sorted(worse, key=lambda step: -step.ratio)


def _step(name: str, results: Sequence[dict[str, Any]]) -> Slower | None:
    """The two last images of a name that ran the same number of examples of the same seed."""
    counted = [r for r in results if r["image_sha256"] and r["instructions"] and r["verdict"] == "equal"]
    by_image: dict[str, list[float]] = {}
    for r in counted:
        if (r["seed"], r["cases"]) == (counted[-1]["seed"], counted[-1]["cases"]):
            rates = by_image.pop(r["image_sha256"], [])
            by_image[r["image_sha256"]] = [*rates, r["instructions"] / r["cases"]]
    if len(by_image) < 2:
        return None
    (before, left), (after, right) = list(by_image.items())[-2:]
    return Slower(name, median(left), median(right), before, after)
