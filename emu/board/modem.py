"""DTR and RTS as boards wire them: two transistors between the lines, EN and GPIO0 (ESP-IDF, "Boot Mode
Selection", automatic bootloader).

Only when exactly one of the lines is asserted is anything pulled low: RTS alone pulls EN, DTR alone GPIO0. A
capacitor holds EN low for a while longer, so that lines that change one after the other do not matter.
"""

from __future__ import annotations

import threading

from emu.board.board import Board
from emu.board.chip import Reset

RISE = 0.02
"""Seconds until EN is high after it has been let go."""
BETWEEN = 0.5
"""... when both lines are asserted: over a network the next change, which tells the mode, may come late."""


class ModemLines:
    """Both lines of one transport; True is asserted, as in pyserial."""

    def __init__(self, board: Board) -> None:
        self._board = board
        self._dtr = self._rts = False
        self._is_held = False
        self._was_gpio0_low = False
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()

    @property
    def dtr(self) -> bool:
        """The line as it was set last."""
        return self._dtr

    @dtr.setter
    def dtr(self, value: bool) -> None:
        self.set(value, self._rts)

    @property
    def rts(self) -> bool:
        """The line as it was set last."""
        return self._rts

    @rts.setter
    def rts(self, value: bool) -> None:
        self.set(self._dtr, value)

    def set(self, dtr: bool, rts: bool) -> None:
        """Both at once, as some drivers can."""
        with self._lock:
            self._dtr, self._rts = bool(dtr), bool(rts)
            is_en_low, is_gpio0_low = self._rts and not self._dtr, self._dtr and not self._rts
            if is_en_low and not self._is_held:
                self._hold()
            elif not is_en_low and (self._is_held or self._timer is not None):
                self._release(is_gpio0_low, BETWEEN if self._dtr else RISE)

    def _hold(self) -> None:
        self._is_held = True
        self._was_gpio0_low = False
        self._cancel()
        self._board.hold()

    def _release(self, is_gpio0_low: bool, seconds: float) -> None:
        self._is_held = False
        self._was_gpio0_low |= is_gpio0_low
        self._cancel()
        timer = self._timer = threading.Timer(RISE if is_gpio0_low else seconds, lambda: self._risen(timer))
        timer.daemon = True
        timer.start()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _risen(self, timer: threading.Timer) -> None:
        with self._lock:
            if self._timer is timer:
                self._timer = None
                self._board.reset(Reset.POWERON, download=self._was_gpio0_low)
