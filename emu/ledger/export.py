"""The ledger as JSON, CSV or JUnit XML."""

from __future__ import annotations

import csv
import io
import json
import sqlite3
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

from emu.ledger.queries import BAD, results_of, runs
from emu.verify.errors import UsageProblem
from emu.verify.records import write_whole, xml_text


def export(connection: sqlite3.Connection, path: Path, last: int) -> int:
    """Write the last runs in the format that the file's name asks for; the number of runs.

    Raises UsageProblem for another suffix, ToolError.
    """
    makers = {".json": _json, ".csv": _csv, ".xml": _junit}
    if path.suffix not in makers:
        raise UsageProblem(f"{path}: a history is written to *.json, *.csv or *.xml (JUnit)")
    found = [{**run, "results": results_of(connection, run["id"])} for run in runs(connection, last)]
    write_whole(path, makers[path.suffix](found))
    return len(found)


def _json(found: list[dict[str, Any]]) -> bytes:
    document = {"format": "esp32s3-emu history", "version": 1, "runs": found}
    return json.dumps(document, indent=1).encode() + b"\n"


_RUN_COLUMNS = ("started", "kind", "target", "board", "commit_id", "image_sha256", "seed")


def _csv(found: list[dict[str, Any]]) -> bytes:
    """One line for each result; the run's columns are repeated."""
    text = io.StringIO()
    columns = ("run", "name", "verdict", "cases", "differ", "instructions", "seconds", "retries", "message")
    writer = csv.writer(text)
    writer.writerow([*columns, *_RUN_COLUMNS])
    for run in found:
        for result in run["results"]:
            writer.writerow([*(result[c] for c in columns), *(run[c] for c in _RUN_COLUMNS)])
    return text.getvalue().encode()


def _junit(found: list[dict[str, Any]]) -> bytes:
    """One suite for each run."""
    root = ET.Element("testsuites")
    for run in found:
        results = run["results"]
        wrong = [r for r in results if r["verdict"] != "equal"]
        failures = sum(r["verdict"] in BAD for r in wrong)
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
    if result["verdict"] == "equal":
        return
    tag = "failure" if result["verdict"] in BAD else "error"
    ET.SubElement(case, tag, type=result["verdict"], message=xml_text(result["message"]))
