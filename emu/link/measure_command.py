"""``emu bench link``: throughput and round trips of the line to a board, at each speed."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich.console import Console

from emu.ledger.writer import MEASURED, Figure, Result, Run, RunWriter
from emu.link.board import Board
from emu.link.measure import Speed, measure
from emu.terminal import progress
from emu.verify.board_target import session_of
from emu.verify.records import package_version

_MOST_BYTES = 1 << 20


def measure_link(port: str, bauds: Sequence[int]) -> int:
    """Measure, keep in the ledger, print; returns 0. Raises LinkFault."""
    board = Board(port)
    try:
        with RunWriter(Run("bench link", "board", package_version(), board=port)) as writer:
            for baud in bauds:
                with progress(Console(stderr=True)) as step:
                    step(f"measuring the line at {baud:,} baud", 0)
                    speed = measure(board, baud, min(baud // 10 * 4, _MOST_BYTES))
                writer.add(Result(f"bench link: {baud} baud", MEASURED, 1), figures=_figures(speed))
                writer.tell(session_of(board))
                click.echo(_line(speed))
            writer.end(0)
        for note in writer.notes:
            click.echo(note, err=True)
    finally:
        board.close()
        click.echo(board.tally.summary())
    return 0


def _figures(speed: Speed) -> dict[str, Figure]:
    values = {
        "up, bytes a second": speed.up,
        "down, bytes a second": speed.down,
        "up, share of the line with frames": speed.up_line / speed.line,
        "down, share of the line with frames": speed.down_line / speed.line,
        "round trips a second": speed.round_trips,
    }
    return {name: Figure.once(value) for name, value in values.items()}


def _line(speed: Speed) -> str:
    up, down = (rate / speed.line for rate in (speed.up_line, speed.down_line))
    return (
        f"{speed.baud:>9,} baud: up {speed.up:>9,.0f} B/s ({up:.1%} of the line with frames), down "
        f"{speed.down:>9,.0f} B/s ({down:.1%}), {speed.round_trips:,.0f} round trips/s"
    )
