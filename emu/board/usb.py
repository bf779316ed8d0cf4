"""USB serial/JTAG, its serial part (chip reference manual, "USB Serial/JTAG Controller").

Packets of 64 bytes each way; what firmware writes leaves when a packet is full or WR_DONE is written.
"""

from __future__ import annotations

from collections.abc import Callable

from emu.board import native, words
from emu.board.line import Line
from emu.board.registers import Registers

EP1, EP1_CONF, INT_RAW, INT_ST, INT_ENA, INT_CLR, CONF0, FRAM_NUM = (
    0x00,
    0x04,
    0x08,
    0x0C,
    0x10,
    0x14,
    0x18,
    0x24,
)
SOF, OUT_RECV, IN_EMPTY = 1 << 1, 1 << 2, 1 << 3
FRAME_CYCLES = 240_000
"""Cycles of a USB frame: 1 ms."""


class UsbSerial(Registers):
    """The registers over a line."""

    def __init__(self, line: Line, now: Callable[[], int], changed: Callable[[], None]) -> None:
        super().__init__(0x60038000, {CONF0: 0x4200}, plain=(CONF0, 0x1C, 0x28, 0x44, 0x48, 0x80))
        self.line = line
        self._now = now
        self._changed = changed
        self.rest: Callable[[], None] = lambda: None
        self._raw = IN_EMPTY
        self._enabled = 0
        self._seen = 0
        self.is_connected = True
        """A host polls the port: it sends a frame mark each millisecond."""
        c, b = line.words, line.block
        self.readers = {
            EP1: lambda: int(native.take(c, b, now())),
            EP1_CONF: self._conf,
            INT_RAW: lambda: self.raw(),
            INT_ST: lambda: self.raw() & self._enabled,
            INT_ENA: lambda: self._enabled,
            FRAM_NUM: lambda: now() // FRAME_CYCLES & 0x7FF,
            CONF0: lambda: self.values[CONF0],
        }
        self.writers = {
            EP1: lambda value: native.put(c, b, value, now()),
            EP1_CONF: self._write_done,
            INT_ENA: self._enable,
            INT_CLR: self._clear,
        }

    def reset(self) -> None:
        """As after a reset of the chip."""
        super().reset()
        self.line.reset()
        self._raw, self._enabled, self._seen = IN_EMPTY, 0, 0

    def get(self, offset: int) -> int:
        """As Registers, behind what translated code has written."""
        native.collect(self.line.words)
        return super().get(offset)

    def set(self, offset: int, value: int) -> None:
        """As Registers, behind what translated code has written."""
        native.collect(self.line.words)
        super().set(offset, value)

    def raw(self) -> int:
        """Raw interrupts: a packet has come, the outgoing one has been collected, a frame has begun."""
        line = self.line
        native.receive(line.words, line.block, self._now())
        written = line.word(words.FIFO_WRITTEN)
        if written != self._seen and written != line.word(words.FIFO_READ):
            self._seen = written
            self._raw |= OUT_RECV
        if line.word(words.TX_HEAD) == line.word(words.TX_STAGED) and line.word(words.TX_BUSY):
            line.set_word(words.TX_BUSY, 0)
            self._raw |= IN_EMPTY
        return self._raw | (SOF if self.is_connected else 0)

    def level(self) -> bool:
        """Something that is enabled is requested."""
        return bool(self.raw() & self._enabled)

    def _conf(self) -> int:
        line = self.line
        if native.is_idle(line.words, line.block, self._now()):
            self.rest()
        return int(native.usb_status(line.words, line.block, self._now()))

    def _write_done(self, value: int) -> None:
        if value & 1:
            native.collect(self.line.words)
            self.line.set_word(words.TX_HEAD, self.line.word(words.TX_STAGED))
        self._changed()

    def _enable(self, value: int) -> None:
        self._enabled = value
        self._changed()

    def _clear(self, value: int) -> None:
        self.raw()
        self._raw &= ~value
        self._changed()
