"""`emu board`: serve a virtual board, reset one, break one."""

from __future__ import annotations

import functools
import json
import logging
import signal
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import rich_click as click

from emu.cli_errors import guarded

_FILE = click.Path(path_type=Path)
_PORT = click.IntRange(0, 65535)
_CONTROL = click.option("--control", type=_FILE, required=True, help="The board's control channel.")


def _told(command: Callable[..., int]) -> Callable[..., int]:
    """Boards that cannot be made or reached are wrong use, told in one line."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> int:
        from emu.board.flash import FlashError
        from emu.board.settings import BoardError

        try:
            return command(*args, **kwargs)
        except (BoardError, FlashError) as error:
            raise click.UsageError(str(error)) from None

    return run


@click.group()
def board() -> None:
    """A virtual ESP32-S3 behind a serial port, for any program that can open one."""


@board.command()
@click.option("--tcp", type=_PORT, help="Serve pyserial's socket:// at this port (0: a free one).")
@click.option("--pty", is_flag=True, help="Serve a pseudo terminal.")
@click.option("--rfc2217", type=_PORT, help="Serve rfc2217:// at this port, with DTR and RTS.")
@click.option("--elf", type=_FILE, help="Image that is loaded at each reset, instead of booting from flash.")
@click.option("--flash", type=_FILE, help="File with the contents of the flash chip; made if it is missing.")
@click.option("--flash-size", default="8MB", show_default=True, help="Size of the flash chip (MB means MiB).")
@click.option("--mac", help="Base MAC address.")
@click.option(
    "--console",
    type=click.Choice(["uart", "usb"]),
    default="uart",
    show_default=True,
    help="What the transport is connected to: UART0, or USB serial/JTAG.",
)
@click.option("--baud-paced", is_flag=True, help="Bytes take their time on the wire, and FIFOs overflow.")
@click.option("--download", is_flag=True, help="Resets enter download mode, as with GPIO0 held low.")
@click.option("--fault", "faults", multiple=True, metavar="KIND@TIME", help="Something that goes wrong.")
@click.option("--control", type=_FILE, help="Path of a control channel, for `emu board reset` and others.")
@click.option("--bind", "host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option("--tier", type=click.Choice(["translator", "stepper"]), default="translator", hidden=True)
@guarded
@_told
def serve(
    tcp: int | None,
    pty: bool,
    rfc2217: int | None,
    faults: Sequence[str],
    control: Path | None,
    host: str,
    **choices: Any,
) -> int:
    """Run a board until Ctrl-C. Prints the URL that pyserial opens."""
    from emu.board.board import Board
    from emu.board.control import ControlServer
    from emu.board.faults import parse_fault

    if (tcp is not None) + pty + (rfc2217 is not None) != 1:
        raise click.UsageError("one of --tcp PORT, --pty and --rfc2217 PORT is needed")
    logging.basicConfig(level=logging.WARNING, format="%(name)s: %(message)s")
    arranged = [parse_fault(text) for text in faults]
    made = Board(_settings(**choices))
    made.faults = arranged
    server = _server(made, tcp, rfc2217, host)
    made.on_unplug = server.pump.drop
    channel = ControlServer(made, control) if control else None
    parts = [server, *([channel] if channel else [])]
    for part in parts:
        part.start()
    _announce(server.url, None if pty else host)
    made.start()
    _wait_for_end()
    made.stop()
    for part in parts:
        part.stop()
    return 0


def _server(made: Any, tcp: int | None, rfc2217: int | None, host: str) -> Any:
    """The transport that was asked for; a pseudo terminal without a port. pyserial is for RFC 2217 only."""
    from emu.board.settings import BoardError
    from emu.board.transport import PtyServer, TcpServer

    if tcp is not None:
        return TcpServer(made, tcp, host)
    if rfc2217 is None:
        return PtyServer(made)
    try:
        from emu.board.rfc2217 import Rfc2217Server
    except ImportError:
        raise BoardError("RFC 2217 needs pyserial: pip install 'esp32s3-emu[board]'") from None
    return Rfc2217Server(made, rfc2217, host)


def _settings(**choices: Any) -> Any:
    from emu.board.flash import parse_size
    from emu.board.settings import DEFAULT_MAC, Settings, parse_mac

    return Settings(
        elf=choices["elf"],
        flash=choices["flash"],
        flash_bytes=parse_size(choices["flash_size"]),
        mac=parse_mac(choices["mac"]) if choices["mac"] else DEFAULT_MAC,
        console=choices["console"],
        paced=choices["baud_paced"],
        download=choices["download"],
        tier=choices["tier"],
    )


@board.command()
@_CONTROL
@click.option("--download", is_flag=True, help="Enter download mode, as with GPIO0 held low.")
@guarded
@_told
def reset(control: Path, download: bool) -> int:
    """Reset a board that another process serves."""
    from emu.board.control import ask

    ask(control, "reset download" if download else "reset")
    return 0


@board.command()
@_CONTROL
@click.argument("kind", metavar="KIND[@TIME]")
@guarded
@_told
def fault(control: Path, kind: str) -> int:
    """Let something go wrong: brownout, panic, watchdog, rtcwdt, taskwdt, reset, hang, unplug."""
    from emu.board.control import ask
    from emu.board.faults import parse_fault

    parse_fault(kind)
    ask(control, f"fault {kind}")
    return 0


@board.command()
@_CONTROL
@guarded
@_told
def status(control: Path) -> int:
    """Say what a board is doing, as JSON."""
    from emu.board.control import ask

    click.echo(json.dumps(ask(control, "status"), indent=2))
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
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = [(number, signal.signal(number, lambda *_: end.set())) for number in numbers]
    try:
        while not end.wait(0.5):
            pass
    finally:
        for number, handler in before:
            signal.signal(number, handler)
