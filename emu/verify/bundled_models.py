"""What ``emu verify --models`` does: every model with every set of weights, on an image or on a board.

Each finished model is in the ledger at once; ``--resume`` takes over those that were equal.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from emu.cpu.options import EngineOptions
from emu.image import Image, load_image
from emu.ledger.writer import Result, Run, RunWriter, Session
from emu.models.modelfile.extreme import extreme_model
from emu.models.modelfile.kinds import Kind
from emu.models.modelfile.random_weights import random_model
from emu.terminal import RESUME, Terminal, progress
from emu.verify.bundled_report import explain, summary, table_of
from emu.verify.errors import UsageProblem
from emu.verify.ledgered import fingerprint, resumed_text, taken_over
from emu.verify.models import Effort, PairFactory, Report, compare_model
from emu.verify.options import Options
from emu.verify.record import source_fingerprint
from emu.verify.records import package_version, write_whole
from emu.verify.reference import agent_elf, reference_elf
from emu.verify.verdict import Verdict, exit_code
from emu.verify.words import plural

Weights = tuple[Kind, str, Callable[[], bytes]]


@dataclass(frozen=True)
class ModelsRequest:
    """What ``emu verify --models`` was asked for."""

    elf: Path | None = None
    tier: str = "translator"
    fused: str = "fused"
    json_file: Path | None = None
    html_file: Path | None = None
    port: str = ""
    baud: int | None = None
    resume: bool = False
    quiet: bool = False
    effort: Effort = field(default_factory=Effort)


def run_models(request: ModelsRequest) -> int:
    """Run the request and print what came out; the exit code. Raises UsageProblem, ImageError."""
    if not request.port:
        return verify_models(request, request.elf or reference_elf())
    return _on_board(request, request.elf or agent_elf())


def _on_board(request: ModelsRequest, elf: Path) -> int:
    """The same on a board; tells at the end what happened on the line."""
    from emu.link.board import Board
    from emu.verify.board_pairs import make_board_pair
    from emu.verify.board_target import session_of

    if request.html_file is not None:
        raise UsageProblem("--html with --models shows an image: not with --port")
    board = Board(request.port, load_image(elf), baud=request.baud)
    try:
        return verify_models(
            request, elf, lambda file: make_board_pair(file, board), lambda: session_of(board)
        )
    finally:
        board.close()
        Terminal.of(request.quiet, request.json_file).usual.print(board.tally.summary(), highlight=False)


def verify_models(
    request: ModelsRequest,
    elf: Path,
    make: PairFactory | None = None,
    session: Callable[[], Session] | None = None,
    terminal: Terminal | None = None,
) -> int:
    """Compare every model with every set of weights; print a table; the exit code.

    ``make``: pairs on another target than the image; ``session``: what happened on the line to it.
    """
    terminal = terminal or Terminal.of(request.quiet, request.json_file)
    image = load_image(elf)
    campaign = _Campaign(request, image, make, session)
    known = campaign.known()
    if request.resume:
        terminal.usual.print(
            resumed_text(len(known), plural(len(campaign.weights), "model")), highlight=False
        )
    interrupted = False
    with campaign.writer as writer:
        try:
            with progress(terminal.usual, campaign.total) as step:
                campaign.run(known, step)
        except KeyboardInterrupt:
            interrupted = True
        code = exit_code((r.verdict for r in campaign.reports), interrupted)
        writer.end(code, interrupted)
    _tell(terminal, campaign, interrupted)
    _write(request, campaign.reports, image, elf)
    return code


class _Campaign:
    """The reports so far, and the ledger that they go to."""

    def __init__(
        self,
        request: ModelsRequest,
        image: Image,
        make: PairFactory | None,
        session: Callable[[], Session] | None,
    ) -> None:
        self.reports: list[Report] = []
        self.weights = list(_weights(request.effort))
        self.total = sum(request.effort.runs(kind) for kind, _, _ in self.weights)
        self._request, self._image, self._make, self._session = request, image, make, session
        self._options = EngineOptions(tier=request.tier, fused=request.fused)  # type: ignore[arg-type]
        run = _ledger_run(request, image)
        self._mark = run.fingerprint or ""
        self._earlier = taken_over(self._mark, request.resume)
        self.writer = RunWriter(run)

    def known(self) -> dict[str, Result]:
        """Results of the run before that a resumed run takes over."""
        names = {f"{kind.label} {name}" for kind, name, _ in self.weights}
        return {name: result for name, result in self._earlier.items() if name in names}

    def run(self, known: Mapping[str, Result], step: Callable[[str, int], None]) -> None:
        """Every model that is not known; after a link fault nothing more would come."""
        effort = self._request.effort
        for kind, name, weights in self.weights:
            title = f"{kind.label} {name}"
            if title in known:
                self._take_over(kind, name, weights, known[title])
                step(title, effort.runs(kind))
                continue
            started = 0

            def tell(run: str, title: str = title) -> None:
                nonlocal started
                step(f"{title}: {run}", min(started, 1))
                started += 1

            report = compare_model(
                kind, weights(), name, self._image, self._options, effort, self._make, tell
            )
            step(title, effort.runs(kind) - max(started - 1, 0))
            self._keep(report)
            if report.verdict is Verdict.LINK_FAULT:
                return

    def _keep(self, report: Report) -> None:
        session = None if self._session is None else self._session()
        self.writer.add(_result(report), report.costs)
        if session is not None:
            self.writer.tell(session)
        self.reports.append(report)

    def _take_over(self, kind: Kind, name: str, weights: Callable[[], bytes], result: Result) -> None:
        self.writer.add(result)
        report = Report(
            kind,
            name,
            result.cases,
            result.stages,
            instructions=result.instructions,
            arena_high=result.internal_ram,
            seconds=result.seconds,
            options=self._options,
            effort=self._request.effort,
        )
        report.data = weights() if self._request.html_file is not None else None
        self.reports.append(report)


def _weights(effort: Effort) -> Iterator[Weights]:
    for kind in effort.kinds:
        for seed in effort.seeds:
            yield kind, f"random:{seed}", lambda kind=kind, seed=seed: random_model(kind, seed)  # type: ignore[misc]
            if effort.extreme:
                yield kind, f"extreme:{seed}", lambda kind=kind, seed=seed: extreme_model(kind, seed)  # type: ignore[misc]


def _ledger_run(request: ModelsRequest, image: Image) -> Run:
    target = "board" if request.port else "image"
    options = Options(target=target, tier=request.tier, fused=request.fused)  # type: ignore[arg-type]
    sources = source_fingerprint(image.sha256, options)
    return Run(
        kind="models",
        target=target,
        program=package_version(),
        image=image.name,
        image_sha256=image.sha256,
        board=request.port or None,
        fingerprint=fingerprint(sources, options, None, f"models {request.effort}"),
    )


def _result(report: Report) -> Result:
    message = "" if report.verdict is Verdict.EQUAL else explain(report).partition("\n")[2]
    return Result(
        f"{report.kind.label} {report.weights}",
        str(report.verdict),
        report.runs,
        report.differing,
        report.instructions,
        report.seconds,
        message=" ".join(message.split()),
        stages=report.stages,
        internal_ram=report.arena_high,
    )


def _tell(terminal: Terminal, campaign: _Campaign, interrupted: bool) -> None:
    reports = campaign.reports
    wrong = [r for r in reports if r.verdict is not Verdict.EQUAL]
    terminal.usual.print(table_of(reports))
    for report in wrong:
        terminal.wrong.print(explain(report), highlight=False)
    last = terminal.wrong if wrong or interrupted else terminal.usual
    for note in campaign.writer.notes:
        last.print(note, highlight=False)
    last.print(summary(reports, len(campaign.weights)), highlight=False)
    if interrupted:
        last.print(f"interrupted: {RESUME}", highlight=False)


def _write(request: ModelsRequest, reports: list[Report], image: Image, elf: Path) -> None:
    if request.json_file is not None:
        document = {"image": str(elf), "sha256": image.sha256, "models": [r.as_json() for r in reports]}
        write_whole(request.json_file, json.dumps(document, indent=1, default=str).encode() + b"\n")
    if request.html_file is not None:
        from emu.report.models import models_document
        from emu.report.page import write_page

        write_page(request.html_file, models_document(reports, image, str(elf)))
