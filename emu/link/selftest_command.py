"""``emu selftest``: run it, tell what was found, keep it in a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console

from emu.cpu.readings import READINGS
from emu.image import Image, load_image
from emu.ledger.writer import Result, Run, RunWriter
from emu.link.board import Board
from emu.link.facts import save_facts
from emu.link.probes import PROBES, states
from emu.link.selftest import Fact, RealBoard, Report, selftest
from emu.link.wire import Hello
from emu.terminal import Terminal, progress
from emu.verify.board_target import session_of
from emu.verify.records import package_version


def run_selftest(port: str, elf: Path, out: Path | None, baud: int | None, quiet: bool = False) -> int:
    """The exit code. Raises LinkFault, BoardFault, ImageError."""
    image, terminal = load_image(elf), Terminal.of(quiet)
    board = Board(port, image, baud=baud)
    run = Run("selftest", "board", package_version(), image.name, image.sha256, port)
    try:
        with RunWriter(run) as writer:
            hello, report = _asked(board, port, image, terminal)
            for told in (*_facts(report), *_checks(report)):
                writer.add(told)
            writer.tell(session_of(board))
            writer.end(0 if report.clean else 1)
    finally:
        board.close()
    _tell(report, terminal)
    for note in writer.notes:
        terminal.wrong.print(note, highlight=False)
    terminal.usual.print(board.tally.summary(), highlight=False, soft_wrap=True)
    if out is not None:
        save_facts(out, {**_about(hello, image), **report.as_json()})
        terminal.usual.print(f"{out}: to be used as --readings {out}", highlight=False, soft_wrap=True)
    return 0 if report.clean else 1


def _asked(board: Board, port: str, image: Image, terminal: Terminal) -> tuple[Hello, Report]:
    """The agent, and what the board does."""
    hello = board.client().hello
    agent = f"{port}: agent {hello.agent}, port {hello.name}, build {hello.build:#010x}"
    terminal.usual.print(agent, highlight=False, markup=False, soft_wrap=True)
    terminal.usual.print("line: all 256 byte values pass both ways", highlight=False)
    total = sum(1 for number, probe in enumerate(PROBES) for _ in states(probe, number))
    with progress(Console(stderr=True, quiet=terminal.usual.quiet), total) as step:
        return hello, selftest(RealBoard(board).run, image, lambda done: step("probes", 1))


def _about(hello: Hello, image: Image) -> dict[str, Any]:
    """What was asked, for the result file."""
    return {
        "board": {
            "port": hello.name,
            "identity": f"{hello.identity:012x}",
            "build": f"{hello.build:#010x}",
            "image_sha256": image.sha256,
        },
        "line": {"all_byte_values": True},
    }


def _facts(report: Report) -> Iterator[Result]:
    """Contested facts as the ledger keeps them: equal is what fits a known reading."""
    for name, fact in report.facts.items():
        verdict = "equal" if fact.consistent else "mismatch"
        yield Result(f"selftest {name}", verdict, fact.telling, message=_fact_text(name, fact))


def _checks(report: Report) -> Iterator[Result]:
    for name, check in report.checks.items():
        verdict = "mismatch" if check.differ else "equal"
        yield Result(f"selftest {name}", verdict, check.inputs, check.differ, message=check.first)


def _fact_text(name: str, fact: Fact) -> str:
    chosen = READINGS[name].chosen
    if not fact.consistent:
        return f"fits no known reading; first at {fact.first_strange or 'several inputs together'}"
    if fact.settled is None:
        return f"not settled: {', '.join(sorted(fact.consistent))} fit"
    if fact.settled == chosen:
        return f"{fact.settled}, as the emulator assumes ({fact.telling} inputs tell)"
    return f"{fact.settled}; the emulator assumes {chosen} ({fact.telling} inputs tell)"


def _tell(report: Report, terminal: Terminal) -> None:
    for name, fact in report.facts.items():
        console = terminal.usual if fact.consistent else terminal.wrong
        _print(console, f"{name}: {_fact_text(name, fact)}")
    for name, check in report.checks.items():
        text = f"{check.inputs} inputs, {check.differ} differ"
        console = terminal.wrong if check.differ else terminal.usual
        _print(console, f"{name}: {text}{f'; first: {check.first}' if check.first else ''}")
    settled = len(report.readings)
    others = sum(READINGS[n].chosen != value for n, value in report.readings.items())
    _print(
        terminal.usual,
        f"{settled} of {len(READINGS)} contested facts settled, {others} other than assumed",
    )


def _print(console: Console, line: str) -> None:
    console.print(line, highlight=False, markup=False, soft_wrap=True)
