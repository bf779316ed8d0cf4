"""What `emu bench engine` measures: programs and kernels, each on translator, stepper, QEMU and natively."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Literal, cast

import numpy as np

from emu.bench import native, qemu
from emu.bench.build import CHIP, CHIP_KERNELS, LINUX, LINUX_KERNELS, find_image
from emu.bench.kernel_rounds import BUDGET, KernelRounds, kernels_for_qemu
from emu.bench.measure import Work, enough_repeats, seconds_of
from emu.bench.programs import PROGRAMS, Program
from emu.bench.settings import Settings
from emu.cpu.calls import CallResult
from emu.cpu.engine import Engine
from emu.cpu.options import EngineOptions
from emu.cpu.translator import Translator
from emu.image import load_image
from emu.kernels import load_all
from emu.toolchain import ToolchainError
from emu.verify.errors import ToolError
from emu.verify.selection import choose

SEED = 0x2545F491
STEADY_TRIES = 20
"""Runs to wait for the steady state at most."""
TRIES = 3
"""Each time is the least of so many: what else runs on the machine can only add to it."""
Group = Literal["kernel", "classic", "other"]
Rounds = Callable[[int], int]
"""rounds -> result"""


@dataclass(frozen=True)
class Runner:
    """Someone who runs a subject. ``rest`` costs all that ``run`` does except what is rated; ``clock``:
    seconds of processor time so far.
    """

    run: Rounds
    rest: Rounds
    clock: Callable[[], float] = time.process_time


@dataclass(frozen=True, eq=False)
class Subject:
    """A member of the suite. ``count``: instructions that are rated in so many rounds, and their result;
    ``objects``: units that the translator has made so far; ``stepped``: the stepper's measurement.
    """

    name: str
    group: Group
    count: Callable[[int], tuple[int, int]]
    objects: Callable[[], int]
    runners: Mapping[str, Runner]
    stepped: Work | None = None
    is_recursion: bool = False

    def contestants(self, seconds: float) -> dict[str, Work]:
        """A measurement in guest instructions a second for each one who can."""
        found = {name: self._rate(runner, seconds) for name, runner in self.runners.items()}
        return found if self.stepped is None else {**found, "stepper": self.stepped}

    def _rate(self, runner: Runner, seconds: float) -> Work:
        def run(rounds: int) -> None:
            if runner.run(rounds) != self.count(rounds)[1]:
                raise ToolError(f"{self.name}: the results of {rounds} rounds differ")

        for rounds in (1, 2):
            run(rounds)  # translate, load, warm up
        self._wait_until_steady(lambda: (runner.run(2), runner.rest(2)))
        many = max(2, enough_repeats(runner.run, seconds / TRIES))
        run(many)
        work = self.count(many)[0]

        def measure() -> float:
            for _ in range(STEADY_TRIES):
                made = self.objects()
                rest, whole = (
                    min(seconds_of(lambda r=rounds: r(many), runner.clock) for _ in range(TRIES))  # type: ignore[misc]
                    for rounds in (runner.rest, runner.run)
                )
                if made == self.objects() and whole > rest:
                    return work / (whole - rest)
            raise ToolError(f"{self.name}: units are made again and again, or the machine is too busy")

        return measure

    def _wait_until_steady(self, run: Callable[[], object]) -> None:
        """Until a run makes no unit."""
        for _ in range(STEADY_TRIES):
            made = self.objects()
            run()
            if made == self.objects():
                return


@dataclass
class Suite:
    """The contestants. ``missing``: those that cannot take part, with the reason and what mends it."""

    settings: Settings
    folder: Path
    stack: ExitStack
    missing: dict[str, str] = field(default_factory=dict)

    def subjects(self) -> Iterator[Subject]:
        """Kernels first, then programs."""
        yield from self._kernels()
        yield from self._programs()

    def _engine(self, image: Path) -> tuple[Engine, Callable[[], int]]:
        """An engine that gives full effort at the first call, and the number of objects it has made."""
        engine = Engine(load_image(image), EngineOptions(cache_dir=self.folder))
        tier = cast(Translator, engine.tier)
        tier.patience = 0
        return engine, lambda: tier.objects_made

    def _kernels(self) -> Iterator[Subject]:
        if qemu.why_not():
            self.missing["qemu"] = qemu.why_not()
            return
        try:
            chip, linux = find_image(CHIP_KERNELS), find_image(LINUX_KERNELS)
        except ToolchainError as error:
            self.missing["C kernels"] = f"they must be compiled: {error}"
            return
        engine, objects = self._engine(chip)
        program = self.stack.enter_context(qemu.QemuProgram(linux))
        chosen = {kernel.symbol for kernel in choose(load_all(), self.settings.kernels)}
        for kernel in kernels_for_qemu(engine.image):
            if kernel.symbol in chosen:
                yield _kernel(KernelRounds(kernel, engine, program), objects, program)

    def _programs(self) -> Iterator[Subject]:
        image = find_image(CHIP)
        engine, objects = self._engine(image)
        stepper = Engine(load_image(image), EngineOptions(tier="stepper"))
        linux = library = None
        if qemu.why_not():
            self.missing["qemu"] = qemu.why_not()
        else:
            linux = self.stack.enter_context(qemu.QemuProgram(find_image(LINUX)))
        if native.why_not():
            self.missing["native"] = native.why_not()
        else:
            library = native.NativePrograms()
        for program in PROGRAMS:
            yield _program(program, _Places(engine, objects, stepper, linux, library))


def _kernel(job: KernelRounds, objects: Callable[[], int], program: qemu.QemuProgram) -> Subject:
    job.must_agree()

    @cache
    def count(rounds: int) -> tuple[int, int]:
        whole, result = job.on_engine(rounds)
        return whole - job.on_engine(rounds, is_empty=True)[0], result

    runners = {
        "translator": Runner(lambda n: job.on_engine(n)[1], lambda n: job.on_engine(n, is_empty=True)[1]),
        "qemu": Runner(job.on_qemu, lambda n: job.on_qemu(n, is_empty=True), program.cpu_seconds),
    }
    return Subject(job.kernel.symbol, "kernel", count, objects, runners)


@dataclass(frozen=True, eq=False)
class _Places:
    """Where programs run."""

    engine: Engine
    objects: Callable[[], int]
    stepper: Engine
    linux: qemu.QemuProgram | None
    library: native.NativePrograms | None


def _program(program: Program, places: _Places) -> Subject:
    @cache
    def counted(rounds: int) -> tuple[int, int]:
        out = _call(places.engine, program, program.size, rounds)
        return out.instructions, out.a2

    def count(rounds: int) -> tuple[int, int]:
        return counted(rounds)[0] - counted(1)[0], counted(rounds)[1]

    return Subject(
        f"{program.name} ({program.size})",
        "classic" if program.is_classic else "other",
        count,
        places.objects,
        dict(_program_runners(program, places)),
        lambda: _stepped(program, places),
        program.kind == "recursion",
    )


def _program_runners(program: Program, places: _Places) -> Iterator[tuple[str, Runner]]:
    """Everyone who runs the full size; one round is the rest."""

    def runner(run: Rounds, clock: Callable[[], float] = time.process_time) -> Runner:
        return Runner(run, lambda many: run(1), clock)

    yield "translator", runner(lambda n: _call(places.engine, program, program.size, n).a2)
    linux, library = places.linux, places.library
    if linux is not None:
        arena = linux.arena
        yield (
            "qemu",
            runner(
                lambda n: linux.call(program.symbol, [arena, program.size, SEED, n])[0], linux.cpu_seconds
            ),
        )
    if library is not None:
        work = np.zeros(program.work_bytes(program.size) + 64, np.uint8)
        place = work[-work.ctypes.data % 16 :]
        yield "native", runner(lambda n: library.call(program, place, program.size, SEED, n))


def _call(engine: Engine, program: Program, size: int, rounds: int) -> CallResult:
    return engine.call(program.symbol, [engine.arena.start, size, SEED, rounds], budget=BUDGET)


def _stepped(program: Program, places: _Places) -> float:
    expected = _call(places.engine, program, program.small, 1)
    results: list[int] = []
    taken = seconds_of(
        lambda: results.append(_call(places.stepper, program, program.small, 1).a2), time.process_time
    )
    if results != [expected.a2]:
        raise ToolError(f"{program.symbol}: stepper and translator differ")
    return expected.instructions / taken
