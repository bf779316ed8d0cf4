"""``emu boards``, ``emu flash``, ``emu selftest``: thin over emu.link."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from emu.cli_errors import guarded
from emu.cli_options import QUIET

if TYPE_CHECKING:
    from emu.link.discover import Found

_FILE = click.Path(path_type=Path)
_RESETS = ("default-reset", "usb-reset", "no-reset", "no-reset-no-sync")


@click.command()
@click.argument("urls", nargs=-1, metavar="[URL]...")
@click.option("--probe", is_flag=True, help="Ask every serial port of this machine (may reset its board).")
@guarded
def boards(urls: tuple[str, ...], probe: bool) -> int:
    """List serial ports that may lead to a board, and ask the given URLs for their agents.

    Exit code: 0; 3 when a given URL has no agent.
    """
    from rich.console import Console

    from emu.link.discover import find_boards
    from emu.terminal import progress

    with progress(Console(stderr=True)) as step:
        step("asking ports for their boards", 0)
        found = find_boards(urls, probe)
    if not found:
        click.echo("no serial ports on this machine; name a URL (socket://host:port, rfc2217://host:port)")
    for board in found:
        _tell(board)
    return 3 if any(board.url in urls and board.hello is None for board in found) else 0


def _tell(board: Found) -> None:
    what = ", ".join(filter(None, (board.kind, board.serial_number)))
    click.echo(f"{board.url}{f' ({what})' if what else ''}")
    if board.hello is not None:
        hello = board.hello
        mac = hello.identity.to_bytes(8, "little")[:6][::-1].hex(":")
        click.echo(f"  agent {hello.agent}, port {hello.name}, build {hello.build:#010x}, MAC {mac}")
        click.echo(f"  {hello.kernels} kernels, {hello.models} models, {hello.hertz / 1e6:.0f} MHz")
    elif board.why:
        click.echo(f"  {board.why}")


@click.command()
@click.option("--port", required=True, metavar="URL", help="/dev/ttyACM0, COM3, socket://host:port, ...")
@click.option("--elf", type=_FILE, help="Default: the bundled agent.")
@click.option("--boot", is_flag=True, help="Write the image into flash, so that it starts after each reset.")
@click.option("--model", type=_FILE, help="Model file for the agent, written into flash at 0x200000.")
@click.option(
    "--baud",
    type=click.IntRange(9600, 5_000_000),
    default=460_800,
    show_default=True,
    help="Speed at which esptool writes.",
)
@click.option(
    "--reset",
    type=click.Choice(_RESETS),
    default="default-reset",
    show_default=True,
    help="How the board is brought into download mode (esptool's --before).",
)
@click.option("--stub/--no-stub", default=True, help="Let esptool run its own loader on the chip.")
@QUIET
@guarded
def flash(
    port: str,
    elf: Path | None,
    boot: bool,
    model: Path | None,
    baud: int,
    reset: str,
    stub: bool,
    quiet: bool,
) -> int:
    """Put the agent on a board: into RAM (default), or with --boot into flash; a model beside it.

    Exit code: 0 done, 2 wrong use, 3 the board cannot be reached.
    """
    from emu.link.esptool_log import esptool_told
    from emu.link.flashing import BOOT_OFFSET, MODEL_OFFSET, bootable, load_into_ram, write_into_flash
    from emu.models.modelfile.reader import ModelFile
    from emu.verify.reference import agent_elf

    image = elf or agent_elf()
    pieces = []
    if model is not None:
        data = model.read_bytes()
        ModelFile(data, str(model))
        pieces.append((MODEL_OFFSET, data))
    with esptool_told(quiet):
        if boot:
            pieces.insert(0, (BOOT_OFFSET, bootable(image)))
        if pieces:
            write_into_flash(port, pieces, baud, reset, stub)
        if not boot:
            load_into_ram(port, image, baud, reset)
    told = [f"{len(data):,} bytes at {offset:#x} of the flash, verified" for offset, data in pieces]
    told += [] if boot else [f"{image.name} runs from RAM until the next reset"]
    for line in () if quiet else told:
        click.echo(line)
    return 0


@click.command()
@click.option("--port", required=True, metavar="URL", help="The board; the bundled agent runs there.")
@click.option("-o", "--out", type=_FILE, help="Result file, for --readings and to be shared.")
@click.option("--elf", type=_FILE, help="Default: the bundled agent.")
@click.option("--baud", type=click.IntRange(9600, 5_000_000), help="Speed of the line, if it can change.")
@QUIET
@guarded
def selftest(port: str, out: Path | None, elf: Path | None, baud: int | None, quiet: bool) -> int:
    """Ask a board what documents leave open: contested facts, alignment, coprocessors, floats, the line.

    Exit code: 0 everything fits, 1 something fits no known reading or differs, 3 link fault, 4 board fault.
    """
    from emu.link.selftest_command import run_selftest
    from emu.verify.reference import agent_elf

    return run_selftest(port, elf or agent_elf(), out, baud, quiet)
