"""Framing of the GDB remote serial protocol (GDB's manual, appendix E, "Overview").

``$data#cs``: cs is the sum of the data bytes modulo 256 as two hex digits; ``}`` escapes a byte, sent
XOR 0x20; ``*`` in a reply repeats the byte before it. A lone 0x03 is the interrupt request.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

INTERRUPT = 0x03
LONGEST = 1 << 16
"""Bytes of a packet that are kept; a longer one is thrown away and answered as damaged."""


class Kind(Enum):
    """What arrived."""

    PACKET = "packet"
    DAMAGED = "damaged"
    """A packet with a wrong checksum, or one that is too long."""
    ACK = "+"
    NAK = "-"
    INTERRUPT = "interrupt"


@dataclass(frozen=True)
class Event:
    """One thing that arrived; ``data`` is the unescaped content of a packet."""

    kind: Kind
    data: bytes = b""


def frame(data: bytes) -> bytes:
    """Data as a packet, escaped where needed."""
    body = bytearray()
    for byte in data:
        if byte in b"$#}*":
            body += bytes((0x7D, byte ^ 0x20))
        else:
            body.append(byte)
    return b"$%b#%02x" % (bytes(body), sum(body) & 0xFF)


def unescape(body: bytes) -> bytes:
    """Undo the escapes of a packet's body."""
    if b"}" not in body:
        return body
    out, is_escaped = bytearray(), False
    for byte in body:
        if is_escaped:
            out.append(byte ^ 0x20)
            is_escaped = False
        elif byte == 0x7D:
            is_escaped = True
        else:
            out.append(byte)
    return bytes(out)


class Parser:
    """Cuts a stream of bytes into events, whatever the bytes are and however they are cut."""

    def __init__(self) -> None:
        self._body: bytearray | None = None
        self._too_long = False
        self._sum: bytearray | None = None

    def feed(self, data: bytes) -> list[Event]:
        """Events that are complete with these bytes, in order."""
        events = []
        for byte in data:
            event = self._take(byte)
            if event is not None:
                events.append(event)
        return events

    def _take(self, byte: int) -> Event | None:
        if self._sum is not None:
            return self._take_sum(byte)
        if byte == 0x24:
            # A packet inside of a packet: the first one was cut off.
            self._body, self._too_long = bytearray(), False
        elif self._body is None:
            return _OUTSIDE.get(byte)
        elif byte == 0x23:
            self._sum = bytearray()
        elif len(self._body) < LONGEST:
            self._body.append(byte)
        else:
            self._too_long = True
        return None

    def _take_sum(self, byte: int) -> Event | None:
        assert self._sum is not None
        assert self._body is not None
        if byte == 0x24:
            # The checksum was cut off and the next packet begins.
            self._body, self._too_long, self._sum = bytearray(), False, None
            return Event(Kind.DAMAGED)
        self._sum.append(byte)
        if len(self._sum) < 2:
            return None
        body, digits = bytes(self._body), bytes(self._sum)
        is_good = not self._too_long and digits.lower() == b"%02x" % (sum(body) & 0xFF)
        self._body, self._sum = None, None
        return Event(Kind.PACKET, unescape(body)) if is_good else Event(Kind.DAMAGED)


_OUTSIDE = {
    0x2B: Event(Kind.ACK),
    0x2D: Event(Kind.NAK),
    INTERRUPT: Event(Kind.INTERRUPT),
}
