"""SLIP as the ROM loader frames its packets: 0xC0 around them, 0xDB 0xDC and 0xDB 0xDD for 0xC0 and 0xDB."""

from __future__ import annotations

END, ESCAPE, ESCAPED_END, ESCAPED_ESCAPE = 0xC0, 0xDB, 0xDC, 0xDD
LONGEST = 0x10000


def encode(packet: bytes) -> bytes:
    """A packet with its frame."""
    body = packet.replace(b"\xdb", b"\xdb\xdd").replace(b"\xc0", b"\xdb\xdc")
    return b"\xc0" + body + b"\xc0"


class Decoder:
    """Packets out of a stream; what is between frames, too long or badly escaped is dropped."""

    def __init__(self) -> None:
        self._packet: bytearray | None = None
        self._is_escaped = False
        self.dropped = 0
        """Damaged packets."""

    def feed(self, data: bytes) -> list[bytes]:
        """The packets that end in ``data``."""
        found: list[bytes] = []
        for piece, ends in _split(data):
            self._take(piece)
            if ends:
                packet = self._end()
                if packet:
                    found.append(packet)
        return found

    def _take(self, piece: bytes) -> None:
        if self._packet is None or not piece:
            return
        if self._is_escaped:
            piece = b"\xdb" + piece
            self._is_escaped = False
        if piece.endswith(b"\xdb"):
            self._is_escaped = True
            piece = piece[:-1]
        parts = piece.split(b"\xdb")
        good = all(part[:1] in (b"\xdc", b"\xdd") for part in parts[1:])
        if not good or len(self._packet) + len(piece) > LONGEST:
            self._packet = None
            self.dropped += 1
            return
        self._packet += piece.replace(b"\xdb\xdc", b"\xc0").replace(b"\xdb\xdd", b"\xdb")

    def _end(self) -> bytes:
        """A frame mark: the end of a packet, or the beginning of one."""
        packet = bytes(self._packet or b"")
        if self._is_escaped:
            packet = b""
            self.dropped += 1
        self._packet = bytearray()
        self._is_escaped = False
        return packet


def _split(data: bytes) -> list[tuple[bytes, bool]]:
    """Pieces between frame marks, each with whether a mark follows."""
    pieces = data.split(b"\xc0")
    return [(piece, True) for piece in pieces[:-1]] + [(pieces[-1], False)]
