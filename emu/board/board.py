"""The board: power, resets, and the thread that runs whatever the chip is doing.

board = Board(Settings(elf=Path("app.elf")))
board.start()
board.line.send(b"hello")
board.line.fetch()
board.stop()
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from emu.board.boot import BootError, boot_lines, load_from_flash
from emu.board.chip import CPU_HZ, Reset
from emu.board.faults import Fault, arrange
from emu.board.flash import Flash
from emu.board.idleness import Idleness
from emu.board.line import Line
from emu.board.loader import Loader
from emu.board.machine import Core, Machine
from emu.board.settings import Settings
from emu.cpu.engine import Stopped
from emu.cpu.state import ExitReason
from emu.cpu.traps import Trap
from emu.image import Image, load_image

log = logging.getLogger("emu.board")

TURN = 400_000
"""Cycles of a turn of one core; what the host does shows between turns."""
SHORT_TURN = 48_000
"""... when two cores run: a fifth of a millisecond."""
REST = 0.02
"""Seconds that a core rests at most before the board looks around."""
AHEAD = 0.002
"""Seconds that a paced board may be ahead of the wall's clock."""


class Activity(Protocol):
    """What the chip is doing: running code, talking to a loader, or nothing."""

    name: str

    def turn(self) -> None:
        """Go on for a while; return at once when there is nothing to do."""


class Halted:
    """The chip does nothing that anybody could see, until it is reset."""

    name = "halted"

    def __init__(self, board: Board, why: str) -> None:
        self._board = board
        self.why = why

    def turn(self) -> None:
        """Wait."""
        self._board.wait(1.0)


class Running:
    """The processors run guest code."""

    name = "running"

    def __init__(self, board: Board) -> None:
        self._board = board
        self._machine = board.machine
        self._anchor = time.monotonic() - board.machine.now() / CPU_HZ
        self._idleness = Idleness(board.machine)

    def turn(self) -> None:
        """One turn of each core that runs. What stops the emulator halts the chip, and is told."""
        machine = self._machine
        if self._idleness.is_proved:
            self._board.rest()
            if not self._idleness.is_over():
                return
        length = SHORT_TURN if machine.cores[1].runs else TURN
        machine.follow_lines()
        try:
            for core in machine.cores:
                if core.runs:
                    self._run(core, length)
            self._idleness.look()
        except Stopped:
            pass
        except Trap as trap:
            self._board.halt(str(trap))
        machine.now()
        machine.follow_lines()
        if machine.settings.paced:
            self._pace()

    def _run(self, core: Core, length: int) -> None:
        machine = self._machine
        machine.select(core)
        core.engine.state.budget = length
        if core.engine.advance() == ExitReason.RETURN:
            self._board.halt("the guest jumped to an address of the emulator's own")

    def _pace(self) -> None:
        """Emulated time does not run ahead of the wall's; what it has fallen behind is not made up."""
        ahead = self._machine.now() / CPU_HZ - (time.monotonic() - self._anchor)
        if ahead > AHEAD:
            time.sleep(ahead)
        elif ahead < -AHEAD:
            self._anchor -= ahead


