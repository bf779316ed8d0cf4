"""`emu bench engine`: speed of the programs on translator and stepper, against QEMU and native code."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import numpy as np

from emu.bench import native, qemu
from emu.bench.build import CHIP, LINUX, find_image
from emu.bench.measure import Values, Work, enough_repeats, geometric_mean, interleaved, seconds_of
from emu.bench.programs import PROGRAMS, Program
from emu.bench.report import Absent, Bound, Cell, Report, Table, number
from emu.bench.settings import Settings
from emu.bench.translation import measure_translation
from emu.cpu.engine import Engine
from emu.cpu.options import EngineOptions
from emu.cpu.translator import Translator
from emu.image import load_image
from emu.verify.errors import ToolError

SEED = 0x2545F491
BUDGET = 1 << 40
SCALAR_BOUND, MEMBER_BOUND, RECURSION_BOUND = 5.0, 1.0, 10.0
ABOUT = """Guest instructions a second of processor time (million), of the programs in `firmware/bench/`.
Translator, QEMU and the native compiler run many rounds of the same program; the time of one round, start
and calls included, is taken off. All three execute the same source, translator and QEMU the same object
files; native code is rated by the guest's instruction count, so its figure is the speed that an engine
would need to be as fast. The stepper runs a smaller size. Checksums of all of them are compared.

Measured is the steady state: units get full effort at their first call, and a measurement of the translator
in which a unit was still made (a loop may be left and entered at a new place) is made again. What translating
costs is in the table of its own. *Classic* programs are CRC, sort, matrix, FFT in float, string search and
recursion; the other ones are of kinds that public benchmark sets have: random numbers, products of bytes,
softmax, an interpreter, SHA-256, bodies that attract each other, a sieve, Huffman coding, queens on a board,
formatting and reading of text. All were written for this project and chosen before they were measured."""
STEADY_TRIES = 20
"""Runs to wait for the steady state at most."""

Call = Callable[[Program, int, int], int]
"""(program, size, rounds) -> checksum"""


@dataclass
class Runner:
    """Someone who runs programs; ``why_not``: why it cannot; ``clock``: seconds of processor time so far."""

    name: str
    call: Call | None
    why_not: str = ""
    clock: Callable[[], float] = time.process_time


class Bench:
    """The contestants, and the guest's instruction counts."""

    def __init__(self, settings: Settings, folder: Path, stack: ExitStack) -> None:
        self.settings = settings
        image = load_image(find_image(CHIP))
        self.engine = Engine(image, EngineOptions(cache_dir=folder))
        self._tier = cast(Translator, self.engine.tier)
        self._tier.patience = 0  # full effort at the first call
        self.stepper = Engine(image, EngineOptions(tier="stepper"))
        self.qemu = _qemu(stack)
        self.native = _native()
        self._counts: dict[tuple[str, int, int], tuple[int, int]] = {}

    def count(self, program: Program, size: int, rounds: int) -> tuple[int, int]:
        """Guest instructions and checksum, from the translator (outside of any measurement)."""
        key = program.name, size, rounds
        if key not in self._counts:
            out = self.engine.call(
                program.symbol, [self.engine.arena.start, size, SEED, rounds], budget=BUDGET
            )
            self._counts[key] = out.instructions, out.a2
        return self._counts[key]

    def translated(self, program: Program, size: int, rounds: int) -> int:
        """Checksum from translated code."""
        arguments = [self.engine.arena.start, size, SEED, rounds]
        return self.engine.call(program.symbol, arguments, budget=BUDGET).a2

    def peers(self) -> Iterator[Runner]:
        """Everyone who runs the full size."""
        yield Runner("translator", self.translated)
        yield self.qemu
        yield self.native

    def contestants(self, program: Program) -> dict[str, Work]:
        """A measurement in guest instructions a second for each one who can."""
        found = {r.name: self._rate(program, r.call, r.clock) for r in self.peers() if r.call is not None}
        found["stepper"] = lambda: self._stepped(program)
        return found

    def _rate(self, program: Program, call: Call, clock: Callable[[], float]) -> Work:
        def run(rounds: int) -> None:
            checksum = call(program, program.size, rounds)
            if checksum != self.count(program, program.size, rounds)[1]:
                raise ToolError(f"{program.symbol}: the checksums of {rounds} rounds differ")

        for rounds in (1, 2):
            run(rounds)  # translate, load, warm up
        self._wait_until_steady(lambda: run(2))
        many = max(2, enough_repeats(lambda n: call(program, program.size, n), self.settings.seconds))
        run(many)
        work = self.count(program, program.size, many)[0] - self.count(program, program.size, 1)[0]

        def measure() -> float:
            for _ in range(STEADY_TRIES):
                made = self._tier.objects_made
                one = seconds_of(lambda: call(program, program.size, 1), clock)
                all_rounds = seconds_of(lambda: call(program, program.size, many), clock)
                rate = work / max(all_rounds - one, 1e-9)
                if made == self._tier.objects_made:
                    return rate
            raise ToolError(f"{program.symbol}: units are made again and again")

        return measure

    def _wait_until_steady(self, run: Callable[[], None]) -> None:
        """Until a run makes no unit."""
        for _ in range(STEADY_TRIES):
            made = self._tier.objects_made
            run()
            if made == self._tier.objects_made:
                return

    def _stepped(self, program: Program) -> float:
        arguments = [self.stepper.arena.start, program.small, SEED, 1]
        instructions, checksum = self.count(program, program.small, 1)
        results: list[int] = []
        taken = seconds_of(
            lambda: results.append(self.stepper.call(program.symbol, arguments).a2), time.process_time
        )
        if results != [checksum]:
            raise ToolError(f"{program.symbol}: stepper and translator differ")
        return instructions / taken


