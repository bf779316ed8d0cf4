"""Runs of models as a report: strips of stages, the first wrong tensor, the pictures of a sampler."""

from __future__ import annotations

import re
from typing import Literal

import numpy as np

from emu.cpu.options import EngineOptions
from emu.image import Image
from emu.models.modelfile.kinds import Kind
from emu.models.modelfile.reader import ModelFile
from emu.models.stages import Recorder
from emu.models.t2i.mirror import T2iMirror
from emu.numerics.types import AnyArray
from emu.report.document import Document, Failure, Gallery, Grid, Picture, Row, Stage, Strip, Tensor, Tone
from emu.report.drawing import picture_of
from emu.report.tensors import tensor_section
from emu.verify.models import Effort, Pair, Report, make_pair
from emu.verify.verdict import Verdict

_ENLARGED = 3
_STATES: dict[bool | None, Literal["equal", "differs", "missing"]] = {
    True: "equal",
    False: "differs",
    None: "missing",
}


def models_document(reports: list[Report], image: Image, elf: str) -> Document:
    """The page of ``emu verify --models``. Reports that differ are run once more for their tensors."""
    wrong = [r for r in reports if r.verdict is not Verdict.EQUAL]
    stages, runs = sum(r.stages for r in reports), sum(r.runs for r in reports)
    told = "all equal" if not wrong else f"{len(wrong)} of {len(reports)} differ"
    return Document(
        verdict=str(wrong[0].verdict) if wrong else "equal",
        tone="bad" if wrong else "good",
        headline=f"{len(reports)} models, {runs:,} runs, {stages:,} stages compared: {told}",
        facts=[("image", elf), ("image SHA-256", image.sha256)],
        table=_table(reports),
        strips=[strip(r) for r in reports],
        failures=[failure(r, image) for r in wrong],
        galleries=[g for r in _pictured(reports) for g in galleries(r, image)],
    )


def _pictured(reports: list[Report]) -> list[Report]:
    """Text-to-image runs that differ, or the first one of them all."""
    drawn = [r for r in reports if r.kind is Kind.T2I]
    return [r for r in drawn if r.verdict is not Verdict.EQUAL] or drawn[:1]


def _table(reports: list[Report]) -> Grid:
    rows = []
    for r in reports:
        counts = (r.runs, r.stages, r.differing, r.instructions, r.arena_high)
        cells = (r.kind.label, r.weights, *(f"{n:,}" for n in counts), f"{r.seconds:.1f}", str(r.verdict))
        rows.append(Row(cells, _tone(r), "" if r.verdict is Verdict.EQUAL else _anchor(r)))
    names = (
        "model",
        "weights",
        "runs",
        "stages",
        "differ",
        "instructions",
        "SRAM peak",
        "seconds",
        "verdict",
    )
    return Grid(names, tuple(rows), texts=2)


def _tone(report: Report) -> Tone:
    return "good" if report.verdict is Verdict.EQUAL else "bad"


def _anchor(report: Report) -> str:
    return "model-" + re.sub(r"\W", "-", f"{report.kind.label}-{report.weights}")


def strip(report: Report) -> Strip:
    """The stages of the run that differs, else of the first one."""
    stages = tuple(Stage(name, _STATES[same]) for name, same in report.strip.items())
    equal = sum(s.state == "equal" for s in stages)
    told = f"all {len(stages):,} stages equal"
    if equal < len(stages):
        first = next(s for s in stages if s.state != "equal")
        after = len(stages) - equal - 1
        told = (
            f"{equal:,} of {len(stages):,} stages equal; first wrong: {first.name}; {after:,} more after it"
        )
    title = f"{report.kind.label} {report.weights}, {report.strip_run}"
    return Strip(title, told, _tone(report), stages)


def failure(report: Report, image: Image) -> Failure:
    """What is wrong with a model, with the tensor of its first wrong stage."""
    facts = [("run", report.run)]
    facts += [("first wrong stage", report.first), ("stages that differ", f"{report.differing:,}")]
    facts += [("message", report.message)] if report.message else []
    pair = pair_of(report, image)
    section = None if pair is None or report.detail is None else _first_tensor(pair, report)
    return Failure(
        _anchor(report),
        f"{report.verdict}: {report.kind.label} {report.weights}"
        + (f" at {report.first}" if report.first else ""),
        "bad",
        tuple(facts),
        () if section is None else (section,),
        replay=(f"emu verify --models  # {report.kind.label} {report.weights}",),
    )


def pair_of(report: Report, image: Image) -> Pair | None:
    """The model of a report on both targets, with its runs prepared."""
    if report.data is None:
        return None
    pair = make_pair(ModelFile(report.data, report.weights), image, report.options or EngineOptions())
    list(pair.runs(report.effort or Effort()))
    return pair


def _first_tensor(pair: Pair, report: Report) -> Tensor | None:
    stage = report.first
    mirror, other = Recorder((stage,)), Recorder((stage,))
    pair.both(report.run, mirror, (other, stage))
    if stage not in mirror.stages or stage not in other.stages:
        return None
    expected, actual = np.ascontiguousarray(mirror.stages[stage]), np.ascontiguousarray(other.stages[stage])
    return tensor_section(stage, expected.shape, expected.reshape(-1), actual.reshape(-1))


def galleries(report: Report, image: Image) -> list[Gallery]:
    """The pictures of a text-to-image run after each sampler step; of both sides where they differ."""
    if report.kind is not Kind.T2I or report.data is None:
        return []
    pair = pair_of(report, image)
    assert pair is not None
    run = report.run or report.strip_run
    mirror, other = Recorder(("s*.z",)), Recorder(("s*.z",))
    pair.both(run, mirror, (other, "s*.z"))
    decoder = T2iMirror(pair.file)
    title = f"t2i {report.weights}, {run}"
    found = [Gallery(f"{title}: mirror", _decoded(decoder, mirror.stages))]
    if report.verdict is not Verdict.EQUAL:
        found.append(Gallery(f"{title}: image", _decoded(decoder, other.stages)))
    return found


def _decoded(mirror: T2iMirror, stages: dict[str, AnyArray]) -> tuple[Picture, ...]:
    """Each latent through the mirror's decoder."""
    steps = [(name, z) for name, z in stages.items() if re.fullmatch(r"s\d+\.z", name)]
    return tuple(
        picture_of(mirror.picture(z.reshape(16, 16, -1)), f"after step {int(name[1:-2]) + 1}", _ENLARGED)
        for name, z in steps
    )
