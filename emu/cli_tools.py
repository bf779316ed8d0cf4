"""The smaller commands: kernels, doctor, toolchain, bench."""

from __future__ import annotations

from pathlib import Path

import rich_click as click

from emu.cli_errors import guarded

_FILE = click.Path(path_type=Path)


@click.command()
@click.option("--spec", type=_FILE, help="Python file that describes your kernels. It is executed: trust it.")
@guarded
def kernels(spec: Path | None) -> int:
    """List the kernels that `emu verify` knows, with their parameters."""
    from emu.verify.listing import print_kernels
    from emu.verify.selection import known_kernels

    print_kernels(known_kernels(spec))
    return 0


@click.command()
@guarded
def doctor() -> int:
    """Say what works on this machine, what is missing, and the command that mends it."""
    from emu.verify.doctor import print_report

    return print_report()


@click.command()
@click.argument("action", type=click.Choice(["show", "install", "env"]), default="show")
@guarded
def toolchain(action: str) -> int:
    """Find the compiler for the chip (show), fetch one (install), or print its environment (env)."""
    from emu.toolchain.__main__ import main

    return main([action])


@click.command()
@click.option("--elf", type=_FILE, help="Firmware image; default: the bundled reference image.")
@click.option(
    "--seconds", type=click.FloatRange(0.1), default=1.0, show_default=True, help="Per measurement."
)
@click.option("--json", "json_file", type=_FILE, help="Write the figures as JSON.")
@guarded
def bench(elf: Path | None, seconds: float, json_file: Path | None) -> int:
    """Measure engine, mirrors and campaign, each against a peer outside where one is installed."""
    from emu.verify.bench import run
    from emu.verify.reference import reference_elf

    return run(elf or reference_elf(), seconds, json_file)
