"""How fast a line is: bytes a second up and down beside what its speed allows, and round trips a second."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass

from emu.link.board import Board
from emu.link.errors import LinkFault
from emu.link.requests import Place, check_request

BITS_OF_A_BYTE = 10
_BUFFER = 0


@dataclass(frozen=True)
class Speed:
    """At ``baud``: payload bytes a second each way, frames' bytes each way, round trips a second."""

    baud: int
    up: float
    down: float
    up_line: float
    down_line: float
    round_trips: float

    @property
    def line(self) -> float:
        """Bytes a second that the speed allows."""
        return self.baud / BITS_OF_A_BYTE


def measure(board: Board, baud: int, size: int, trips: int = 200) -> Speed:
    """Send ``size`` bytes up and down, then ``trips`` small requests one after the other.

    Raises LinkFault when the board cannot change to ``baud``, or gives other bytes back.
    """
    client, session = board.client(), board.session
    if session.baud != baud and not session.change_baud(baud):
        raise LinkFault(f"the board does not change to {baud:,} baud")
    number, region = max(enumerate(client.regions), key=lambda pair: pair[1].size * pair[1].writable)
    size = min(size, region.size & ~15)
    client.buffer(_BUFFER, number, 0, region.size & ~15)
    data, counts = os.urandom(size), session.tally.counts
    sent, started = counts["sent"], time.perf_counter()
    client.write(_BUFFER, 0, data)
    up = time.perf_counter() - started
    sent = counts["sent"] - sent
    received, started = counts["received"], time.perf_counter()
    if client.read(Place(_BUFFER, 0, size)) != data:
        raise LinkFault("other bytes came back than were sent, though every frame was sound")
    down = time.perf_counter() - started
    received = counts["received"] - received
    started = time.perf_counter()
    for _ in range(trips):
        client.ask([check_request([Place(_BUFFER, 0, 4)])])
    each = (time.perf_counter() - started) / trips
    return Speed(baud, size / up, size / down, sent / up, received / down, 1 / each)
