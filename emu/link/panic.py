"""What a board prints when it stops: recognised, and its addresses turned into symbols and source lines.

The texts are those of ESP-IDF's panic handler and of the boot ROM (docs of ESP-IDF, "Fatal Errors",
"Watchdogs"); the bare agent prints the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from emu.image import Image

_BROWNOUT = re.compile(r"[Bb]rownout detector was triggered|rst:0xf\b|BROWN_OUT_RST")
_PANIC = re.compile(r"Guru Meditation Error: Core\s+(\d+) panic'ed \(([^)]*)\)")
_ABORT = re.compile(r"abort\(\) was called at PC (0x[0-9a-fA-F]+)")
_WATCHDOG = re.compile(r"Task watchdog got triggered|rst:0x(?:7|8|9|b|d|10|11|12)\b|Interrupt wdt timeout")
_BACKTRACE = re.compile(r"Backtrace:((?:\s*0x[0-9a-fA-F]{8}:0x[0-9a-fA-F]{8})+)")
_PC = re.compile(r"\bPC\s*:\s*(0x[0-9a-fA-F]{8})")
_REBOOT = re.compile(r"Rebooting\.\.\.|rst:0x[0-9a-f]+|The agent starts again")
_DOWNLOAD = re.compile(r"boot:0x[0-9a-f]+ \(DOWNLOAD|waiting for download")


@dataclass(frozen=True)
class Panic:
    """``kind``: panic, watchdog, power, download; ``text``: one line; ``trace``: places, innermost first."""

    kind: str
    text: str
    where: str = ""
    pc: int | None = None
    trace: tuple[str, ...] = ()


def decode_panic(lines: Iterable[str], image: Image | None = None) -> Panic | None:
    """The last event that the text tells of; None when it tells of none.

    A watchdog's warning without a restart is no event: the run goes on.
    """
    text = "\n".join(lines)
    pc, trace = _places(text, image)
    if found := _PANIC.search(text):
        return Panic(
            "panic",
            f"panic ({found[2]}) at {trace[0] if trace else 'unknown place'}",
            _name(image, pc),
            pc,
            trace,
        )
    if found := _ABORT.search(text):
        return Panic("panic", f"abort() at {_place(int(found[1], 16), image)}", _name(image, pc), pc, trace)
    if _BROWNOUT.search(text):
        return Panic("power", "the brown-out detector reset the board")
    if (found := _WATCHDOG.search(text)) and _REBOOT.search(text):
        return Panic("watchdog", "a watchdog reset the board", _name(image, pc), pc, trace)
    if _DOWNLOAD.search(text):
        return Panic("download", "the board is in download mode: reset it with GPIO0 high")
    return None


def _places(text: str, image: Image | None) -> tuple[int | None, tuple[str, ...]]:
    addresses = []
    if found := _BACKTRACE.search(text):
        addresses = [int(pair.split(":")[0], 16) for pair in found[1].split()]
    elif found := _PC.search(text):
        addresses = [int(found[1], 16)]
    # all but the first are return addresses: the call stands before them
    places = [_place(a if i == 0 else a - 3, image) for i, a in enumerate(addresses)]
    return (addresses[0] if addresses else None), tuple(places)


def _place(address: int, image: Image | None) -> str:
    return f"{address:#010x}" if image is None else str(image.locate(address))


def _name(image: Image | None, pc: int | None) -> str:
    return "" if image is None or pc is None else image.locate(pc).symbol
