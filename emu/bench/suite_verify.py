"""`emu bench verify`: cases a second of the campaign, cold and warm, and where a cold one spends its time."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from emu.bench import qemu
from emu.bench.build import LINUX_KERNELS, find_image
from emu.bench.measure import Values, interleaved, seconds_of
from emu.bench.qemu_target import QemuTarget
from emu.bench.reach import why_not_on_qemu
from emu.bench.report import Absent, Bound, Cell, Report, Table
from emu.bench.settings import Settings
from emu.image import Image, load_image
from emu.kernels import load_all
from emu.kernels.spec import Kernel
from emu.toolchain import ToolchainError
from emu.verify.errors import ToolError
from emu.verify.image_target import ImageTarget
from emu.verify.options import Options
from emu.verify.reference import reference_elf
from emu.verify.selection import choose
from emu.verify.strategies import CHUNK, cases
from emu.verify.target import Target

SHARE_BOUND = 0.4
ABOUT = """The campaign of `emu verify` on the reference image in fresh processes: cold with empty cache
folders (mirrors and translations are made), warm with what the cold one left. A case is generated, run by
mirror and engine, and compared. Shares are of the workers' time, from their start to the end of their
last task. Below, the target alone: the same generated cases of the scalar kernels, placed, run and read
back, by the engine and by QEMU (one process that stays)."""


def run(settings: Settings) -> Report:
    """Measure; see ABOUT."""
    report = Report("verify", settings.command("verify"), ABOUT)
    elf = settings.elf or reference_elf()
    _campaigns(settings, elf, report)
    report.tables.append(_targets(settings, elf, report))
    return report


def _campaigns(settings: Settings, elf: Path, report: Report) -> None:
    cold, warm = [], []
    for number in range(settings.rounds):
        settings.tell(f"verify: campaigns, round {number + 1}")
        with tempfile.TemporaryDirectory(prefix="emu-bench-") as folder:
            cold.append(_campaign(elf, settings, folder))
            warm.append(_campaign(elf, settings, folder))
    columns = (
        "cases a second",
        "seconds",
        "translating, share",
        "slow tier, share",
        "both, share",
        "units made",
    )
    table = Table(f"{cold[0]['kernels']} kernels, {settings.examples} examples each", columns)
    for name, runs in (("cold", cold), ("warm", warm)):
        cells = [_each(runs, lambda r: r["examples"] / r["seconds"]), _each(runs, lambda r: r["seconds"])]
        cells += [_each(runs, lambda r, k=k: r[k] / r["worker"]) for k in ("translating", "stepping")]
        table.add(name, *cells, _each(runs, _share), _each(runs, lambda r: r["made"]))
    report.tables.append(table)
    share = _each(cold, _share).values.median
    report.bounds.append(Bound("cold, translating and slow tier, share", share, "at most", SHARE_BOUND))


def _share(run: dict[str, Any]) -> float:
    return float((run["translating"] + run["stepping"]) / run["worker"])


def _each(runs: list[dict[str, Any]], figure: Any) -> Cell:
    return Cell(Values(tuple(float(figure(run)) for run in runs)))


def _campaign(elf: Path, settings: Settings, folder: str) -> dict[str, Any]:
    environment = {**os.environ, "EMU_CACHE_DIR": folder, "NUMBA_CACHE_DIR": f"{folder}/mirrors"}
    command = [sys.executable, "-m", "emu.bench.verify_once", str(elf), str(settings.examples)]
    command += settings.kernels
    before = _translations(folder)
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    if done.returncode:
        raise ToolError(f"the measured campaign failed: {done.stderr.strip().splitlines()[-1:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    if found["bad"]:
        raise ToolError(f"{', '.join(found['bad'])}: not equal to the mirror; run emu verify")
    found["made"] = len(_translations(folder) - before)
    return found


def _translations(folder: str) -> set[Path]:
    """Translated units that are kept in a cache folder."""
    return {path for path in (Path(folder) / "translated").rglob("*") if path.is_file()}


def _targets(settings: Settings, elf: Path, report: Report) -> Table:
    table = Table("Cases a second of the target alone", ("engine", "qemu", "engine / qemu"))
    image = load_image(elf)
    targets: dict[str, Target] = {"engine": ImageTarget(image, Options(elf=elf, bounds=False))}
    targets.update(_qemu(report))
    try:
        for kernel in scalar_kernels(image, settings.kernels):
            settings.tell(f"verify: cases of {kernel.symbol}")
            table.add(kernel.symbol, *_row(_rates(settings, kernel, targets)))
    finally:
        for target in targets.values():
            target.close()
    return table


def scalar_kernels(image: Image, names: tuple[str, ...] = ()) -> Iterator[Kernel]:
    """Kernels of the image that QEMU's core can run. Raises UsageProblem for unknown names."""
    for kernel in choose(load_all(), names):
        if kernel.symbol in image.symbols and not why_not_on_qemu(image, kernel.symbol):
            yield kernel


def _qemu(report: Report) -> dict[str, Target]:
    why = qemu.why_not()
    if not why:
        try:
            return {"qemu": QemuTarget(find_image(LINUX_KERNELS))}
        except ToolchainError as error:
            why = f"its program must be compiled: {error}"
    report.missing["qemu"] = why
    return {}


def _rates(settings: Settings, kernel: Kernel, targets: dict[str, Target]) -> dict[str, Values]:
    drawn = [case for _, case in cases(kernel, 0, 0, min(settings.examples, CHUNK))]

    def all_of(target: Target) -> None:
        for case in drawn:
            target.call(kernel, case)

    def rate(target: Target) -> float:
        return len(drawn) / seconds_of(lambda: all_of(target))

    for target in targets.values():
        all_of(target)
    return interleaved({n: lambda t=t: rate(t) for n, t in targets.items()}, settings.rounds)  # type: ignore[misc]


def _row(values: dict[str, Values]) -> list[Cell | Absent]:
    engine = values["engine"]
    if "qemu" not in values:
        return [Cell(engine), Absent("missing"), Absent("missing")]
    return [Cell(engine), Cell(values["qemu"]), Cell(engine.over(values["qemu"]))]
