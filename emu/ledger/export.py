"""The ledger as JSON, CSV or JUnit XML."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from emu.ledger.queries import BAD, GOOD, figures_of, results_of, runs, sessions_of, stages_of
from emu.ledger.writer import Result
from emu.verify.errors import UsageProblem
from emu.verify.records import write_whole, xml_text

FAILURES = (*BAD, "survived")
"""Verdicts that are failures of the tested code or of its tests; others that are not good are errors."""


def export(connection: sqlite3.Connection, path: Path, last: int, kind: str | None = None) -> int:
    """Write the last runs in the format that ``kind`` or the file's name asks for; the number of runs.

    Raises UsageProblem for another suffix, ToolError.
    """
    kind = kind or {".json": "json", ".csv": "csv", ".xml": "junit"}.get(path.suffix)
    if kind is None:
        raise UsageProblem(
            f"{path}: a history is written to *.json, *.csv or *.xml (JUnit); --format says which for "
            "another name"
        )
    found = [_whole(connection, run) for run in runs(connection, last)]
    write_whole(path, {"json": _json, "csv": _csv, "junit": _junit}[kind](found))
    return len(found)


def _whole(connection: sqlite3.Connection, run: dict[str, Any]) -> dict[str, Any]:
    """A run with its results, what their stages took, what was measured, and what happened on the line."""
    costs, figures = stages_of(connection, run["id"]), figures_of(connection, run["id"])
    results = [
        {**r, "stage_costs": costs.get(r["name"], {}), "figures": figures.get(r["name"], {})}
        for r in results_of(connection, run["id"])
    ]
    return {**run, "results": results, "sessions": sessions_of(connection, run["id"])}


def _json(found: list[dict[str, Any]]) -> bytes:
    document = {"format": "esp32s3-emu history", "version": 1, "runs": found}
    return json.dumps(document, indent=1).encode() + b"\n"


_RUN_COLUMNS = ("started", "kind", "target", "board", "commit_id", "image_sha256", "seed")


def _csv(found: list[dict[str, Any]]) -> bytes:
    """One line for each result; the run's columns are repeated."""
    text = io.StringIO()
    columns = Result.__dataclass_fields__
    writer = csv.writer(text)
    writer.writerow(["run", *columns, *_RUN_COLUMNS])
    for run in found:
        for result in run["results"]:
            writer.writerow([run["id"], *(result[c] for c in columns), *(run[c] for c in _RUN_COLUMNS)])
    return text.getvalue().encode()


def _junit(found: list[dict[str, Any]]) -> bytes:
    """One suite for each run."""
    root = ET.Element("testsuites")
    for run in found:
        results = run["results"]
        wrong = [r for r in results if r["verdict"] not in GOOD]
        failures = sum(r["verdict"] in FAILURES for r in wrong)
        suite = ET.SubElement(
            root,
            "testsuite",
            name=f"{run['kind']} {run['id']}",
            timestamp=run["started"][:19],
            tests=str(len(results)),
            failures=str(failures),
            errors=str(len(wrong) - failures),
        )
        for result in results:
            _testcase(suite, run["kind"], result)
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True))


def _testcase(suite: ET.Element, kind: str, result: dict[str, Any]) -> None:
    time = f"{result['seconds']:.3f}"
    case = ET.SubElement(suite, "testcase", classname=f"emu.{kind}", name=result["name"], time=time)
    if result["verdict"] in GOOD:
        return
    tag = "failure" if result["verdict"] in FAILURES else "error"
    ET.SubElement(case, tag, type=result["verdict"], message=xml_text(result["message"]))
