"""``emu history``: what ran, and what changed. Options, and little else."""

from __future__ import annotations

from pathlib import Path

import rich_click as click

from emu.cli_errors import guarded

_PATH = click.Path(path_type=Path)
_LEDGER = click.option(
    "--ledger", type=_PATH, help="The SQLite file; default: EMU_LEDGER, or the user's own."
)
_LAST = click.option("--last", type=click.IntRange(1), default=20, show_default=True, help="So many runs.")


@click.group()
def history() -> None:
    """Runs of the past: list, trends, first bad commit, flaky boards, slower kernels and stages, export."""


@history.command("list")
@_LAST
@_LEDGER
@guarded
def list_runs(last: int, ledger: Path | None) -> int:
    """The last runs."""
    from emu.ledger.command import show_runs

    return show_runs(ledger, last)


@history.command()
@click.argument("run")
@_LEDGER
@guarded
def show(run: str, ledger: Path | None) -> int:
    """Results of one run, named by its id or the beginning of it."""
    from emu.ledger.command import show_run

    return show_run(ledger, run)


@history.command()
@click.argument("name")
@_LEDGER
@guarded
def trend(name: str, ledger: Path | None) -> int:
    """Every result of a kernel, model or golden, since which commit it is wrong, what its stages take."""
    from emu.ledger.command import show_name

    return show_name(ledger, name)


@history.command()
@_LEDGER
@guarded
def flaky(ledger: Path | None) -> int:
    """Verdicts that changed although image, options and board did not. Exit code 1 when there are any."""
    from emu.ledger.command import show_flaky

    return show_flaky(ledger)


@history.command()
@_LEDGER
@guarded
def boards(ledger: Path | None) -> int:
    """Every board: what its line carried, what had to be done again, faults, verdicts that changed."""
    from emu.ledger.command import show_boards

    return show_boards(ledger)


@history.command()
@click.option("--percent", type=click.FloatRange(0), default=1.0, show_default=True, help="At least so much.")
@_LEDGER
@guarded
def slower(percent: float, ledger: Path | None) -> int:
    """Kernels, models, stages that take more instructions than on the image before. Exit code 1 for any."""
    from emu.ledger.command import show_slower

    return show_slower(ledger, percent)


@history.command()
@click.option(
    "-o", "--output", type=_PATH, required=True, help="*.json, *.csv, *.xml; - for standard output."
)
@click.option(
    "--format", "kind", type=click.Choice(["json", "csv", "junit"]), help="Default: as the file's name says."
)
@_LAST
@_LEDGER
@guarded
def export(output: Path, kind: str | None, last: int, ledger: Path | None) -> int:
    """Write the last runs with all their results to a file."""
    from emu.ledger.command import write_export

    return write_export(ledger, output, last, kind)
