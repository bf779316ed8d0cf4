"""`emu board`: serve a virtual board, reset one, break one."""

from __future__ import annotations

import signal
import threading
from pathlib import Path

import rich_click as click

from emu.cli_errors import guarded

_FILE = click.Path(path_type=Path)


@click.group()
def board() -> None:
    """A virtual ESP32-S3 behind a serial port, for any program that can open one."""


@board.command()
@click.option(
    "--tcp", type=click.IntRange(0, 65535), help="Serve pyserial's socket:// at this port (0: a free one)."
)
@click.option("--pty", is_flag=True, help="Serve a pseudo terminal.")
@click.option("--elf", type=_FILE, help="Image that is loaded at each reset, instead of booting from flash.")
@click.option("--flash", type=_FILE, help="File with the contents of the flash chip; made if it is missing.")
@click.option("--flash-size", default="8MB", show_default=True, help="Size of the flash chip (MB means MiB).")
@click.option("--mac", help="Base MAC address.")
@click.option("--console", type=click.Choice(["uart", "usb"]), default="uart", show_default=True)
@click.option("--baud-paced", is_flag=True, help="Bytes take their time on the wire, and FIFOs overflow.")
@click.option("--download", is_flag=True, help="Resets enter download mode, as with GPIO0 held low.")
@click.option("--bind", "host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--tier", type=click.Choice(["translator", "stepper"]), default="translator", hidden=True)
@guarded
def serve(
    tcp: int | None,
    pty: bool,
    elf: Path | None,
    flash: Path | None,
    flash_size: str,
    mac: str | None,
    console: str,
    baud_paced: bool,
    download: bool,
    host: str,
    tier: str,
) -> int:
    """Run a board until Ctrl-C. Prints the URL that pyserial opens."""
    from emu.board.board import Board
    from emu.board.flash import parse_size
    from emu.board.settings import DEFAULT_MAC, Settings, parse_mac
    from emu.board.transport import PtyServer, TcpServer

    if (tcp is None) == (not pty):
        raise click.UsageError("one of --tcp PORT and --pty is needed")
    settings = Settings(
        elf=elf,
        flash=flash,
        flash_bytes=parse_size(flash_size),
        mac=parse_mac(mac) if mac else DEFAULT_MAC,
        console="usb" if console == "usb" else "uart",
        paced=baud_paced,
        download=download,
        tier="stepper" if tier == "stepper" else "translator",
    )
    made = Board(settings)
    server = PtyServer(made) if pty else TcpServer(made, tcp or 0, host)
    server.start()
    made.start()
    _announce(server.url, None if pty else host)
    _wait_for_end()
    made.stop()
    server.stop()
    return 0


def _announce(url: str, host: str | None) -> None:
    click.echo(url)
    if host is None:
        click.echo("serving a pseudo terminal of this machine; Ctrl-C ends the board", err=True)
    elif host in ("127.0.0.1", "::1", "localhost"):
        click.echo("listening on loopback only (--bind HOST for others); Ctrl-C ends the board", err=True)
    else:
        click.echo(
            f"listening on {host}: whoever reaches this port controls the board; Ctrl-C ends it", err=True
        )


def _wait_for_end() -> None:
    """Until Ctrl-C or SIGTERM."""
    end = threading.Event()
    before = [
        (number, signal.signal(number, lambda *_: end.set())) for number in (signal.SIGINT, signal.SIGTERM)
    ]
    try:
        while not end.wait(0.5):
            pass
    finally:
        for number, handler in before:
            signal.signal(number, handler)
