"""Which way a line changes bytes: consoles convert line ends (docs/wire.md section 8)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from emu.link.frames import decode
from emu.link.wire import Status

ALL_BYTES = bytes(range(256))
_REMEDY = (
    "turn the conversion of line ends off on {side}: in ESP-IDF uart_vfs_dev_port_set_{way}_line_endings"
    "(UART_NUM_0, ESP_LINE_ENDINGS_LF), or let the agent use the UART driver directly; on Linux `stty raw`"
)


@dataclass
class LineTest:
    """The payload of the test PING, and what was seen of it."""

    ENOUGH: ClassVar[int] = 3
    """Tries that say the same before it is believed: a line may also be damaged by chance."""
    payload: bytes = ALL_BYTES
    to_host: int = 0
    to_board: int = 0
    other: list[str] = field(default_factory=list)

    @property
    def is_open(self) -> bool:
        """Nothing is known yet."""
        return max(self.to_host, self.to_board) < self.ENOUGH

    def look(self, sent: bytes, bad: list[bytes], status: Status | None) -> None:
        """Judge one try: ``sent`` is the PING as it left, ``bad`` the damaged pieces that came back."""
        self.to_host += is_converted(bad)
        piece = sent.strip(b"\0")
        if status is not None and status.last_length == len(piece):
            returns = piece.count(b"\r")
            newlines = piece.count(b"\n")
            if status.last_returns == 0 and returns and status.last_newlines == newlines + returns:
                self.to_board += 1


def is_converted(pieces: list[bytes]) -> bool:
    """A damaged piece becomes a frame when 0D 0A is made 0A again."""
    return any(b"\r\n" in piece and decode(piece.replace(b"\r\n", b"\n")) for piece in pieces)


def complaint(test: LineTest) -> str:
    """What the user has to know; empty when line ends are not the matter."""
    if test.to_host:
        return "the line turns 0A into 0D 0A on the way from the board to the host; " + _REMEDY.format(
            side="the board", way="tx"
        )
    if test.to_board:
        return "the line turns 0D into 0A on the way from the host to the board; " + _REMEDY.format(
            side="the board", way="rx"
        )
    return ""
