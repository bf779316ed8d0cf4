"""Frames on the line (docs/wire.md section 2): one to bytes, a stream of bytes to frames, text and damage."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

from cobs import cobs

from emu.link.wire import CHECK_BYTES, FIRST_PAYLOAD, HEADER, VERSION

_TEXT = frozenset({*range(7, 14), 27, *range(0x20, 0x7F)})


@dataclass(frozen=True)
class Frame:
    """One frame; ``ack`` as the sender gave it."""

    type: int
    session: int
    sequence: int
    ack: int
    payload: bytes


@dataclass(frozen=True)
class Text:
    """What stood between two zero bytes and can be read: other programs' output."""

    text: str


@dataclass(frozen=True)
class Damage:
    """What stood between two zero bytes and is neither frame nor text."""

    data: bytes


Piece = Frame | Text | Damage


def encode(frame: Frame) -> bytes:
    """The bytes of a frame, with the zero bytes around it."""
    head = HEADER.pack(
        VERSION, frame.type, len(frame.payload), frame.session, frame.sequence, frame.ack & 0xFFFFFFFF
    )
    contents = head + frame.payload
    contents += zlib.crc32(contents).to_bytes(CHECK_BYTES, "little")
    return b"\0" + bytes(cobs.encode(contents)) + b"\0"


def decode(piece: bytes) -> Frame | None:
    """The frame between two zero bytes, None when it is none."""
    try:
        contents = bytes(cobs.decode(piece))
    except cobs.DecodeError:
        return None
    if len(contents) < HEADER.size + CHECK_BYTES:
        return None
    version, kind, length, session, sequence, ack = HEADER.unpack_from(contents)
    body = contents[:-CHECK_BYTES]
    if version != VERSION or length != len(body) - HEADER.size:
        return None
    if zlib.crc32(body) != int.from_bytes(contents[-CHECK_BYTES:], "little"):
        return None
    return Frame(kind, session, sequence, ack, body[HEADER.size :])


def longest_piece(payload: int) -> int:
    """Most bytes between two zero bytes of a frame with that payload."""
    size = HEADER.size + payload + CHECK_BYTES
    return size + size // 254 + 1


class Splitter:
    """Takes bytes in any portions, gives pieces. Holds at most one piece of the longest length, and text."""

    TEXT_LIMIT = 4096
    """Text without any zero byte is handed out in portions of this size."""

    def __init__(self, payload: int = FIRST_PAYLOAD) -> None:
        self._limit = max(longest_piece(payload), self.TEXT_LIMIT)
        self._open = bytearray()
        self._too_long = False

    def feed(self, data: bytes) -> list[Piece]:
        """Pieces that are complete with ``data``."""
        found: list[Piece] = []
        parts = data.split(b"\0")
        for part in parts[:-1]:
            self._append(part, found)
            self._end(found)
        self._append(parts[-1], found)
        return found

    def flush(self) -> list[Piece]:
        """What has come since the last zero byte, when nothing more will come."""
        found: list[Piece] = []
        self._end(found)
        return found

    def text_waiting(self) -> str:
        """Text since the last zero byte: a board that stops in mid-panic sends none after it."""
        return self._open.decode("ascii") if self._open and _is_text(self._open) else ""

    def _append(self, part: bytes, found: list[Piece]) -> None:
        self._open += part
        if len(self._open) > self._limit:
            if _is_text(self._open):
                found.append(Text(self._open.decode("ascii")))
                self._open.clear()
            else:
                del self._open[self._limit :]
                self._too_long = True

    def _end(self, found: list[Piece]) -> None:
        piece, too_long = bytes(self._open), self._too_long
        self._open.clear()
        self._too_long = False
        if not piece:
            return
        frame = None if too_long else decode(piece)
        if frame is not None:
            found.append(frame)
        elif _is_text(piece):
            found.append(Text(piece.decode("ascii")))
        else:
            found.append(Damage(piece))


def _is_text(piece: bytes | bytearray) -> bool:
    return all(byte in _TEXT for byte in piece)
