"""The usual campaign: generated examples of each kernel, failing cases of earlier runs first; and replays."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from emu.kernels.spec import Kernel
from emu.ledger.writer import Result
from emu.verify.campaign import Campaign, Listener, Task, drive, new_campaign
from emu.verify.case import Case
from emu.verify.casefile import save
from emu.verify.describe import headline
from emu.verify.ledgered import take_over
from emu.verify.memory import Memory
from emu.verify.options import Options
from emu.verify.pool import Handler
from emu.verify.results import Failure, Piece
from emu.verify.runner import Progress, Runner
from emu.verify.strategies import CHUNK, cases

_FILE_NAME = re.compile(r"[^A-Za-z0-9_.$-]+")
"""C++ names have characters that file names should not have."""
_TASKS_PER_KERNEL = 40
RunnerFactory = Callable[[], Runner]
Settle = Callable[[Campaign, Task, Piece], None]


@dataclass(frozen=True)
class Stretch:
    """Examples ``first`` to ``first + count - 1`` of one kernel; ``known`` cases go first."""

    symbol: str
    first: int
    count: int
    known: tuple[Case, ...] = field(default=(), repr=False)
    known_from: str = ""

    def __str__(self) -> str:
        return f"examples {self.first}..{self.first + self.count - 1} of {self.symbol}"


def stretches(kernels: Sequence[Kernel], options: Options, memory: Memory) -> Iterator[Stretch]:
    """All tasks, kernel by kernel; sizes are whole chunks of the strategies."""
    size = max(1, options.examples // (CHUNK * _TASKS_PER_KERNEL)) * CHUNK
    for kernel in kernels:
        known = tuple(memory.recall(kernel))
        for first in range(0, max(options.examples, 1), size):
            count = min(size, options.examples - first)
            yield Stretch(kernel.symbol, first, count, () if first else known, "an earlier run")


def run_sampled(
    kernels: Sequence[Kernel],
    options: Options,
    make_runner: RunnerFactory,
    memory: Memory,
    listen: Listener = lambda campaign, symbol, running: None,
    known: Mapping[str, Result] = MappingProxyType({}),
) -> Campaign:
    """Run ``options.examples`` examples of each kernel; results that are ``known`` are taken over."""
    campaign = new_campaign(kernels, options, options.examples)
    take_over(campaign, known)
    tasks = list(stretches([k for k in kernels if k.symbol not in known], options, memory))

    def settle(campaign: Campaign, task: Task, piece: Piece) -> None:
        assert isinstance(task, Stretch)
        _remember(memory, campaign.results[task.symbol].kernel, task, piece)
        save_failure(campaign, task, piece)

    return drive(campaign, tasks, lambda: handler(kernels, make_runner), settle, listen)


def run_one(
    kernel: Kernel,
    options: Options,
    make_runner: RunnerFactory,
    number: int | None,
    case: Case | None,
    name: str,
    listen: Listener = lambda campaign, symbol, running: None,
) -> Campaign:
    """Replay: example ``number`` of the options' seed, or the ``case`` of a file called ``name``."""
    campaign = new_campaign([kernel], options, 1)
    if case is not None:
        task = Stretch(kernel.symbol, 0, 0, (case,), name)
    else:
        assert number is not None
        task = Stretch(kernel.symbol, number, 1)
    settle = save_failure if case is None else _name_file(name)
    return drive(campaign, [task], lambda: handler([kernel], make_runner), settle, listen)


def handler(kernels: Sequence[Kernel], make_runner: RunnerFactory) -> Handler:
    """Made once in each worker: targets are expensive, tasks are cheap."""
    by_symbol = {k.symbol: k for k in kernels}
    runner = make_runner()

    def handle(task: Stretch, progress: Progress) -> Piece:
        kernel = by_symbol[task.symbol]
        known = zip(range(-len(task.known), 0), task.known, strict=True)
        piece = runner.run(kernel, task.first, known, known=task.known_from)
        if piece.failure is not None or piece.error or not task.count:
            return piece
        stream = cases(kernel, runner.options.seed, task.first, task.count)
        return runner.run(kernel, task.first, stream, progress)

    return handle


def save_failure(campaign: Campaign, task: Task, piece: Piece) -> None:
    """Write the shrunk case of a new failure to the output folder."""
    if piece.failure is None or campaign.results[task.symbol].failure is not piece.failure:
        return
    failure = piece.failure
    folder = campaign.options.out or Path("emu-verify")
    label = "earlier" if failure.known else str(failure.number)
    path = folder / f"{_FILE_NAME.sub('_', task.symbol)}-{label}.json"
    note = {"message": headline(campaign.results[task.symbol].kernel, failure)}
    try:
        save(path, failure.case, note)
    except OSError as error:
        campaign.notes.append(f"the case file {path} could not be written: {error.strerror}")
        return
    failure.file = str(path)


def _name_file(name: str) -> Settle:
    def settle(campaign: Campaign, task: Task, piece: Piece) -> None:
        if piece.failure is not None:
            piece.failure.file = name

    return settle


def _remember(memory: Memory, kernel: Kernel, task: Stretch, piece: Piece) -> None:
    failure: Failure | None = piece.failure
    if failure is not None and not failure.known:
        memory.remember(kernel, failure.case)
    elif failure is None and not piece.error:
        for case in task.known:
            memory.forget(kernel, case)
