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

COST_BOUND, RELOAD_BOUND = 1.0, 0.1
ABOUT = "Translating every function of the benchmark image, ms a guest instruction"


def measure_translation(settings: Settings, report: Report) -> None:
    """Add a table and its bounds to the report. Raises ToolError."""
    made, loaded, helpers = [], [], []
    for number in range(settings.rounds):
        settings.tell(f"engine: translation, round {number + 1}")
        with tempfile.TemporaryDirectory(prefix="emu-bench-") as folder:
            first, second = _visit(folder), _visit(folder)
        made.append(_cost(first))
        loaded.append(_cost(second))
        helpers.append(1e3 * first["helpers"])
    new, old = Values(tuple(made)), Values(tuple(loaded))
    table = Table(ABOUT, ("made", "loaded from the cache", "loaded / made", "ms once, for the helpers"))
    name = f"{first['units']} units, {first['instructions']} instructions"
    table.add(name, Cell(new), Cell(old), Cell(old.over(new)), Cell(Values(tuple(helpers))))
    report.tables.append(table)
    report.bounds.append(Bound("translating", new.median, "at most", COST_BOUND, " ms a guest instruction"))
    share = old.over(new).median
    report.bounds.append(Bound("loading, of the cost of translating", share, "at most", RELOAD_BOUND))


def _visit(folder: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "emu.bench.translate_once", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ToolError(f"measuring the translator failed: {done.stderr.strip().splitlines()[-1:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _cost(found: dict[str, Any]) -> float:
    """Milliseconds a guest instruction, without the helpers, which are made once."""
    return float(1e3 * (found["translating"] - found["helpers"]) / found["instructions"])
