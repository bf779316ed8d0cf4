"""Questions to the ledger: what ran, how a kernel fared, since which commit it is wrong, what flickers."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

BAD = ("mismatch", "board fault")
"""Verdicts that say something about the code under test."""
GOOD = ("equal", "measured", "found", "killed", "equivalent", "unbuilt", "unreached")
"""Verdicts that nobody has to look at: of code that is right, of benches, searches, mutants."""
ONE_CASE = ("example", "replay")
"""Kinds of runs of a single case: equal there says nothing of the others."""


@dataclass(frozen=True)
class FirstBad:
    """Since when a name is wrong; ``good``: the last run before that was equal, None when there is none."""

    name: str
    target: str
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
    """Guest instructions a case, or of a stage, on two images: exact, so any change is real."""

    name: str
    stage: str
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
        f"COALESCE(SUM(results.verdict NOT IN {GOOD}), 0) AS wrong, COALESCE(SUM(cases), 0) AS cases, "
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
        "SELECT results.*, started, kind, seed, commit_id, dirty, image_sha256, target, board, fingerprint "
        "FROM results JOIN runs ON runs.id = results.run WHERE name = ? ORDER BY started, runs.rowid",
        (name,),
    )
    return [dict(row) for row in rows]


def names(connection: sqlite3.Connection) -> list[str]:
    """Everything that ever had a result."""
    return [row[0] for row in connection.execute("SELECT DISTINCT name FROM results ORDER BY name")]


def first_bad(connection: sqlite3.Connection, name: str) -> list[FirstBad]:
    """The first wrong result of the present series of wrong ones, for each target that is wrong now."""
    good: dict[str, dict[str, Any]] = {}
    bad: dict[str, dict[str, Any]] = {}
    for result in trend(connection, name):
        target = result["target"]
        if result["verdict"] in BAD:
            bad.setdefault(target, result)
        elif result["verdict"] == "equal" and result["kind"] not in ONE_CASE:
            good[target] = result
            bad.pop(target, None)
    return [FirstBad(name, target, good.get(target), result) for target, result in bad.items()]


def flaky(connection: sqlite3.Connection) -> list[Flaky]:
    """Names whose verdict changed between runs of the same fingerprint on the same board and build."""
    rows = connection.execute(
        "SELECT name, COALESCE(runs.board, target) AS board, fingerprint || COALESCE(build, '') AS same, "
        "verdict, COUNT(*) AS n "
        "FROM results JOIN runs ON runs.id = results.run LEFT JOIN sessions ON sessions.run = runs.id "
        "WHERE fingerprint IS NOT NULL GROUP BY name, 2, 3, verdict ORDER BY name, 2"
    ).fetchall()
    found: dict[tuple[str, str, str], dict[str, int]] = {}
    for row in rows:
        found.setdefault((row["name"], row["board"], row["same"]), {})[row["verdict"]] = row["n"]
    return [Flaky(*key, verdicts) for key, verdicts in found.items() if len(verdicts) > 1]


def _counted(verdict: str) -> str:
    return f"(SELECT COUNT(*) FROM results WHERE run = runs.id AND verdict = '{verdict}')"


def boards(connection: sqlite3.Connection) -> list[dict[str, Any]]:
    """Every board that ever answered, or was asked and did not: what its line carried and had to mend."""
    rows = connection.execute(
        "SELECT runs.board AS board, GROUP_CONCAT(DISTINCT port) AS ports, COUNT(DISTINCT runs.id) AS runs, "
        "COALESCE(SUM(requests), 0) AS requests, COALESCE(SUM(mended), 0) AS mended, "
        f"SUM({_counted('link fault')}) AS link_faults, SUM({_counted('board fault')}) AS board_faults, "
        "MAX(started) AS last "
        "FROM runs LEFT JOIN sessions ON sessions.run = runs.id "
        "WHERE target = 'board' GROUP BY runs.board ORDER BY mended DESC, runs.board"
    )
    flips = flaky(connection)
    return [{**dict(row), "flaky": sum(f.board == row["board"] for f in flips)} for row in rows]


def slower(connection: sqlite3.Connection, threshold: float) -> list[Slower]:
    """Names, and stages of models, that need ``threshold`` times the instructions of the image before.

    The worst first. Only runs on an image are counted: a board counts cycles, which vary.
    """
    counted = connection.execute(
        "SELECT name, '' AS stage, results.instructions AS instructions, seed, cases, stages, image_sha256 "
        "FROM results JOIN runs ON runs.id = results.run WHERE verdict = 'equal' AND target = 'image' "
        f"AND results.instructions > 0 AND image_sha256 IS NOT NULL AND kind NOT IN {ONE_CASE} "
        "ORDER BY started, runs.rowid"
    ).fetchall()
    counted += connection.execute(
        "SELECT results.name, stage, stages.instructions AS instructions, seed, cases, results.stages, "
        "image_sha256 FROM stages JOIN results ON results.run = stages.run AND results.name = stages.name "
        "JOIN runs ON runs.id = stages.run WHERE verdict = 'equal' AND target = 'image' "
        "AND image_sha256 IS NOT NULL ORDER BY started, runs.rowid"
    ).fetchall()
    series: dict[tuple[str, str], list[sqlite3.Row]] = {}
    for row in counted:
        series.setdefault((row["name"], row["stage"]), []).append(row)
    steps = [_step(name, stage, rows) for (name, stage), rows in series.items()]
    worse = [step for step in steps if step is not None and step.ratio >= threshold]
    return sorted(worse, key=lambda step: -step.ratio)


def _step(name: str, stage: str, rows: Sequence[sqlite3.Row]) -> Slower | None:
    """The two last images that ran the same number of cases of the same seed and the same stages."""
    by_image: dict[str, list[float]] = {}
    for row in rows:
        if _same(row) == _same(rows[-1]):
            rates = by_image.pop(row["image_sha256"], [])
            by_image[row["image_sha256"]] = [*rates, row["instructions"] / (1 if stage else row["cases"])]
    if len(by_image) < 2:
        return None
    (before, left), (after, right) = list(by_image.items())[-2:]
    if not median(left):
        return None
    return Slower(name, stage, median(left), median(right), before, after)


def _same(row: sqlite3.Row) -> tuple[Any, ...]:
    return row["seed"], row["cases"], row["stages"]


def costs(connection: sqlite3.Connection, name: str) -> list[dict[str, Any]]:
    """What the stages took in the last run of a model or golden that knows it, the most first."""
    rows = connection.execute(
        "SELECT stage, instructions, seconds FROM stages WHERE name = ? AND run = (SELECT stages.run FROM "
        "stages JOIN runs ON runs.id = stages.run WHERE name = ? ORDER BY started DESC, runs.rowid DESC "
        "LIMIT 1) ORDER BY instructions DESC",
        (name, name),
    )
    return [dict(row) for row in rows]


def figures(connection: sqlite3.Connection, name: str) -> list[dict[str, Any]]:
    """Every figure that was measured of a name, figure by figure, the oldest first."""
    rows = connection.execute(
        "SELECT figure, median, low, high, runs.id AS run, started, commit_id, dirty, host "
        "FROM figures JOIN runs ON runs.id = figures.run WHERE name = ? "
        "ORDER BY MIN(figures.rowid) OVER (PARTITION BY figure), started, runs.rowid",
        (name,),
    )
    return [dict(row) for row in rows]


def figures_of(connection: sqlite3.Connection, run: str) -> dict[str, dict[str, dict[str, float]]]:
    """What a run measured: by name, by figure."""
    rows = connection.execute(
        "SELECT name, figure, median, low, high FROM figures WHERE run = ? ORDER BY rowid", (run,)
    )
    found: dict[str, dict[str, dict[str, float]]] = {}
    for name, figure, *values in rows:
        found.setdefault(name, {})[figure] = dict(zip(("median", "low", "high"), values, strict=True))
    return found


def stages_of(connection: sqlite3.Connection, run: str) -> dict[str, dict[str, dict[str, Any]]]:
    """What the stages of a run's results took: by name, by stage."""
    rows = connection.execute(
        "SELECT name, stage, instructions, seconds FROM stages WHERE run = ? ORDER BY rowid", (run,)
    )
    found: dict[str, dict[str, dict[str, Any]]] = {}
    for row in rows:
        cost = {"instructions": row["instructions"], "seconds": row["seconds"]}
        found.setdefault(row["name"], {})[row["stage"]] = cost
    return found


def sessions_of(connection: sqlite3.Connection, run: str) -> list[dict[str, Any]]:
    """What happened on the line to a board; none for a run without one."""
    return [dict(row) for row in connection.execute("SELECT * FROM sessions WHERE run = ?", (run,))]
