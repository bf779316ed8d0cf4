"""UART0 (chip reference manual, "UART Controller"; names as in ESP-IDF's uart_reg.h).

FIFO and STATUS are answered by :mod:`emu.board.native` when translated code polls them; everything comes here
from the reference stepper, and all other registers always.
"""

from __future__ import annotations

from collections.abc import Callable

from emu.board import native, words
from emu.board.chip import APB_HZ, CPU_HZ, XTAL_HZ
from emu.board.line import Line
from emu.board.registers import Registers

FIFO, INT_RAW, INT_ST, INT_ENA, INT_CLR, CLKDIV, STATUS = 0x00, 0x04, 0x08, 0x0C, 0x10, 0x14, 0x1C
CONF0, CONF1, MEM_CONF, MEM_TX_STATUS, MEM_RX_STATUS, FSM_STATUS, CLK_CONF = (
    0x20,
    0x24,
    0x60,
    0x64,
    0x68,
    0x6C,
    0x78,
)
DATE, ID = 0x7C, 0x80

RXFIFO_RST, TXFIFO_RST = 1 << 17, 1 << 18
RX_TOUT_EN = 1 << 23
BITS_OF_A_BYTE = 10
DEFAULT_BAUD = 115200

_RESETS = {
    CLKDIV: 0x2B6,
    CONF0: 0x1C,
    CONF1: 0x18060,
    MEM_CONF: 0x140012,
    CLK_CONF: 0x3701000,
    DATE: 0x2008270,
    ID: 0x500,
}
_PLAIN = (
    CLKDIV,
    CONF0,
    CONF1,
    MEM_CONF,
    CLK_CONF,
    DATE,
    ID,
    0x18,
    0x34,
    0x38,
    0x3C,
    0x40,
    0x48,
    0x4C,
    0x50,
    0x54,
    0x58,
    0x5C,
)


class Uart(Registers):
    """``is_timed``: bytes take the time that the baud rate gives them."""

    def __init__(
        self, line: Line, now: Callable[[], int], changed: Callable[[], None], is_timed: bool
    ) -> None:
        super().__init__(0x60000000, _RESETS, _PLAIN)
        self.line = line
        self.is_timed = is_timed
        self._now = now
        self._changed = changed
        self.rest: Callable[[], None] = lambda: None
        """Called when firmware looks at an empty receiver again and again."""
        self.readers = {
            FIFO: lambda: int(native.take(line.words, line.block, now())),
            STATUS: self._status,
            INT_RAW: lambda: self._update() | line.word(words.RAW),
            INT_ST: self._update,
            INT_ENA: lambda: line.word(words.ENABLED),
            MEM_TX_STATUS: lambda: 0,
            MEM_RX_STATUS: lambda: 0,
            FSM_STATUS: lambda: 0,
        }
        self.writers = {
            FIFO: lambda value: native.put(line.words, line.block, value, now()),
            INT_ENA: self._enable,
            INT_CLR: self._clear,
            CONF0: self._conf0,
            CLKDIV: lambda value: self._keep(CLKDIV, value),
            CONF1: lambda value: self._keep(CONF1, value),
            MEM_CONF: lambda value: self._keep(MEM_CONF, value),
            CLK_CONF: lambda value: self._keep(CLK_CONF, value),
        }
        self.set_baud(DEFAULT_BAUD)

    def reset(self) -> None:
        """As after a reset of the chip; the ROM has set 115200 baud."""
        super().reset()
        self.line.reset()
        self.set_baud(DEFAULT_BAUD)

    @property
    def baud(self) -> int:
        """Bits per second that the registers ask for."""
        clock = self.values[CLK_CONF]
        source = {1: APB_HZ, 2: 17_500_000, 3: XTAL_HZ}.get(clock >> 20 & 3, XTAL_HZ)
        divider = (clock >> 12 & 0xFF) + 1
        whole, sixteenths = self.values[CLKDIV] & 0xFFFFF, self.values[CLKDIV] >> 20 & 15
        return max(1, source * 16 // divider // max(16 * whole + sixteenths, 1))

    def set_baud(self, baud: int) -> None:
        """As the ROM sets it: from the crystal's clock."""
        divider = max(16, XTAL_HZ * 16 // baud)
        self.values[CLK_CONF] = 3 << 20 | 1 << 22 | 3 << 24
        self.values[CLKDIV] = divider >> 4 | (divider & 15) << 20
        self._apply()

    def get(self, offset: int) -> int:
        """As Registers, behind what translated code has written."""
        native.collect(self.line.words)
        return super().get(offset)

    def set(self, offset: int, value: int) -> None:
        """As Registers, behind what translated code has written."""
        native.collect(self.line.words)
        super().set(offset, value)

    # --- registers ----------------------------------------------------------------------------------------
    def _status(self) -> int:
        line = self.line
        if native.is_idle(line.words, line.block, self._now()):
            self.rest()
        return int(native.status(line.words, line.block, self._now()))

    def _update(self) -> int:
        return int(native.update(self.line.words, self.line.block, self._now()))

    def _enable(self, value: int) -> None:
        self.line.set_word(words.ENABLED, value)
        self._changed()

    def _clear(self, value: int) -> None:
        self._update()
        line = self.line
        line.set_word(words.RAW, line.word(words.RAW) & ~value)
        if value & words.RXFIFO_TOUT and line.word(words.FIFO_WRITTEN) == line.word(words.FIFO_READ):
            line.set_word(words.TIMED_OUT, 0)
        self._changed()

    def _conf0(self, value: int) -> None:
        line = self.line
        if value & RXFIFO_RST:
            line.set_word(words.FIFO_READ, line.word(words.FIFO_WRITTEN))
        if value & TXFIFO_RST:
            line.set_word(words.TX_FREE, 0)
        self._keep(CONF0, value)

    def _keep(self, offset: int, value: int) -> None:
        self.values[offset] = value
        self._apply()
        self._changed()

    def _apply(self) -> None:
        """What the registers mean for the line."""
        line, cycles = self.line, round(CPU_HZ * BITS_OF_A_BYTE / self.baud)
        line.set_word(words.BYTE_CYCLES, cycles if self.is_timed else 0)
        line.set_word(words.FULL_AT, max(self.values[CONF1] & 0x3FF, 1))
        line.set_word(words.EMPTY_AT, self.values[CONF1] >> 10 & 0x3FF)
        threshold = self.values[MEM_CONF] >> 17 & 0x3FF
        is_on = self.values[CONF1] & RX_TOUT_EN
        line.set_word(words.TIMEOUT_CYCLES, threshold * CPU_HZ // self.baud if is_on else 0)
