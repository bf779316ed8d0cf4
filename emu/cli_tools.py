"""The smaller commands: kernels, doctor, toolchain."""

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
