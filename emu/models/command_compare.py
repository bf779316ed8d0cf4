"""What ``emu compare`` does: the quantized model beside the float one."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from emu.models.floating.report import FloatReport, StageNoise, compare_t2i, compare_ternary, compare_tinylm
from emu.models.modelfile.kinds import Kind
from emu.models.sources import load_model, seed_number
from emu.models.t2i.mirror import Request
from emu.models.t2i.tokenizer import tokenize
from emu.models.tinylm.tokenizer import Tokenizer
from emu.terminal import progress

_PROMPT = "улыбающаяся девушка с чёлкой"  # noqa: RUF001
_TEXT = "A small model says what comes next, one token after the other, and is seldom sure of it."
_SHOWN = 24


@dataclass(frozen=True)
class CompareRequest:
    """The options of ``emu compare``."""

    kind: str
    bits: str
    source: str
    text: str | None
    seed: str
    steps: int
    every: bool
    json_file: Path | None


def run(request: CompareRequest) -> int:
    """Compare, print, write. Raises ModelError, OSError."""
    console = Console()
    with progress(console) as step:
        step(f"{request.kind} on the mirror and in float{request.bits}", 0)
        report = _compare(request)
    shown = report.stages if request.every else _selection(report.stages)
    console.print(_table(shown))
    if len(shown) < len(report.stages):
        console.print(f"{len(shown)} of {len(report.stages)} stages; --all shows all", style="dim")
    for name, value in report.summary.items():
        console.print(f"{name}: {value:.4g}", highlight=False)
    if request.json_file is not None:
        document = {"summary": report.summary, "stages": [asdict(s) for s in report.stages]}
        request.json_file.write_text(json.dumps(document, indent=1) + "\n")
    return 0


def _compare(request: CompareRequest) -> FloatReport:
    kind, seed = Kind.of(request.kind), seed_number(request.seed)
    file = load_model(request.source, kind)
    dtype = np.float32 if request.bits == "32" else np.float64
    if kind is Kind.T2I:
        tokens = tokenize(_PROMPT if request.text is None else request.text, file.array("tok.words"))
        return compare_t2i(file, Request(tokens, seed, request.steps), dtype)
    if kind is Kind.TERNARY:
        numbers = np.random.default_rng(seed).integers(0, 256, (100, 2)).tolist()
        sums = [f"{a}+{b}".encode() for a, b in numbers]
        return compare_ternary(file, sums if request.text is None else [request.text.encode()], dtype)
    text = (_TEXT if request.text is None else request.text).encode()
    tokens = Tokenizer(file.array("tok.start"), file.array("tok.bytes")).encode(text)
    return compare_tinylm(file, tokens.tolist()[:256], dtype)


def _selection(stages: list[StageNoise]) -> list[StageNoise]:
    """Stages spread evenly over the run, the first and the last among them."""
    if len(stages) <= _SHOWN:
        return stages
    places = np.unique(np.linspace(0, len(stages) - 1, _SHOWN).round().astype(int))
    return [stages[i] for i in places]


def _table(stages: list[StageNoise]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("stage", no_wrap=True)
    table.add_column("SNR dB", justify="right")
    table.add_column("worst element", no_wrap=True)
    table.add_column("float", justify="right")
    table.add_column("quantized", justify="right")
    for s in stages:
        snr = "-" if s.snr is None else "exact" if s.snr == float("inf") else f"{s.snr:.1f}"
        place = "\\[" + ", ".join(map(str, s.index)) + "]" if s.index else "-"
        table.add_row(s.stage, snr, place, f"{s.expected:.6g}", f"{s.found:.6g}")
    return table
