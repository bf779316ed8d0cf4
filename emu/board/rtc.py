"""The RTC controller: reset causes, software resets, the RTC watchdog, stores that survive a reset, time
(chip reference manual, "Low-power Management", "Reset and Clock", "Watchdog Timers")."""

from __future__ import annotations

from functools import partial

from emu.board.chip import CPU_HZ, RTC_SLOW_HZ, WHOLE_CHIP, Reset
from emu.board.registers import Registers
from emu.board.timers import WDT_KEY, Clockwork, after

SWD_KEY = 0x8F1D312A
OPTIONS0, TIME_UPDATE, TIME_LOW, TIME_HIGH, RESET_STATE = 0x00, 0x0C, 0x10, 0x14, 0x38
STORES = (0x50, 0x54, 0x58, 0x5C, 0xBC, 0xC0, 0xC4, 0xC8)
WDT_CONFIG0, WDT_FEED, WDT_PROTECT, SWD_CONF, SWD_PROTECT = 0x98, 0xAC, 0xB0, 0xB4, 0xB8
OPTION1, INT_ENA, INT_RAW, INT_ST, INT_CLR = 0x12C, 0x40, 0x44, 0x48, 0x4C
FORCE_DOWNLOAD = 1
SW_SYS_RST, SW_PROCPU_RST, SW_APPCPU_RST = 1 << 31, 1 << 5, 1 << 4

_PLAIN = (
    *range(0x04, 0x0C, 4),
    *range(0x18, 0x38, 4),
    0x3C,
    INT_ENA,
    *range(0x60, 0x98, 4),
    *range(0x9C, 0xAC, 4),
)
_PLAIN = (*_PLAIN, WDT_PROTECT, SWD_CONF, SWD_PROTECT, *range(0xCC, 0x200, 4), *STORES)


class Rtc(Registers):
    """``cause``: why the chip was reset last, of core 0 and core 1."""

    def __init__(self, board: Clockwork) -> None:
        resets = {OPTIONS0: 0x1C00A000, WDT_CONFIG0: 0x13214, WDT_PROTECT: 0, SWD_CONF: 0x4B00000}
        super().__init__(0x60008000, resets, _PLAIN)
        self._board = board
        self.cause = [Reset.POWERON, Reset.POWERON]
        self._shown = 0
        self._age = 0
        self._stage = 0
        self.readers.update(
            {
                OPTIONS0: lambda: self.values[OPTIONS0],
                RESET_STATE: lambda: self.cause[0] | self.cause[1] << 6 | 3 << 12,
                TIME_LOW: lambda: self._shown,
                TIME_HIGH: lambda: self._shown >> 32,
                TIME_UPDATE: lambda: 1 << 30,
                INT_RAW: lambda: 0,
                INT_ST: lambda: 0,
            }
        )
        self.writers.update(
            {OPTIONS0: self._options, TIME_UPDATE: self._update, INT_CLR: lambda _value: None}
        )
        self.writers[WDT_FEED] = lambda value: self._feed() if value >> 31 else None
        self.writers.update({o: partial(self._watchdog, o) for o in range(WDT_CONFIG0, WDT_FEED, 4)})

    def restart(self, cause: Reset) -> None:
        """A reset: what lives in the RTC domain stays unless the whole chip was reset."""
        kept = (
            {} if cause in WHOLE_CHIP else {o: self.values[o] for o in (*STORES, OPTION1) if o in self.values}
        )
        self.reset()
        self.values.update(kept)
        self.cause = [cause, cause]
        self._age += 1

    def take_force_download(self) -> bool:
        """True when software asked for download mode at the next reset; asking is over then."""
        asked = bool(self.values.get(OPTION1, 0) & FORCE_DOWNLOAD)
        self.values[OPTION1] = self.values.get(OPTION1, 0) & ~FORCE_DOWNLOAD
        return asked

    def _options(self, value: int) -> None:
        self.values[OPTIONS0] = value & ~(SW_SYS_RST | SW_PROCPU_RST | SW_APPCPU_RST)
        if value & SW_SYS_RST:
            self._board.request_reset(Reset.RTC_SW_SYS)
        elif value & SW_PROCPU_RST:
            self._board.request_reset(Reset.RTC_SW_CPU)

    def _update(self, value: int) -> None:
        if value >> 31:
            self._shown = self._board.cycles() * RTC_SLOW_HZ // CPU_HZ

    # --- the watchdog -------------------------------------------------------------------------------------
    def _watchdog(self, offset: int, value: int) -> None:
        if self.values.get(WDT_PROTECT) == WDT_KEY:
            self.values[offset] = value
            self._feed()

    def _feed(self) -> None:
        self._stage = 0
        self._age += 1
        self._next_stage()

    def _next_stage(self) -> None:
        if not self.values[WDT_CONFIG0] >> 31 or self._stage > 3:
            return
        ticks = self.values.get(WDT_CONFIG0 + 4 + 4 * self._stage, 0)
        age = self._age
        self._board.call_at(after(self._board.cycles(), ticks, RTC_SLOW_HZ), lambda: self._expire(age))

    def _expire(self, age: int) -> None:
        if self._age != age:
            return
        action = self.values[WDT_CONFIG0] >> (28 - 3 * self._stage) & 7
        self._stage += 1
        cause = {2: Reset.RTCWDT_CPU, 3: Reset.RTCWDT_SYS, 4: Reset.RTCWDT_RTC}.get(action)
        if cause is not None:
            self._board.request_reset(cause)
        self._next_stage()
