"""What ``emu verify`` does: choose kernels and image, run, report, decide the exit code."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from emu.kernels.spec import Kernel
from emu.ledger.database import ledger_path
from emu.terminal import RESUME, Terminal
from emu.verify.campaign import Campaign, Listener
from emu.verify.case import Case
from emu.verify.casefile import load
from emu.verify.describe import selection_text
from emu.verify.errors import ToolError, UsageProblem
from emu.verify.exhaustive import elementwise, exhaustive_options, parse_slice, run_exhaustive
from emu.verify.ledgered import LedgerListener, describe_run, fingerprint, resumed_text, taken_over
from emu.verify.memory import Memory, default_folder
from emu.verify.options import Options, TargetName
from emu.verify.progress import progress_listener
from emu.verify.record import source_fingerprint
from emu.verify.records import write_json, write_junit
from emu.verify.report import print_campaign
from emu.verify.runner import Runner
from emu.verify.sampled import run_one, run_sampled
from emu.verify.selection import choose, known_kernels
from emu.verify.verdict import EXIT_INTERRUPTED, exit_code
from emu.verify.watchdog import DEFAULT_SECONDS
from emu.verify.words import plural


@dataclass(frozen=True)
class VerifyRequest:
    """The options of ``emu verify`` as they were typed."""

    elf: Path | None = None
    spec: Path | None = None
    kernels: tuple[str, ...] = ()
    examples: int = 200
    seed: int = 0
    example: int | None = None
    replay: Path | None = None
    exhaustive: bool = False
    part: str = "0/1"
    target: TargetName = "image"
    tier: str = "translator"
    fused: str = "fused"
    bounds: bool | None = None
    check: bool = False
    budget: int = 50_000_000
    jobs: int | None = None
    json_file: Path | None = None
    junit_file: Path | None = None
    html_file: Path | None = None
    out: Path | None = None
    memory: bool = True
    mirror_seconds: float = DEFAULT_SECONDS
    port: str = ""
    baud: int | None = None
    readings: Path | None = None
    resume: bool = False
    quiet: bool = False

    def selection(self) -> str:
        """The options that a replay has to repeat."""
        extra = f" --tier {self.tier}" if self.tier != "translator" else ""
        extra += f" --fused {self.fused}" if self.fused != "fused" else ""
        extra += {None: "", True: " --bounds", False: " --no-bounds"}[self.bounds]
        extra += " --check" if self.check else ""
        extra += f" --budget {self.budget}" if self.budget != VerifyRequest.budget else ""
        extra += f" --port {shlex.quote(self.port)}" if self.port else ""
        extra += f" --readings {shlex.quote(str(self.readings))}" if self.readings else ""
        return selection_text(self.elf, self.spec, self.target, extra)

    def options(self, elf: Path | None) -> Options:
        """The same for the workers."""
        return Options(
            target=self.target,
            elf=elf,
            tier=self.tier,
            fused=self.fused,
            bounds=self.bounds,
            check=self.check,
            budget=self.budget,
            seed=self.seed,
            examples=self.examples,
            jobs=1 if self.port else self.jobs or os.cpu_count() or 1,
            port=self.port,
            baud=self.baud,
            readings=_readings(self.readings),
            out=self.out,
            mirror_seconds=self.mirror_seconds,
        )


def run(request: VerifyRequest, console: Console | None = None) -> int:
    """Run the request and print what came out; returns the exit code. Raises UsageProblem for wrong input."""
    terminal = Terminal.of(request.quiet, request.json_file)
    if console is not None:
        terminal = Terminal(console, console)
    _check_combination(request)
    _check_places(request)
    from emu.verify.modelspec import is_model_spec

    if request.spec is not None and is_model_spec(request.spec):
        return _models(request, request.spec, terminal)
    kernels = known_kernels(request.spec)
    image = _Image.open(request)
    campaign = _campaign(request, kernels, image, terminal.usual)
    campaign.elf_sha256 = image.sha256
    campaign.notes += image.warnings
    if campaign.interrupted:
        campaign.notes.append(_how_to_go_on(request))
    try:
        _write(request, campaign)
    finally:
        # whatever becomes of the files, what was found is told
        print_campaign(terminal, campaign, request.selection(), unit_of(request))
    return _exit_code(campaign)


def _how_to_go_on(request: VerifyRequest) -> str:
    """After Ctrl-C: how nothing that is finished is computed again."""
    if request.exhaustive and request.out is not None:
        return "interrupted: the same command goes on from here"
    if request.exhaustive:
        return "interrupted: nothing is kept without --out FOLDER, which lets the same command go on"
    if request.example is not None or request.replay is not None:
        return "interrupted"
    if ledger_path() is None:
        return "interrupted: the ledger is off (EMU_LEDGER=off), so --resume would find nothing"
    return f"interrupted: {RESUME}"


def _models(request: VerifyRequest, spec: Path, terminal: Terminal) -> int:
    """A spec of models (emu.verify.modelspec): stage by stage."""
    from emu.verify.modelcommand import EXAMPLES, verify_model_specs

    examples = EXAMPLES if request.examples == Options().examples else request.examples
    options = request.options(request.elf)
    return verify_model_specs(
        spec, request.elf, options, terminal, examples, request.example, request.json_file, request.resume
    )


def unit_of(request: VerifyRequest) -> str:
    """What the counts of a run count."""
    return "patterns" if request.exhaustive else "examples"


def _exit_code(campaign: Campaign) -> int:
    if campaign.interrupted and not any(r.failure for r in campaign.results.values()):
        return EXIT_INTERRUPTED
    return exit_code(r.verdict for r in campaign.results.values())


def _readings(path: Path | None) -> tuple[tuple[str, str], ...]:
    """The readings of a result file. Raises UsageProblem."""
    from emu.cpu.readings import ReadingError
    from emu.link.facts import load_facts

    try:
        return () if path is None else tuple(sorted(load_facts(path).items()))
    except ReadingError as error:
        raise UsageProblem(f"--readings: {error}") from error


def _check_combination(request: VerifyRequest) -> None:
    single = [n for n, v in (("--example", request.example), ("--replay", request.replay)) if v is not None]
    if len(single) == 2 or (single and request.exhaustive):
        raise UsageProblem(f"{single[0]} cannot be combined with {(single[1:] or ['--exhaustive'])[0]}")
    if request.resume and (single or request.exhaustive):
        raise UsageProblem(
            f"--resume belongs to a campaign of examples, not to {(single or ['--exhaustive'])[0]}"
        )
    if request.part != "0/1" and not request.exhaustive:
        raise UsageProblem("--slice belongs to --exhaustive")
    if (request.target == "board") != bool(request.port):
        raise UsageProblem("--target board and --port belong together")
    if request.target == "mirror" and request.elf is not None:
        raise UsageProblem("--elf has no meaning with --target mirror")
    if request.check and (request.target != "image" or request.exhaustive):
        raise UsageProblem(f"--check looks at examples of an image: not with {_not_with_check(request)}")


def _not_with_check(request: VerifyRequest) -> str:
    return "--exhaustive" if request.exhaustive else f"--target {request.target}"


def _check_places(request: VerifyRequest) -> None:
    """Places for reports that cannot take one, found before hours of work."""
    for option, path in (
        ("--json", request.json_file),
        ("--junit", request.junit_file),
        ("--html", request.html_file),
    ):
        if path is not None and path.is_dir():
            raise UsageProblem(f"{option} {path}: a folder; name a file in it")
    folders = [("--json", request.json_file and request.json_file.parent)]
    folders += [("--junit", request.junit_file and request.junit_file.parent), ("--out", request.out)]
    folders.append(("--html", request.html_file and request.html_file.parent))
    for option, folder in folders:
        if folder is None:
            continue
        there = next(p for p in (folder.absolute(), *folder.absolute().parents) if p.exists())
        if not there.is_dir():
            raise UsageProblem(f"{option} {folder}: {there} is a file, not a folder")
        if not os.access(there, os.W_OK | os.X_OK):
            raise UsageProblem(f"{option} {folder}: the folder {there} cannot be written")


@dataclass(frozen=True)
class _Image:
    """What has to be known about the image before any worker starts."""

    path: Path | None
    sha256: str
    warnings: list[str]
    check: Callable[[list[Kernel]], None]

    @classmethod
    def open(cls, request: VerifyRequest) -> _Image:
        if request.target == "board":
            return cls._behind_port(request)
        if request.target == "mirror":
            return cls(
                None, "", ["the mirror was run against itself: this checks the specs, no firmware"], _nothing
            )
        from emu.image import load_image
        from emu.verify.image_check import check_image
        from emu.verify.reference import reference_elf

        path = request.elf or reference_elf()
        image = load_image(path)
        return cls(path, image.sha256, list(image.warnings), lambda kernels: check_image(image, kernels))

    @classmethod
    def _behind_port(cls, request: VerifyRequest) -> _Image:
        """A board says itself what it offers; the ELF file only helps to tell where a fault was."""
        from emu.verify.reference import agent_elf

        return cls(request.elf or agent_elf(), "", [], _nothing)


def _nothing(kernels: list[Kernel]) -> None:
    """A mirror has every symbol."""


def _campaign(
    request: VerifyRequest, kernels: dict[str, Kernel], image: _Image, console: Console
) -> Campaign:
    options = request.options(image.path)
    if request.exhaustive:
        options = exhaustive_options(options)
    make = _runner_factory(options)
    if request.replay is not None:
        kernel, case = load(request.replay, kernels)
        image.check([kernel])
        with progress_listener(console, [kernel], False) as listen:
            return _one(request, options, kernel, case, make, image.sha256, listen)
    chosen = choose(kernels, request.kernels)
    if request.exhaustive:
        chosen = _elementwise(chosen, bool(request.kernels))
    image.check(chosen)
    if request.example is not None:
        if len(chosen) != 1:
            raise UsageProblem(f"--example wants one kernel, chosen with --kernel; {len(chosen)} are chosen")
        with progress_listener(console, chosen, False) as listen:
            return _one(request, options, chosen[0], None, make, image.sha256, listen)
    with progress_listener(console, chosen, request.exhaustive) as listen:
        return _many(request, options, chosen, make, image.sha256, _keeping(request, listen))


def _one(
    request: VerifyRequest,
    options: Options,
    kernel: Kernel,
    case: Case | None,
    make: Callable[[], Runner],
    sha256: str,
    listen: Listener,
) -> Campaign:
    """``case``: of --replay; None: of --example."""
    run = describe_run("example" if case is None else "replay", options, sha256, None)
    with LedgerListener(run, listen, {}) as ledger:
        campaign = run_one(kernel, options, make, request.example, case, str(request.replay), ledger)
        ledger.end(campaign, _exit_code(campaign))
    return campaign


def _many(
    request: VerifyRequest,
    options: Options,
    chosen: list[Kernel],
    make: Callable[[], Runner],
    sha256: str,
    listen: Listener,
) -> Campaign:
    what = "exhaustive" if request.exhaustive else "kernels"
    sources = source_fingerprint(sha256, options)
    mark = fingerprint(sources, options, request.spec, what)
    known = taken_over(mark, request.resume)
    known = {s: r for s, r in known.items() if any(k.symbol == s for k in chosen)}
    with LedgerListener(describe_run(what, options, sha256, mark), listen, known) as ledger:
        if request.exhaustive:
            part = parse_slice(request.part)
            campaign = run_exhaustive(chosen, options, make, part, sources, ledger)
        else:
            memory = Memory(default_folder() if request.memory else None)
            campaign = run_sampled(chosen, options, make, memory, ledger, known)
        if request.resume:
            campaign.notes.append(resumed_text(len(known), plural(len(chosen), "kernel")))
        ledger.end(campaign, _exit_code(campaign))
    return campaign


def _elementwise(chosen: list[Kernel], by_name: bool) -> list[Kernel]:
    """Kernels with an exhaustive run; naming one that has none is an error, as is having none at all."""
    found = [k for k in chosen if k.elementwise is not None]
    missing = [k for k in chosen if k.elementwise is None]
    if missing and (by_name or not found):
        raise UsageProblem(f"not elementwise, so no exhaustive run: {', '.join(k.symbol for k in missing)}")
    for kernel in found:
        elementwise(kernel)
    return found


def _runner_factory(options: Options) -> Callable[[], Runner]:
    def make() -> Runner:
        from emu.verify.targets import make_runner

        return make_runner(options)

    return make


def _keeping(request: VerifyRequest, listen: Listener) -> Listener:
    """With --out, keep partial results on disk after every finished kernel."""
    if request.out is None:
        return listen
    path = request.out / "partial.json"
    settled = 0

    def both(campaign: Campaign, symbol: str, running: int) -> None:
        nonlocal settled
        listen(campaign, symbol, running)
        pieces = sum(r.pieces for r in campaign.results.values())
        if pieces != settled:
            settled = pieces
            try:
                write_json(path, campaign, request.selection())
            except ToolError as error:
                # a full disk must not end the campaign; the final report tries again
                campaign.notes[:] = [*(n for n in campaign.notes if n != str(error)), str(error)]

    return both


def _write(request: VerifyRequest, campaign: Campaign) -> None:
    selection = request.selection()
    if request.json_file is not None:
        write_json(request.json_file, campaign, selection)
    if request.junit_file is not None:
        write_junit(request.junit_file, campaign, selection)
    if request.html_file is not None:
        from emu.report.kernels import kernels_document
        from emu.report.page import write_page

        write_page(request.html_file, kernels_document(campaign, selection, unit_of(request)))
    if request.out is not None:
        write_json(request.out / "report.json", campaign, selection)
        (request.out / "partial.json").unlink(missing_ok=True)
