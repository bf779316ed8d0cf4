"""``monitor`` commands: what the emulator knows and GDB does not ask for."""

from __future__ import annotations

from collections.abc import Callable

from emu.debug.arguments import parse_address
from emu.debug.errors import DebugInputError
from emu.debug.gdb.inferior import Inferior
from emu.debug.outcome import notice_lines
from emu.image import Location

HELP = """monitor symbol NAME|ADDRESS  address, symbol and source line
monitor trace on|off         print every executed instruction with its values
monitor where                call sites of the current function
monitor buffers              buffers of the call and what changed in them
monitor notices              misaligned vector accesses, saturations, ...
monitor instructions         executed instructions
monitor registers            registers of the current window and the loop and window states
"""


def monitor(inferior: Inferior, text: str) -> str:
    """The answer to one command; always text for people."""
    words = text.split()
    command = _COMMANDS.get(words[0]) if words else None
    if command is None:
        return HELP
    try:
        return command(inferior, words[1:])
    except DebugInputError as error:
        return f"{error}\n"


def _symbol(inferior: Inferior, words: list[str]) -> str:
    if len(words) != 1:
        return "monitor symbol NAME|ADDRESS\n"
    image = inferior.engine.image
    address = parse_address(words[0], image)
    symbol = image.symbols.at(address)
    size = f", {symbol.size} bytes, {symbol.kind}" if symbol is not None and symbol.address == address else ""
    return f"{image.locate(address)}{size}\n"


def _trace(inferior: Inferior, words: list[str]) -> str:
    if words not in (["on"], ["off"]):
        return "monitor trace on|off\n"
    inferior.is_traced = words == ["on"]
    return f"trace is {words[0]}\n"


def _where(inferior: Inferior, _: list[str]) -> str:
    engine = inferior.engine
    frames: list[Location] = [engine.locate(inferior.pc), *engine.traps.backtrace()]
    return "".join(f"#{i} {place}\n" for i, place in enumerate(frames))


def _buffers(inferior: Inferior, _: list[str]) -> str:
    from emu.debug.outcome import buffer_text

    places = inferior.started.places if inferior.started is not None else ()
    return "".join(f"{buffer_text(inferior.engine, place)}\n" for place in places) or "no buffers\n"


def _notices(inferior: Inferior, _: list[str]) -> str:
    engine = inferior.engine
    lines = [line.strip() for line in notice_lines(engine.diagnostics, engine)]
    return "".join(f"{line}\n" for line in lines) or "nothing noticed\n"


def _instructions(inferior: Inferior, _: list[str]) -> str:
    return f"{inferior.engine.state.instructions:,}\n"


def _registers(inferior: Inferior, _: list[str]) -> str:
    from emu.cpu.trapping import registers

    items = [f"{name:>11} {value:08x}" for name, value in registers(inferior.engine.state).items()]
    return "".join("  ".join(items[i : i + 4]) + "\n" for i in range(0, len(items), 4))


_COMMANDS: dict[str, Callable[[Inferior, list[str]], str]] = {
    "symbol": _symbol,
    "trace": _trace,
    "where": _where,
    "buffers": _buffers,
    "notices": _notices,
    "instructions": _instructions,
    "registers": _registers,
}
