"""A campaign: tasks of all chosen kernels spread over worker processes, results kept whatever happens."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from emu.kernels.spec import Kernel
from emu.ledger.writer import Session
from emu.verify.options import Options
from emu.verify.pool import Handler, Pool
from emu.verify.results import KernelResult, Piece


class Task(Protocol):
    """Work on one kernel; pieces of a kernel are ordered by ``first``."""

    @property
    def symbol(self) -> str:
        """The kernel."""

    @property
    def first(self) -> int:
        """Where the piece starts."""


@dataclass
class Campaign:
    """Results by symbol, in the order of the kernels; complete or not."""

    options: Options
    results: dict[str, KernelResult]
    interrupted: bool = False
    seconds: float = 0.0
    elf_sha256: str = ""
    session: Session | None = None
    """What happened on the line to a board so far."""
    notes: list[str] = field(default_factory=list)


Settle = Callable[[Campaign, Task, Piece], None]
"""Called with each finished piece after it was merged."""
Listener = Callable[[Campaign, str, int], None]
"""(campaign, symbol, examples done in unfinished tasks) after every event; symbol "" for a mere tick."""


def new_campaign(kernels: Sequence[Kernel], options: Options, wanted: int) -> Campaign:
    """A campaign that has not started: ``wanted`` examples of each kernel."""
    return Campaign(options, {k.symbol: KernelResult(k, wanted) for k in kernels})


def drive(
    campaign: Campaign,
    tasks: Sequence[Task],
    factory: Callable[[], Handler],
    settle: Settle = lambda campaign, task, piece: None,
    listen: Listener = lambda campaign, symbol, running: None,
) -> Campaign:
    """Run ``tasks`` with handlers made by ``factory`` in each worker.

    A Ctrl-C ends it early with ``interrupted`` set and everything finished so far kept.
    """
    started = time.monotonic()
    pool = Pool(min(campaign.options.jobs, len(tasks)), factory, campaign.options.mirror_seconds)
    running: dict[tuple[str, int], int] = {}
    try:
        for event in pool.run(_unless_failed(tasks, campaign)):
            symbol = ""
            if event is not None:
                symbol = event.task.symbol
                running[symbol, event.task.first] = event.value if event.kind == "progress" else 0
                if event.kind != "progress":
                    _merge(campaign, event.task, event.kind, event.value, settle)
            campaign.seconds = time.monotonic() - started
            listen(campaign, symbol, sum(running.values()))
    except KeyboardInterrupt:
        campaign.interrupted = True
    finally:
        pool.close()
        campaign.seconds = time.monotonic() - started
    return campaign


def _unless_failed(tasks: Sequence[Task], campaign: Campaign) -> Iterator[Task]:
    """Skip the rest of a kernel that has failed: tasks are given in order, so its lowest failure is known."""
    for task in tasks:
        if any(r.is_link_fault for r in campaign.results.values()):
            return  # whoever asks next would only wait as long for nothing
        result = campaign.results[task.symbol]
        if result.failure is None and not result.error:
            yield task


def _merge(campaign: Campaign, task: Task, kind: str, value: object, settle: Settle) -> None:
    if isinstance(value, Piece):
        piece = value
    else:
        text = f"{value} while it worked on {task}" if kind == "crashed" else str(value)
        piece = Piece(task.symbol, task.first, error=text)
    campaign.results[task.symbol].add(piece)
    campaign.session = piece.session or campaign.session
    if piece.note:
        kind = piece.note.split(":")[0]
        campaign.notes[:] = [*(n for n in campaign.notes if not n.startswith(f"{kind}:")), piece.note]
    settle(campaign, task, piece)
