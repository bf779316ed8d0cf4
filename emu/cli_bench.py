"""``emu bench``: a group, so that each room's measurements are one subcommand; without one, the kernels."""

from __future__ import annotations

from pathlib import Path

import rich_click as click

from emu.cli_errors import guarded

_FILE = click.Path(path_type=Path)


@click.group(invoke_without_command=True)
@click.pass_context
def bench(context: click.Context) -> None:
    """Measure, each figure beside a peer from outside; a missing peer is named."""
    if context.invoked_subcommand is None:
        context.invoke(kernels)


@bench.command()
@click.option("--elf", type=_FILE, help="Firmware image; default: the bundled reference image.")
@click.option("--rounds", type=click.IntRange(1), default=7, show_default=True, help="Interleaved rounds.")
@click.option("--json", "json_file", type=_FILE, help="Write the figures as JSON.")
@guarded
def kernels(elf: Path | None = None, rounds: int = 7, json_file: Path | None = None) -> int:
    """Kernels of an image on the engine, their mirrors, and the same C natively; cases a second."""
    from emu.verify.bench import run
    from emu.verify.reference import reference_elf

    return run(elf or reference_elf(), rounds, json_file)
