"""``emu selftest``: run it, tell what was found, keep it in a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
from rich.console import Console

from emu.cpu.readings import READINGS
from emu.image import load_image
from emu.link.board import Board
from emu.link.facts import save_facts
from emu.link.probes import PROBES, states
from emu.link.selftest import RealBoard, Report, selftest
from emu.terminal import progress


def run_selftest(port: str, elf: Path, out: Path | None, baud: int | None) -> int:
    """The exit code. Raises LinkFault, BoardFault, ImageError."""
    image = load_image(elf)
    board = Board(port, image, baud=baud)
    try:
        hello = board.client().hello
        click.echo(f"{port}: agent {hello.agent}, port {hello.name}, build {hello.build:#010x}")
        click.echo("line: all 256 byte values pass both ways")
        total = sum(1 for number, probe in enumerate(PROBES) for _ in states(probe, number))

        with progress(Console(stderr=True), total) as step:
            report = selftest(RealBoard(board).run, image, lambda done: step("probes", 1))
    finally:
        board.close()
    _tell(report)
    click.echo(board.tally.summary())
    if out is not None:
        about: dict[str, Any] = {
            "board": {
                "port": hello.name,
                "identity": f"{hello.identity:012x}",
                "build": f"{hello.build:#010x}",
                "image_sha256": image.sha256,
            },
            "line": {"all_byte_values": True},
        }
        save_facts(out, {**about, **report.as_json()})
        click.echo(f"{out}: to be used as --readings {out}")
    return 0 if report.clean else 1


def _tell(report: Report) -> None:
    for name, fact in report.facts.items():
        chosen = READINGS[name].chosen
        if not fact.consistent:
            text = f"fits no known reading; first at {fact.first_strange or 'several inputs together'}"
        elif fact.settled is None:
            text = f"not settled: {', '.join(sorted(fact.consistent))} fit"
        elif fact.settled == chosen:
            text = f"{fact.settled}, as the emulator assumes ({fact.telling} inputs tell)"
        else:
            text = f"{fact.settled}; the emulator assumes {chosen} ({fact.telling} inputs tell)"
        click.echo(f"{name}: {text}")
    for name, check in report.checks.items():
        text = f"{check.inputs} inputs, {check.differ} differ"
        click.echo(f"{name}: {text}{f'; first: {check.first}' if check.first else ''}")
    settled = len(report.readings)
    others = sum(READINGS[n].chosen != value for n, value in report.readings.items())
    click.echo(f"{settled} of {len(READINGS)} contested facts settled, {others} other than assumed")
