"""What translating costs, and what reloading from the cache costs: fresh processes, fresh cache folders."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from typing import Any

from emu.bench.measure import Values
from emu.bench.report import Bound, Cell, Report, Table
from emu.bench.settings import Settings
from emu.verify.errors import ToolError

_Visit = dict[str, Any]
COST_BOUND, RELOAD_BOUND = 1.0, 0.1
EFFORTS = {"quick": "at first", "full": "when a unit has run often"}
ABOUT = "Translating every function of the benchmark image, ms a guest instruction"


def measure_translation(settings: Settings, report: Report) -> None:
    """Add a table and its bounds to the report. Raises ToolError."""
    table = Table(ABOUT, ("made", "loaded from the cache", "loaded / made", "ms once, for the helpers"))
    visits: dict[str, list[tuple[_Visit, _Visit]]] = {effort: [] for effort in EFFORTS}
    for number in range(settings.rounds):
        for effort, found in visits.items():
            settings.tell(f"engine: translation, {effort}, round {number + 1}")
            with tempfile.TemporaryDirectory(prefix="emu-bench-") as folder:
                found.append((_visit(folder, effort), _visit(folder, effort)))
    for effort, when in EFFORTS.items():
        made, loaded = (Values(tuple(_cost(pair[i]) for pair in visits[effort])) for i in (0, 1))
        helpers = Values(tuple(1e3 * first["helpers"] for first, _ in visits[effort]))
        table.add(f"{effort}, {when}", Cell(made), Cell(loaded), Cell(loaded.over(made)), Cell(helpers))
        what = f"translating ({effort})"
        report.bounds.append(Bound(what, made.median, "at most", COST_BOUND, " ms a guest instruction"))
        share = loaded.over(made).median
        report.bounds.append(Bound(f"loading, of the cost of {what}", share, "at most", RELOAD_BOUND))
    first = visits["quick"][0][0]
    report.notes.append(f"{first['units']} units, {first['instructions']} instructions were translated")
    report.tables.append(table)


def _visit(folder: str, effort: str) -> _Visit:
    command = [sys.executable, "-m", "emu.bench.translate_once", folder, effort]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolError(f"measuring the translator failed: {done.stderr.strip().splitlines()[-1:]}")
    found: _Visit = json.loads(done.stdout)
    return found


def _cost(found: _Visit) -> float:
    """Milliseconds a guest instruction, without the helpers, which are made once."""
    return float(1e3 * (found["translating"] - found["helpers"]) / found["instructions"])
