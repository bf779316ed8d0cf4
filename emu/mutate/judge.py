"""One mutant from its change to its result: build, verify what it can reach, shrink, locate."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from emu.cpu.traps import TrapKind
from emu.image import Image, load_image
from emu.kernels.spec import Kernel
from emu.mutate import code, proofs
from emu.mutate.baseline import Baselines
from emu.mutate.binary_rules import patched
from emu.mutate.builder import Base, Builder, defined
from emu.mutate.drawn import Drawn
from emu.mutate.locate import Place, call_of, first_place
from emu.mutate.mutant import Mutant
from emu.mutate.result import Result, Status, reasons
from emu.toolchain.errors import ToolchainError
from emu.verify.case import Case, Plan, materialise
from emu.verify.errors import ToolError
from emu.verify.image_target import ImageTarget
from emu.verify.options import Options
from emu.verify.results import Failure
from emu.verify.runner import Runner
from emu.verify.strategies import CHUNK, chunk_plans
from emu.verify.target import MirrorTarget

_CONTROL = 20
"""Examples of a kernel that the change cannot reach: it must stay equal."""


@dataclass(frozen=True)
class Settings:
    """``examples``: of each kernel before a mutant has survived. ``long_examples``: then, of the nearest one.

    ``shrink_seconds``: for the smallest failing case. ``folder``: for objects and images.
    """

    folder: Path
    examples: int = 200
    long_examples: int = 100_000
    shrink_seconds: float = 4.0


class Judge:
    """Judges mutants one after the other in ``scratch``."""

    def __init__(
        self,
        base: Base,
        settings: Settings,
        kernels: Mapping[str, Kernel],
        scratch: Path,
        drawn: Drawn | None = None,
    ) -> None:
        self._base = base
        self._settings = settings
        self._kernels = kernels
        self._drawn = drawn or Drawn(kernels, settings.examples)
        self._baselines = Baselines(base, kernels, self._drawn, settings.folder)
        self._scratch = scratch
        self._builder = Builder(base, scratch)
        self._image = load_image(base.elf)
        self._code = code.functions(self._image)
        self._reach = {symbol: code.reached(self._code, symbol) for symbol in kernels}

    def judge(self, mutant: Mutant) -> Result:
        """Build, verify, shrink and locate one mutant."""
        started = time.monotonic()
        try:
            elf = self._build(mutant)
        except ToolchainError as error:
            return Result(mutant, Status.UNBUILT, _last_line(str(error)))
        image = load_image(elf)
        if [s.data for s in image.segments] == [s.data for s in self._image.segments]:
            return Result(mutant, Status.EQUIVALENT, "the same code")
        result = Result(mutant, Status.SURVIVED)
        try:
            self._judge(result, elf, image, started)
            self._prove(result, image)
        except ToolError as error:
            result.status, result.reason = Status.ERROR, str(error)
        return result

    def _judge(self, result: Result, elf: Path, image: Image, started: float) -> None:
        result.kernels = self._affected(result.mutant, image)
        result.build_seconds = round(time.monotonic() - started, 3)
        if result.kernels:
            self._verify(result, elf, image)
        else:
            result.status, result.reason = Status.UNREACHED, "no kernel can execute it"

    def _prove(self, result: Result, image: Image) -> None:
        """A survivor is equivalent when a rule about its instructions says so."""
        if result.status is not Status.SURVIVED:
            return
        path = self._base.sources / result.mutant.file
        source = path.read_bytes() if path.is_file() else b""
        result.reason = proofs.proven(result.mutant, source, self._image, image)
        if result.reason:
            result.status = Status.EQUIVALENT

    def look_longer(self, result: Result) -> Result:
        """Many more examples of what a survivor can change. Without a difference it is judged equivalent when
        somebody has written down why (reasons.json); else it is a survivor that nobody can explain.
        """
        elf = self._build(result.mutant)
        runner = self._runner(elf, result.kernels)
        for number, symbol in enumerate(result.kernels):
            count = self._settings.long_examples if number == 0 else self._settings.long_examples // 50
            first = result.looked_at.get(symbol, self._settings.examples)
            for example, case in self._further(symbol, first, count):
                if runner.check(self._kernels[symbol], case).bad:
                    result.status = Status.SURVIVED
                    result.reason = f"shown by example {example:,} of {symbol}"
                    result.example, result.kernel = example, symbol
                    return result
            result.looked_at[symbol] = max(first, count)
        total = ", ".join(f"{n:,} of {s}" for s, n in list(result.looked_at.items())[:3])
        proof = reasons().get(result.mutant.ident, "")
        result.status = Status.EQUIVALENT if proof else Status.SURVIVED
        result.reason = f"{proof or 'nobody knows why'}; no difference in examples: {total}"
        return result

    def _further(self, symbol: str, first: int, end: int) -> Iterator[tuple[int, Case]]:
        kernel = self._kernels[symbol]
        for chunk in range(first // CHUNK, -(-end // CHUNK)):
            for position, plan in enumerate(chunk_plans(kernel, 0, chunk)):
                yield chunk * CHUNK + position, materialise(kernel, plan)

    def _build(self, mutant: Mutant) -> Path:
        if mutant.generator != "binary":
            return self._builder.build(mutant)
        elf = self._scratch / "patched.elf"
        elf.write_bytes(patched(self._image.data, self._image, mutant))
        return elf

    def _code_of(self, mutant: Mutant, image: Image) -> dict[str, code.Function]:
        """All functions of a mutant's image; those that were not compiled again are as they were."""
        if mutant.generator == "binary":
            return {**self._code, **code.functions(image, {mutant.function})}
        units = self._builder.units_of(mutant)
        names = {n for unit in units for n in defined(self._base.object_of(unit))}
        gone = names - {s.name for s in image.symbols.functions()}
        new = {s.name for s in image.symbols.functions() if s.size} - self._code.keys()
        kept = {name: f for name, f in self._code.items() if name not in gone}
        return {**kept, **code.functions(image, names | new)}

    def _affected(self, mutant: Mutant, image: Image) -> list[str]:
        """Kernels that may execute changed code, the nearest and quickest first."""
        after = self._code_of(mutant, image)
        changed = code.changed(self._code, after)
        if not changed:
            changed = {mutant.function}
        distances: dict[str, int] = {}
        for symbol in self._kernels:
            both = self._reach[symbol], code.reached(after, symbol)
            near = [reach[name] for reach in both for name in changed if name in reach]
            if near:
                distances[symbol] = min(near)
        return sorted(distances, key=lambda s: (distances[s], self._baselines.of(s).seconds))

    def _runner(self, elf: Path, kernels: list[str]) -> Runner:
        limit = self._baselines.budget(kernels)
        options = Options(elf=elf, budget=limit, shrink_seconds=self._settings.shrink_seconds)
        return Runner(MirrorTarget(), ImageTarget(elf, options), options)

    def _verify(self, result: Result, elf: Path, image: Image) -> None:
        started = time.monotonic()
        runner = self._runner(elf, result.kernels)
        for symbol in result.kernels:
            kernel = self._kernels[symbol]
            result.drawn[symbol] = self._drawn.digest(symbol)
            for number, case in _made(kernel, self._drawn.plans(symbol)):
                outcome = runner.check(kernel, case)
                if outcome.bad:
                    result.seconds = round(time.monotonic() - started, 3)
                    result.status, result.kernel, result.example = Status.KILLED, symbol, number
                    self._tell(result, elf, image, runner.failure(kernel, number, case, outcome))
                    return

    def _tell(self, result: Result, elf: Path, image: Image, failure: Failure) -> None:
        fault = failure.outcome.fault
        result.how = "mismatch" if fault is None else fault.kind
        if result.how == TrapKind.BUDGET.value:
            result.how = "hang"
        result.weight = failure.weight
        result.size = sum(array.size for array in failure.case.arrays.values())
        result.right_kernel = self._control_is_equal(result, elf)
        place = self._locate(result.mutant, image, self._kernels[result.kernel], failure.case)
        if place is not None:
            result.good, result.bad = str(place.good), str(place.bad)
            result.right_place = _is_right(result.mutant, place) or self._is_exact(
                result.mutant, image, place
            )

    def _is_exact(self, mutant: Mutant, image: Image, place: Place) -> bool:
        """Whether the very instruction is named: a macro's instructions have the line of its use."""
        if mutant.generator != "assembly":
            return False
        after = self._code_of(mutant, image)
        changed = code.changed(self._code, after)
        good, bad = code.differing(self._code, after, changed)
        return place.good.address in good or place.bad.address in bad

    def _control_is_equal(self, result: Result, elf: Path) -> bool:
        """Whether a kernel that cannot execute the change is still equal."""
        others = [s for s in self._kernels if s not in result.kernels]
        symbol = others[int(result.mutant.ident[2:], 16) % len(others)]
        kernel, runner = self._kernels[symbol], self._runner(elf, [symbol])
        chosen = self._drawn.plans(symbol)[:_CONTROL]
        return not any(runner.check(kernel, case).bad for _, case in _made(kernel, chosen))

    def _locate(self, mutant: Mutant, image: Image, kernel: Kernel, case: Case) -> Place | None:
        call = call_of(kernel, case)
        if mutant.generator != "c":
            return first_place(self._image, image, call, exact=mutant.generator == "binary")
        plain = [load_image(self._builder.build_plain(mutant, apply)) for apply in (False, True)]
        return first_place(plain[0], plain[1], call)


def _made(kernel: Kernel, chosen: list[Plan]) -> Iterator[tuple[int, Case]]:
    return ((number, materialise(kernel, plan)) for number, plan in enumerate(chosen))


def _is_right(mutant: Mutant, place: Place) -> bool:
    """The very instruction, or a line of the statement that was changed, on either side."""
    if mutant.generator == "binary":
        return mutant.start in (place.good.address, place.bad.address)
    return any(
        side.file.endswith(mutant.file) and mutant.line <= side.line <= mutant.last_line
        for side in (place.good, place.bad)
    )


def _last_line(message: str) -> str:
    """The compiler's first complaint."""
    lines = [line for line in message.splitlines() if "rror" in line]
    return (lines or message.splitlines())[-1].strip()[:200]