class Board:
    """One board. Methods may be called from any thread unless they say otherwise.

    ``line``: the serial line that the transport is connected to; ``machine``: the chip; ``resets``: how often
    it was reset, by cause; ``activity``: what it is doing.
    """

    def __init__(self, settings: Settings) -> None:
        """Raises ImageError, FlashError, BoardError for inputs that cannot be used."""
        self.settings = settings
        self.image: Image | None = load_image(settings.elf) if settings.elf else None
        self.flash = Flash(settings.flash_bytes, settings.flash)
        self._wake = threading.Event()
        self._is_download = settings.download
        self.machine = Machine(
            settings,
            self.flash,
            self.request_reset,
            self._rest,
            self._idle,
            self._returned,
            lambda: 0 if self._is_download else 8,
        )
        self.line: Line = self.machine.line
        self.machine.on_fatal = lambda text: self._later(lambda: self.halt(text.strip()))
        for line in (self.machine.uart_line, self.machine.usb_line):
            line.wake = self._wake.set
        self._listeners: list[Callable[[], None]] = []
        self.on_unplug: Callable[[], None] = lambda: None
        """Called when the cable is pulled."""
        self.faults: list[Fault] = []
        """What goes wrong after the power came on."""
        self.resets: dict[Reset, int] = {}
        self.activity: Activity = Halted(self, "no power")
        self._requests: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run, name="board", daemon=True)

    # --- from outside -------------------------------------------------------------------------------------
    def start(self) -> None:
        """Power on."""
        self._later(self._power_on)
        self._thread.start()

    def _power_on(self) -> None:
        self.restart(Reset.POWERON)
        for fault in self.faults:
            arrange(self, fault)

    def add_listener(self, listener: Callable[[], None]) -> None:
        """Call it, on the board's thread, whenever the guest may have sent something."""
        self._listeners.append(listener)

    def on_output(self) -> None:
        """Tell the transports."""
        for listener in self._listeners:
            listener()

    def stop(self) -> None:
        """Power off; the flash file is let go."""
        self._is_stopping = True
        self._attend()
        if self._thread.is_alive():
            self._thread.join()
        self.flash.close()

    def reset(self, cause: Reset = Reset.POWERON, download: bool | None = None) -> None:
        """Reset the chip; ``download``: what the strap says from now on (None: as before)."""
        self._later(lambda: self.restart_now(cause, download))

    def restart_now(self, cause: Reset = Reset.POWERON, download: bool | None = None) -> None:
        """As :meth:`reset`, on the board's thread."""
        if download is not None:
            self._is_download = download
        self.restart(cause)

    def fault(self, fault: Fault) -> None:
        """Let something go wrong."""
        self.call(lambda: arrange(self, fault))

    def interrupt(self, action: Callable[[], None]) -> None:
        """Do something before the next instruction; from alarms."""
        self._later(action)
        self.machine.stop_cores()

    def unplug(self) -> None:
        """Pull the cable: the client is gone; the board goes on."""
        self.on_unplug()

    def hold(self) -> None:
        """Keep the chip in reset (EN low) until :meth:`reset`."""
        self._later(lambda: self._become(Halted(self, "held in reset")))

    def call(self, action: Callable[[], None]) -> None:
        """Do something on the board's thread, between two turns, and wait until it is done."""
        done = threading.Event()

        def run() -> None:
            try:
                action()
            finally:
                done.set()

        self._later(run)
        if threading.current_thread() is not self._thread:
            done.wait()

    # --- from the machine ---------------------------------------------------------------------------------
    def request_reset(self, cause: Reset) -> None:
        """Reset before the next instruction; from the guest or a watchdog."""
        self.interrupt(lambda: self.restart(cause))

    def halt(self, why: str) -> None:
        """The emulation cannot go on: say why, and stay silent until a reset."""
        log.error("the board stands still: %s", why)
        self._become(Halted(self, why))

    def enter(self, address: int) -> None:
        """Run loaded code, as the ROM calls it."""
        self.machine.enter(address)
        self._become(Running(self))

    def run_from_flash(self) -> None:
        """The ROM boots as after a reset, without one."""
        self.say("\r\n")
        self._boot()

    @property
    def is_stopping(self) -> bool:
        """The board is being switched off."""
        return self._is_stopping

    def start_loader(self) -> None:
        """The ROM waits for download commands."""
        self._become(Loader(self))

    def say(self, text: str) -> None:
        """Text of the ROM on the console, and on the UART when the console is USB."""
        data = text.encode("latin-1")
        for line in dict.fromkeys((self.line, self.machine.uart_line)):
            line.rom_write(data)
        self.on_output()

    def wait(self, seconds: float) -> None:
        """Let the board's thread sleep until something happens, at most this long."""
        self.on_output()
        if self._wake.wait(seconds):
            self._wake.clear()

    # --- the thread ---------------------------------------------------------------------------------------
    def _run(self) -> None:
        while not self._is_stopping:
            try:
                self._do_requests()
                self.activity.turn()
                if self.line.has_output:
                    self.on_output()
            except Exception as error:
                log.exception("trouble of the emulator's own")
                self._become(Halted(self, f"trouble of the emulator's own: {error}"))

    def _do_requests(self) -> None:
        with self._lock:
            waiting, self._requests = self._requests, []
        for action in waiting:
            action()

    def _later(self, action: Callable[[], None]) -> None:
        with self._lock:
            self._requests.append(action)
        self._attend()

    def _attend(self) -> None:
        """The board's thread has something to do before it goes on."""
        self._wake.set()

    @property
    def _has_requests(self) -> bool:
        return bool(self._requests) or self._is_stopping

    def _become(self, activity: Activity) -> None:
        self.activity = activity

    def restart(self, cause: Reset) -> None:
        """A reset, on the board's thread: what the ROM does first."""
        self.resets[cause] = self.resets.get(cause, 0) + 1
        saved = self.machine.cores[0].engine.state.PC
        is_forced = self.machine.rtc.take_force_download()
        self.machine.reset(cause)
        is_download = self._is_download or is_forced
        self.say(boot_lines(cause, is_download, saved))
        if is_download:
            self.say("waiting for download\r\n")
            self.start_loader()
        else:
            self._boot()

    def _boot(self) -> None:
        if self.image is not None:
            self.machine.load(self.image)
            self.enter(self.image.entry)
            return
        try:
            entry = load_from_flash(self.machine.memory, self.flash, self.say)
        except BootError as error:
            self.say(error.text)
            log.warning("boot from flash refused: %s", error.why)
            self.start_loader()
            return
        self.enter(entry)

    # --- waiting ------------------------------------------------------------------------------------------
    def _rest(self, core: Core, cycles: int) -> int:
        """A core waits for an interrupt: its time goes with the wall's, or with the other core's."""
        machine = self.machine
        other = machine.cores[1 - core.engine.core]
        if other.runs and not other.engine.interrupts.is_waiting:
            ahead = (
                other.engine.interrupts.cycles + other.offset - core.engine.interrupts.cycles - core.offset
            )
            return max(min(cycles, ahead), 0)
        return self._sleep(cycles)

    def rest(self) -> None:
        """Nothing happens before the host does something: time goes with the wall's until then."""
        self.machine.follow_lines()
        self.machine.pass_time(self._sleep(int(REST * CPU_HZ)))
        self.machine.follow_lines()

    def _idle(self) -> None:
        """Firmware polls an empty receiver."""
        self.rest()
        if self._has_requests:
            self.machine.stop_cores()

    def _sleep(self, cycles: int) -> int:
        """Sleep until the host does something, at most ``cycles``; the cycles that have passed."""
        if self._has_requests:
            return 0
        start = time.monotonic()
        self.wait(min(cycles / CPU_HZ, REST))
        return min(max(int((time.monotonic() - start) * CPU_HZ), 1), cycles)

    def _returned(self) -> None:
        """Code that the ROM called came back: the ROM waits for commands again."""

        def back() -> None:
            log.info("the loaded code returned to the ROM")
            self.start_loader()

        with suppress(RuntimeError):
            self._later(back)
