"""``emu verify --spec`` with a spec of models: every example stage by stage, up to the first wrong stage."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from rich.text import Text

from emu.image import load_image
from emu.ledger.writer import Result, RunWriter
from emu.terminal import RESUME, Terminal, progress
from emu.verify.casefile import save
from emu.verify.compare import Mismatch
from emu.verify.describe import count_text, first_text
from emu.verify.errors import UsageProblem
from emu.verify.ledgered import describe_run, fingerprint, taken_over
from emu.verify.modelrun import ModelRunner, StageRun
from emu.verify.modelspec import ModelSpec, load_models
from emu.verify.options import Options
from emu.verify.record import source_fingerprint
from emu.verify.records import mismatch_record, write_whole
from emu.verify.strategies import cases
from emu.verify.verdict import Verdict, exit_code
from emu.verify.words import plural

EXAMPLES = 20
"""Examples of a model, which is larger than a kernel, unless others are asked for."""


@dataclass
class ModelResult:
    """``examples`` that were run; ``found``: of the last one, ``number`` its number."""

    symbol: str
    examples: int
    stages: int
    number: int
    found: StageRun
    seconds: float
    file: str = ""


def verify_model_specs(
    spec: Path,
    elf: Path | None,
    options: Options,
    terminal: Terminal,
    examples: int = EXAMPLES,
    example: int | None = None,
    json_file: Path | None = None,
    resume: bool = False,
) -> int:
    """Run every model of a spec file; the exit code. Raises UsageProblem, ImageError, ToolError.

    ``resume``: models that the last run, which was stopped, found equal are taken over from the ledger.
    """
    if elf is None:
        raise UsageProblem("a spec of models wants the image that it is about: --elf")
    image = load_image(elf)
    mark = fingerprint(
        source_fingerprint(image.sha256, options), options, spec, f"models {examples} {example}"
    )
    known = taken_over(mark, resume)
    results: list[ModelResult] = []
    interrupted = False

    def one(model: ModelSpec, writer: RunWriter) -> None:
        if model.symbol in known:
            found = known[model.symbol]
            writer.add(found)
            terminal.usual.print(f"{model.symbol}: equal in the run before", highlight=False)
            results.append(ModelResult(model.symbol, found.cases, found.stages, 0, StageRun(), 0.0))
            return
        runner = ModelRunner(model, image, options)
        result = _verify(model, runner, options, examples, example, terminal)
        results.append(result)
        writer.add(_kept(result))
        console = terminal.usual if result.found.verdict is Verdict.EQUAL else terminal.wrong
        for line in _lines(result, spec, elf):
            console.print(Text(line), soft_wrap=True)

    with RunWriter(describe_run("model specs", options, image.sha256, mark)) as writer:
        try:
            for model in load_models(spec).values():
                one(model, writer)
        except KeyboardInterrupt:
            interrupted = True
            terminal.wrong.print(f"interrupted: {RESUME}", highlight=False)
        code = exit_code((r.found.verdict for r in results), interrupted)
        writer.end(code, interrupted)
    for note in writer.notes:
        terminal.wrong.print(Text(note), soft_wrap=True)
    if json_file is not None:
        document = {"image": str(elf), "sha256": image.sha256, "models": [_record(r) for r in results]}
        write_whole(json_file, json.dumps(document, indent=1).encode() + b"\n")
    return code


def _kept(result: ModelResult) -> Result:
    """The result as the ledger keeps it."""
    found = result.found
    is_equal = found.verdict is Verdict.EQUAL
    first = first_text(found.difference) if found.difference is not None else found.message
    return Result(
        result.symbol,
        str(found.verdict),
        result.examples,
        int(not is_equal),
        seconds=result.seconds,
        message="" if is_equal else f"{found.wrong}: {first}".removeprefix(": "),
        stages=result.stages,
    )


def _verify(
    model: ModelSpec,
    runner: ModelRunner,
    options: Options,
    examples: int,
    example: int | None,
    terminal: Terminal,
) -> ModelResult:
    started = time.monotonic()
    first, count = (0, examples) if example is None else (example, 1)
    result = ModelResult(model.symbol, 0, 0, first, StageRun(Verdict.NOT_RUN), 0.0)
    with progress(terminal.usual, count) as step:
        for number, case in islice(cases(runner.kernel, options.seed, first, count), count):
            result.found, result.number = runner.run(case), number
            step(model.symbol, 1)
            result.examples += 1
            result.stages += len(result.found.seen)
            if result.found.verdict is not Verdict.EQUAL:
                if options.out is not None:
                    path = options.out / f"{model.symbol}.json"
                    save(path, case)
                    result.file = str(path)
                break
    result.seconds = time.monotonic() - started
    return result


def _lines(result: ModelResult, spec: Path, elf: Path) -> Iterator[str]:
    found = result.found
    yield (
        f"{result.symbol}: {found.verdict}; {plural(result.examples, 'example')}, "
        f"{plural(result.stages, 'stage')} equal, {result.seconds:.1f} s"
    )
    for name in found.unknown:
        yield f"  the firmware shows a stage {name!r} that the mirror does not yield"
    if found.verdict is Verdict.EQUAL:
        return
    yield f"  example {result.number}: emu verify --elf {elf} --spec {spec} --example {result.number}"
    if found.wrong:
        before = ", ".join(found.seen) or "none"
        yield f"  first wrong stage: {found.wrong} (equal before it: {before})"
    if found.difference is not None:
        yield f"  {first_text(found.difference)}"
        yield f"  {count_text(found.difference)}"
    if found.message:
        yield f"  {found.message}"
    if result.file:
        yield f"  case file: {result.file}"


def _record(result: ModelResult) -> dict[str, Any]:
    found = result.found
    detail = mismatch_record(Mismatch([found.difference]))["differences"][0] if found.difference else None
    return {
        "model": result.symbol,
        "verdict": str(found.verdict),
        "examples": result.examples,
        "stages": result.stages,
        "example": result.number,
        "first_wrong": found.wrong or None,
        "equal_before": found.seen,
        "difference": detail,
        "message": found.message or None,
        "case_file": result.file or None,
    }
