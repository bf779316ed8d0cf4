"""What ``emu mutate`` does: build, sample, judge, print, and decide the exit code."""

from __future__ import annotations

import hashlib
import json
import math
import os
import shlex
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from emu.mutate.builder import Base, build_base, firmware_name
from emu.mutate.campaign import Campaign
from emu.mutate.judge import Settings
from emu.mutate.mutant import GENERATORS, Mutant, mutant_of
from emu.mutate.result import Result, ResultFile, Status
from emu.mutate.sampling import sample
from emu.mutate.tables import page, print_campaign
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


def run(request: MutateRequest, console: Console | None = None) -> int:
    """Run or continue the campaign; 0 when every fault was found, 1 when some survived.

    Raises UsageProblem for wrong input, ToolchainError without a compiler.
    """
    console = console or Console()
    every = known_kernels(None)
    chosen = choose(every, request.kernels)
    folder = request.folder.absolute()
    base = build_base(find_toolchain(), firmware_folder(), folder / "base")
    mutants = _chosen(_sample(request, base, [k.symbol for k in chosen]), request.only)
    if request.dry_run:
        for mutant in mutants:
            console.print(
                f"{mutant.ident} {mutant.where}: {mutant.what}", markup=False, highlight=False, soft_wrap=True
            )
        return 0
    settings = Settings(folder, request.examples, request.long_examples, request.shrink_seconds)
    file = ResultFile(folder / "results.jsonl", firmware_name(base.toolchain, base.sources))
    jobs = request.jobs or os.cpu_count() or 1
    campaign = Campaign(
        base, every, settings, file, jobs, request.seconds, lambda *news: _say(console, *news)
    )
    try:
        results = list(campaign.run(mutants, [Status(name) for name in request.again]).values())
    except KeyboardInterrupt:
        known = file.load()
        print_campaign(console, [known[m.ident] for m in mutants if m.ident in known])
        console.print("interrupted: the same command goes on where it stopped", highlight=False)
        return EXIT_INTERRUPTED
    print_campaign(console, results)
    if request.page is not None:
        write_whole(request.page, page(results, request.command, len(mutants)).encode())
    return EXIT_SURVIVORS if any(r.status is Status.SURVIVED for r in results) else 0


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


def _say(console: Console, done: int, wanted: int, result: Result | None) -> None:
    if result is not None:
        what = f"{result.mutant.where}: {result.mutant.what}"
        console.print(
            f"{done}/{wanted} {result.status} {result.kernel} {what}",
            markup=False,
            highlight=False,
            soft_wrap=True,
        )
