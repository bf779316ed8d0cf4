"""What ``emu draw`` does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from emu.models.dump import check_suffix, digest_lines, provenance, write_dump
from emu.models.errors import PromptError
from emu.models.modelfile.kinds import Kind
from emu.models.modelfile.reader import ModelFile
from emu.models.runs import Run, draw
from emu.models.sources import load_model, seed_number
from emu.models.t2i.mirror import Request
from emu.models.t2i.tokenizer import tokenize, unknown_words
from emu.numerics.types import U8Array


@dataclass(frozen=True)
class DrawRequest:
    """The options of ``emu draw`` as they were typed."""

    prompt: str
    seed: str
    steps: int
    cfg: float
    target: str
    source: str
    elf: Path | None
    stages: Sequence[str]
    dump: Path | None
    digests: Path | None
    scale: int
    times: bool
    output: Path


def run(request: DrawRequest) -> int:
    """Draw the picture, write what was asked for, tell the times. Raises ModelError, Trap, OSError."""
    console = Console(stderr=True)
    check_stage_options(request.stages, request.dump)
    file = load_model(request.source, Kind.T2I)
    wanted = Request(
        tokenize(request.prompt, file.array("tok.words")),
        seed_number(request.seed),
        request.steps,
        np.float32(request.cfg),
    )
    _tell_words(request, file, wanted, console)
    patterns = request.stages or (("*",) if request.dump else ())
    with _bar(console, request) as bar:
        task = bar.add_task("steps", total=request.steps)
        made = draw(
            file, wanted, request.target, request.elf, patterns, request.digests is not None,
            lambda step: bar.update(task, completed=step), request.times,
        )  # fmt: skip
    write_png(request.output, made.result, request.scale)
    write_stages(made.stages, made.digests, request, file, {"prompt": request.prompt, "seed": request.seed,
                 "steps": request.steps, "cfg": request.cfg})  # fmt: skip
    _tell_times(request, made, console)
    return 0


def check_stage_options(stages: Sequence[str], dump: Path | None) -> None:
    """Refuse options that contradict each other before anything runs. Raises PromptError."""
    if stages and dump is None:
        raise PromptError("--stages chooses what --dump writes; name a file with --dump")
    if dump is not None:
        check_suffix(dump)


def write_stages(
    stages: dict[str, Any], digests: dict[str, int], request: Any, file: ModelFile, what: dict[str, object]
) -> None:
    """Write --dump and --digests where they were asked for."""
    if request.dump is not None:
        origin = provenance(request.source, file.sha256, request.target, what)
        write_dump(request.dump, stages, origin)
    if request.digests is not None:
        text = digest_lines(digests)
        if str(request.digests) == "-":
            print(text, end="")
        else:
            request.digests.write_text(text)


def _tell_words(request: DrawRequest, file: ModelFile, wanted: Request, console: Console) -> None:
    words = file.array("tok.words")
    unknown = unknown_words(request.prompt, words)
    if not len(wanted.tokens):
        console.print("no word of the prompt is known: this is the null prompt", style="yellow")
    elif unknown:
        console.print(f"unknown words, left out: {', '.join(unknown)}", style="yellow", highlight=False)
    if request.source.startswith(("random:", "extreme:")):
        console.print("these weights are random: the picture shows noise, not a face", style="dim")


def _bar(console: Console, request: DrawRequest) -> Progress:
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    return Progress(*columns, console=console, transient=True, disable=not console.is_terminal)


def write_png(path: Path, picture: U8Array, scale: int = 1) -> None:
    """Write uint8 [height][width][3] as PNG, each pixel ``scale`` by ``scale``."""
    import png

    large = picture.repeat(scale, axis=0).repeat(scale, axis=1)
    png.from_array(large.reshape(len(large), -1), "RGB;8").save(str(path))


def _tell_times(request: DrawRequest, made: Run, console: Console) -> None:
    steps = made.step_seconds
    middle = f"{min(steps) * 1e3:.1f} to {max(steps) * 1e3:.1f} ms each" if steps else ""
    console.print(
        f"{request.output}: {made.seconds:.3f} s on the {request.target}; {len(steps)} steps "
        f"{sum(steps):.3f} s ({middle}), decoder {max(made.seconds - sum(steps), 0):.3f} s",
        highlight=False,
    )
    for stage, seconds in sorted(made.stage_seconds.items(), key=lambda item: -item[1]):
        console.print(f"  {seconds * 1e3:9.2f} ms  {stage}", highlight=False, markup=False)
    if made.instructions:
        console.print(
            f"{made.instructions:,} instructions; most internal RAM {made.arena_high:,} of 294,912 bytes, "
            f"PSRAM {made.slow_high:,}",
            highlight=False,
        )
