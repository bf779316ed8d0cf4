"""Which boards are there, and what their agents say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from emu.link.board import Board
from emu.link.errors import BoardReset, LinkFault
from emu.link.find import devices
from emu.link.session import Timing
from emu.link.wire import Hello

PROBE = Timing(patience=5.0, hello=0.5, silent=1.0)


@dataclass(frozen=True)
class Found:
    """A port; ``hello`` when an agent answers there, else ``why`` not ("" when nobody asked)."""

    url: str
    kind: str
    serial_number: str
    hello: Hello | None = None
    why: str = ""


def find_boards(urls: Sequence[str], probe: bool) -> list[Found]:
    """Serial ports of this machine and the given URLs. ``probe``: open each and ask (given URLs always)."""
    listed = [Found(d.url, d.kind or d.text, d.serial_number) for d in devices()]
    found = [_asked(f) if probe else f for f in listed if f.url not in urls]
    by_url = {f.url: f for f in listed}
    return [*(_asked(by_url.get(url, Found(url, "", ""))) for url in urls), *found]


def _asked(found: Found) -> Found:
    board = Board(found.url, timing=PROBE)
    try:
        hello = board.client().hello
        return Found(found.url, found.kind, found.serial_number, hello)
    except (LinkFault, BoardReset) as error:
        return Found(found.url, found.kind, found.serial_number, None, str(error))
    finally:
        board.close()