def _qemu(stack: ExitStack) -> Runner:
    if qemu.why_not():
        return Runner("qemu", None, qemu.why_not())
    program = stack.enter_context(qemu.QemuProgram(find_image(LINUX)))

    def call(p: Program, size: int, rounds: int) -> int:
        return program.call(p.symbol, [program.arena, size, SEED, rounds])[0]

    return Runner("qemu", call, clock=program.cpu_seconds)


def _native() -> Runner:
    if native.why_not():
        return Runner("native", None, native.why_not())
    library = native.NativePrograms()
    work = np.zeros(max(p.work_bytes(p.size) for p in PROGRAMS) + 64, np.uint8)
    place = work[-work.ctypes.data % 16 :]
    return Runner("native", lambda p, size, rounds: library.call(p, place, size, SEED, rounds))


def run(settings: Settings) -> Report:
    """Measure; see ABOUT."""
    report = Report("engine", settings.command("engine"), ABOUT)
    with tempfile.TemporaryDirectory(prefix="emu-bench-") as folder, ExitStack() as stack:
        bench = Bench(settings, Path(folder), stack)
        report.missing = {r.name: r.why_not for r in bench.peers() if r.call is None}
        found = {p: _measured(bench, settings, p) for p in PROGRAMS}
    report.tables.append(_speeds(found))
    report.tables.append(_ratios(found))
    if "qemu" not in report.missing:
        report.bounds += _bounds(found)
        report.notes += _ceiling(found)
    measure_translation(settings, report)
    return report


def _ceiling(found: dict[Program, dict[str, Values]]) -> Iterator[str]:
    """What the ratios to QEMU would be for an engine as fast as native code."""
    if any("native" not in values for values in found.values()):
        return
    ratios = {p: v["native"].over(v["qemu"]).median for p, v in found.items()}
    scalar = [ratio for p, ratio in ratios.items() if p.kind == "scalar"]
    classic = number(geometric_mean([ratio for p, ratio in ratios.items() if p.is_classic]))
    mean, lowest = number(geometric_mean(scalar)), number(min(scalar))
    yield f"native / qemu, scalar programs: geometric mean {mean}, lowest {lowest}; classic ones: {classic}"


def _measured(bench: Bench, settings: Settings, program: Program) -> dict[str, Values]:
    settings.tell(f"engine: {program.name}")
    return interleaved(bench.contestants(program), settings.rounds)


def _speeds(found: dict[Program, dict[str, Values]]) -> Table:
    columns = ("translator", "stepper", "qemu", "native")
    table = Table("Million guest instructions a second", columns)
    for program, values in found.items():
        cells = (_cell(values.get(name), 1e-6) for name in columns)
        table.add(f"{program.name} ({program.size})", *cells)
    return table


def _cell(values: Values | None, scale: float) -> Cell | Absent:
    return Absent("missing") if values is None else Cell(Values(tuple(scale * v for v in values.each)))


_PAIRS = (("translator", "qemu"), ("translator", "native"), ("stepper", "qemu"), ("native", "qemu"))


def _ratios(found: dict[Program, dict[str, Values]]) -> Table:
    table = Table("Ratios", tuple(f"{a} / {b}" for a, b in _PAIRS))
    for program, values in found.items():
        cells = (Cell(values[a].over(values[b])) if b in values else Absent("missing") for a, b in _PAIRS)
        table.add(program.name, *cells)
    return table


def _bounds(found: dict[Program, dict[str, Values]]) -> Iterator[Bound]:
    ratios = {p: v["translator"].over(v["qemu"]).median for p, v in found.items()}
    scalar = [ratio for p, ratio in ratios.items() if p.kind == "scalar"]
    worst = min((ratio, p.name) for p, ratio in ratios.items() if p.kind == "scalar")
    recursion = geometric_mean([ratio for p, ratio in ratios.items() if p.kind == "recursion"])
    classic = [ratio for p, ratio in ratios.items() if p.is_classic]
    for name, group in (("scalar", scalar), ("classic", classic), ("all", list(ratios.values()))):
        what = f"{name} programs ({len(group)}), translator / qemu, geometric mean"
        yield Bound(what, geometric_mean(group), "at least", SCALAR_BOUND)
    yield Bound(f"worst scalar program ({worst[1]}), translator / qemu", worst[0], "at least", MEMBER_BOUND)
    yield Bound("recursion, translator / qemu, geometric mean", recursion, "at least", RECURSION_BOUND)
