"""What ``emu mutate`` does: build, sample, judge, print, and decide the exit code."""

from __future__ import annotations

import hashlib
import json
import math
import os
import shlex
from dataclasses import asdict, dataclass
from pathlib import Path

from emu.kernels.spec import Kernel
from emu.ledger.writer import RunWriter
from emu.mutate.builder import Base, build_base, firmware_name
from emu.mutate.campaign import Campaign, Listener
from emu.mutate.judge import Settings
from emu.mutate.ledgered import judged, keep_score, mutate_run
from emu.mutate.mutant import GENERATORS, Mutant, mutant_of
from emu.mutate.result import Result, ResultFile, Status
from emu.mutate.sampling import sample
from emu.mutate.score import score
from emu.mutate.tables import page, print_campaign
from emu.terminal import Step, Terminal, progress
from emu.toolchain import find_toolchain
from emu.toolchain.build import firmware_folder
from emu.verify.errors import UsageProblem
from emu.verify.records import write_whole
from emu.verify.selection import choose, known_kernels
from emu.verify.verdict import EXIT_INTERRUPTED

EXIT_SURVIVORS = 1


@dataclass(frozen=True)
class MutateRequest:
    """The options of ``emu mutate`` as they were typed. ``sample`` 0: every mutant."""

    sample: int = 400
    seed: int = 0
    kernels: tuple[str, ...] = ()
    generators: tuple[str, ...] = GENERATORS
    examples: int = 200
    long_examples: int = 100_000
    shrink_seconds: float = 4.0
    jobs: int | None = None
    seconds: float = math.inf
    folder: Path = Path("emu-mutate")
    again: tuple[str, ...] = ()
    only: tuple[str, ...] = ()
    page: Path | None = None
    dry_run: bool = False
    json_file: Path | None = None
    quiet: bool = False

    @property
    def command(self) -> str:
        """The command line that makes the same campaign."""
        words = ["emu", "mutate", "--sample", str(self.sample), "--seed", str(self.seed)]
        if self.long_examples != MutateRequest.long_examples:
            words += ["--long-examples", str(self.long_examples)]
        for kernel in self.kernels:
            words += ["--kernel", kernel]
        for name in self.only:
            words += ["--only", name]
        for generator in self.generators if self.generators != GENERATORS else ():
            words += ["--generator", generator]
        return shlex.join(words)


def run(request: MutateRequest) -> int:
    """Run or continue the campaign; 0 when every fault was found, 1 when some survived.

    Raises UsageProblem for wrong input, ToolchainError without a compiler.
    """
    terminal = Terminal.of(request.quiet, request.json_file)
    every = known_kernels(None)
    chosen = choose(every, request.kernels)
    with progress(terminal.usual) as step:
        step("building the unchanged firmware", 0)
        base = build_base(find_toolchain(), firmware_folder(), request.folder.absolute() / "base")
        step("choosing mutants", 0)
        mutants = _chosen(_sample(request, base, [k.symbol for k in chosen]), request.only)
    if request.dry_run:
        for mutant in mutants:
            line = f"{mutant.ident} {mutant.where}: {mutant.what}"
            terminal.wrong.print(line, markup=False, highlight=False, soft_wrap=True)
        return 0
    return _judge(request, base, every, mutants, terminal)


def _judge(
    request: MutateRequest, base: Base, every: dict[str, Kernel], mutants: list[Mutant], terminal: Terminal
) -> int:
    """The campaign itself; what was judged is told, also after Ctrl-C."""
    folder = request.folder.absolute()
    settings = Settings(folder, request.examples, request.long_examples, request.shrink_seconds)
    file = ResultFile(folder / "results.jsonl", firmware_name(base.toolchain, base.sources))
    file.load()  # one of another firmware is refused before a run begins
    interrupted = False
    with RunWriter(mutate_run(base, request.seed, request.examples)) as writer:
        try:
            with progress(terminal.usual, len(mutants), forks=True) as step:
                step("drawing examples", 0)
                listen = _listener(terminal, writer, step)
                jobs = request.jobs or os.cpu_count() or 1
                campaign = Campaign(base, every, settings, file, jobs, request.seconds, listen)
                results = list(campaign.run(mutants, [Status(name) for name in request.again]).values())
        except KeyboardInterrupt:
            interrupted = True
            known = file.load()
            results = [known[m.ident] for m in mutants if m.ident in known]
        keep_score(writer, results)
        code = EXIT_SURVIVORS if any(r.status is Status.SURVIVED for r in results) else 0
        if interrupted:
            code = EXIT_INTERRUPTED
        writer.end(code, interrupted)
    print_campaign(terminal, results)
    for note in writer.notes:
        terminal.wrong.print(note, highlight=False)
    if interrupted:
        terminal.wrong.print("interrupted: the same command goes on where it stopped", highlight=False)
    _write(request, results, len(mutants), interrupted)
    return code


def _listener(terminal: Terminal, writer: RunWriter, step: Step) -> Listener:
    """Keeps a result in the ledger, tells it, moves the bar."""
    told = 0

    def listen(done: int, wanted: int, result: Result | None) -> None:
        nonlocal told
        step("mutants", done - told)
        told = done
        if result is None:
            return
        writer.add(judged(result))
        console = terminal.wrong if result.status in (Status.SURVIVED, Status.ERROR) else terminal.usual
        what = f"{result.mutant.where}: {result.mutant.what}"
        line = f"{done}/{wanted} {result.status} {result.kernel} {what}"
        console.print(line, markup=False, highlight=False, soft_wrap=True)

    return listen


def _write(request: MutateRequest, results: list[Result], wanted: int, interrupted: bool) -> None:
    if request.page is not None and not interrupted:
        write_whole(request.page, page(results, request.command, wanted).encode())
    if request.json_file is not None:
        document = {
            "command": request.command,
            "wanted": wanted,
            "score": asdict(score(results)),
            "mutants": [result.record() for result in results],
        }
        write_whole(request.json_file, json.dumps(document, indent=1).encode() + b"\n")


def _sample(request: MutateRequest, base: Base, kernels: list[str]) -> list[Mutant]:
    """The campaign's mutants; a large sample takes a while, so it is kept beside the results."""
    asked = [request.sample, request.seed, *request.generators, *kernels]
    name = hashlib.sha256(f"{firmware_name(base.toolchain, base.sources)} {asked}".encode()).hexdigest()[:16]
    path = request.folder.absolute() / f"sample-{name}.json"
    if path.is_file():
        return [mutant_of(record) for record in json.loads(path.read_text())]
    mutants = sample(base, kernels, request.generators, request.sample or None, request.seed)
    write_whole(path, json.dumps([mutant.record() for mutant in mutants]).encode())
    return mutants


def _chosen(mutants: list[Mutant], names: tuple[str, ...]) -> list[Mutant]:
    """Those of ``--only``, or all. Raises UsageProblem for a name that is not among them."""
    missing = set(names) - {m.ident for m in mutants}
    if missing:
        raise UsageProblem(f"--only {min(missing)}: the sample has no such mutant; --list names all of them")
    return [m for m in mutants if not names or m.ident in names]
