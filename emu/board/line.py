"""A serial line between the host and a device of the chip: the host's side of the rings."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from emu.board import native, words
from emu.board.native import Words


def new_words() -> Words:
    """The array of :mod:`emu.board.words`, at rest."""
    array = np.zeros(words.SIZE, np.int64)
    array[words.MAILBOX_ADDRESS] = array.ctypes.data + 8 * words.MAILBOX
    return array


class Line:
    """``block``: words.UART or words.USB. The host's methods may be called from any one thread each.

    ``send`` puts bytes on the wire towards the guest, ``fetch`` takes what the guest has sent.
    """

    def __init__(self, array: Words, block: int, depth: int, holds_back: bool = False) -> None:
        self.words = array
        self.block = block
        self.depth = depth
        self.holds_back = holds_back
        self.wake: Callable[[], None] = lambda: None
        """Called when the host has put bytes on the wire."""
        self.reset()

    def reset(self) -> None:
        """FIFOs empty, registers at rest; bytes that the host has not taken yet stay for it."""
        c, b = self.words, self.block
        sent, taken = int(c[b + words.TX_HEAD]), int(c[b + words.TX_TAIL])
        waiting, put = int(c[b + words.RX_TAIL]), int(c[b + words.RX_HEAD])
        c[b + words.TX_STAGED + 1 : b + words.LINE_WORDS] = 0
        c[b + words.RX_TAIL], c[b + words.RX_HEAD] = waiting, put
        c[b + words.TX_HEAD], c[b + words.TX_TAIL], c[b + words.TX_STAGED] = sent, taken, sent
        c[b + words.DEPTH] = self.depth
        c[b + words.ARRIVAL] = -1
        c[b + words.RAW] = words.TXFIFO_EMPTY
        c[b + words.FULL_AT] = 96
        c[b + words.EMPTY_AT] = 96
        c[b + words.HOLDS_BACK] = int(self.holds_back)

    def word(self, index: int) -> int:
        """A word of the line's block."""
        return int(self.words[self.block + index])

    def set_word(self, index: int, value: int) -> None:
        """Set a word of the line's block."""
        self.words[self.block + index] = value

    @property
    def lost(self) -> int:
        """Bytes that a full receive FIFO has lost since the last reset."""
        return self.word(words.LOST)

    # --- the host's side ----------------------------------------------------------------------------------
    def room(self) -> int:
        """Bytes that fit on the wire."""
        return words.RING - (self.word(words.RX_HEAD) - self.word(words.RX_TAIL))

    def send(self, data: bytes) -> int:
        """Put bytes on the wire, as many as fit; gives their number."""
        count = min(len(data), self.room())
        start = self.block + words.RX_RING
        head = self.word(words.RX_HEAD)
        self._each(head, count, lambda at, i, n: self._copy_in(start + at, data[i : i + n]))
        self.set_word(words.RX_HEAD, head + count)
        if count:
            self.wake()
        return count

    def fetch(self, limit: int = words.RING) -> bytes:
        """What the guest has sent, at most ``limit`` bytes."""
        tail = self.word(words.TX_TAIL)
        count = min(self.word(words.TX_HEAD) - tail, limit)
        start = self.block + words.TX_RING
        parts: list[bytes] = []
        self._each(tail, count, lambda at, i, n: parts.append(self._copy_out(start + at, n)))
        self.set_word(words.TX_TAIL, tail + count)
        if count and self.word(words.TX_STAGED) - tail > words.RING // 2:
            self.wake()  # the guest may be waiting for room
        return b"".join(parts)

    @property
    def has_output(self) -> bool:
        """The guest has sent something."""
        return self.word(words.TX_HEAD) != self.word(words.TX_TAIL)

    def _copy_in(self, at: int, data: bytes) -> None:
        self.words[at : at + len(data)] = np.frombuffer(data, np.uint8)

    def _copy_out(self, at: int, count: int) -> bytes:
        return bytes(self.words[at : at + count].astype(np.uint8).tobytes())

    @staticmethod
    def _each(first: int, count: int, piece: Callable[[int, int, int], object]) -> None:
        """``piece(place in the ring, place in the data, bytes)`` for the one or two parts of a stretch."""
        done = 0
        while done < count:
            at = (first + done) % words.RING
            length = min(count - done, words.RING - at)
            piece(at, done, length)
            done += length

    # --- the chip's ROM, which needs no FIFO ---------------------------------------------------------------
    def rom_read(self) -> bytes:
        """Everything that has arrived, FIFO first: for the ROM loader, which the host plays."""
        found = bytearray()
        while self.word(words.FIFO_WRITTEN) != self.word(words.FIFO_READ):
            found.append(int(native.take(self.words, self.block, int(self.words[words.LATEST]))))
        tail, head = self.word(words.RX_TAIL), self.word(words.RX_HEAD)
        start = self.block + words.RX_RING
        self._each(tail, head - tail, lambda at, i, n: found.extend(self._copy_out(start + at, n)))
        self.set_word(words.RX_TAIL, head)
        self.set_word(words.ARRIVAL, -1)
        return bytes(found)

    def rom_write(self, data: bytes) -> int:
        """Bytes to the host, past the FIFO; gives how many the ring took."""
        head = self.word(words.TX_STAGED)
        count = min(len(data), words.RING - (head - self.word(words.TX_TAIL)))
        start = self.block + words.TX_RING
        self._each(head, count, lambda at, i, n: self._copy_in(start + at, data[i : i + n]))
        self.set_word(words.TX_STAGED, head + count)
        self.set_word(words.TX_HEAD, head + count)
        return count
