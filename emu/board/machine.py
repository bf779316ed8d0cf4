"""Processors, memory and devices of the board, wired up; nothing here knows of the host."""

from __future__ import annotations

import ctypes
import logging
import struct
from collections.abc import Callable
from dataclasses import dataclass

import emu.rom
from emu.board import native, words
from emu.board.chip import CPU_HZ, ROM_RETURN, ROM_STACK, ROM_START, Reset, Source
from emu.board.flash import Flash
from emu.board.line import Line, new_words
from emu.board.matrix import Matrix
from emu.board.misc import System, new_cache, new_efuses, new_gpio, new_random, new_storage
from emu.board.patient import PatientTranslator
from emu.board.protection import SERVICES
from emu.board.registers import Page, Registers
from emu.board.rom import board_functions
from emu.board.rom import flash as rom_flash
from emu.board.rom import uart as rom_uart
from emu.board.rom.code import CODE, CODE_SIZE, CODED, functions, vectors
from emu.board.rom.interrupts import RomInterrupts
from emu.board.rom.system import ADDRESSES
from emu.board.rtc import Rtc
from emu.board.settings import Settings
from emu.board.spi import Spi1
from emu.board.timers import SysTimer, TimerGroup
from emu.board.uart import CONF1, RX_TOUT_EN, Uart
from emu.board.usb import UsbSerial
from emu.cpu.engine import Engine
from emu.cpu.hooks import GuestCall
from emu.cpu.map import MMU_BLOCK, PAGE, PSRAM_START
from emu.cpu.mmu import ENTRIES, INVALID, Mmu
from emu.cpu.options import EngineOptions
from emu.cpu.state import OFFSETS, address_of
from emu.cpu.state_tools import prepare_call
from emu.cpu.traps import TrapKind
from emu.image import Image
from emu.image.symbols import Symbols
from emu.rom import Rom, rom_address, rom_symbols

log = logging.getLogger("emu.board")

UART_DEPTH, USB_DEPTH = 128, 64
ROM_UART_INTERRUPT = 5
"""The ROM has mapped UART0 to it."""
LONGEST_SKIP = 400_000
"""Cycles of a turn that may pass while firmware polls."""


@dataclass
class Core:
    """A processor of the board. ``offset``: board time minus its own; ``runs``: it has something to do."""

    engine: Engine
    offset: int = 0
    runs: bool = False


class Machine:
    """The chip, with what it asks its owner for.

    ``request_reset``: a reset that the guest or a watchdog wants; ``rest(core, cycles)``: how many cycles may
    pass (at most ``cycles``) while a core waits; ``idle``: firmware polls an empty receiver; ``returned``:
    code that the ROM called has returned; ``strap``: GPIO_STRAP.
    """

    def __init__(
        self,
        settings: Settings,
        flash: Flash,
        request_reset: Callable[[Reset], None],
        rest: Callable[[Core, int], int],
        idle: Callable[[], None],
        returned: Callable[[], None],
        strap: Callable[[], int],
    ) -> None:
        self.settings = settings
        self.flash = flash
        self.words = new_words()
        self.request_reset = request_reset
        engine = Engine(_empty_image(), _options(settings))
        self.cores = (Core(engine), Core(engine.add_core()))
        self.running = self.cores[0]
        self.memory = engine.memory
        self.mmu = self._new_mmu()
        self.uart_line = Line(self.words, words.UART, UART_DEPTH)
        self.usb_line = Line(self.words, words.USB, USB_DEPTH, holds_back=True)
        self._returned = returned
        self._line_alarm = 0
        self.on_fatal: Callable[[str], None] = log.error
        self._skipped = 0
        for core in self.cores:
            self._connect_core(core, rest)
            if settings.tier == "translator":
                core.engine._tier = PatientTranslator(core.engine)
        self.matrix = Matrix([core.engine.interrupts for core in self.cores])
        self.uart = Uart(self.uart_line, self.now, self.follow_lines, settings.paced)
        self.usb = UsbSerial(self.usb_line, self.now, self.follow_lines)
        self.uart.rest = self.usb.rest = idle
        self.rtc = Rtc(self)
        self.system = System(self, self._core1_changed)
        self.core1_entry = 0
        self.spi = Spi1(flash, self.unknown)
        self.streams: dict[int, object] = {}
        """States of MD5 and inflate of the ROM, by the guest's context."""
        self.devices = self._devices(strap)
        self.rom_interrupts = [RomInterrupts(self, core) for core in self.cores]
        self.roms = [self._serve_rom(core) for core in self.cores]
        self._map_rom()
        load, store = native.entry_points()
        self.memory.set_direct(load, store, int(self.words.ctypes.data))

    # --- construction -------------------------------------------------------------------------------------
    def _new_mmu(self) -> Mmu:
        for region in self.memory.regions:
            if region.start == PSRAM_START:
                self.memory.remove(region)
        psram = self.memory.new_buffer(-(-self.settings.psram_bytes // MMU_BLOCK) * MMU_BLOCK)
        mmu = Mmu(self.memory, self.flash.buffer, psram)
        mmu.attach()
        return mmu

    def _connect_core(self, core: Core, rest: Callable[[Core, int], int]) -> None:
        interrupts = core.engine.interrupts
        interrupts.slice.clock = ctypes.c_int64.from_address(int(self.words.ctypes.data) + 8 * words.TOTAL)
        interrupts.is_patient = True
        interrupts.grant = lambda cycles: self._grant(core, rest(core, cycles))

    def _devices(self, strap: Callable[[], int]) -> list[Registers]:
        efuses, gpio = new_efuses(self.settings.mac), new_gpio(strap)
        spi0, iomux = new_storage(0x60003000, 0x400), new_storage(0x60009000, 0x400)
        syscon, cache = new_storage(0x60026000, 0x400), new_cache()
        groups = [TimerGroup(self, number) for number in range(2)]
        systimer, rtcio = SysTimer(self), new_storage(0x60008400, 0x400)
        one_page: list[tuple[str, Registers]] = [
            ("UART0", self.uart),
            ("SPI1", self.spi),
            ("SPI0", spi0),
            ("GPIO", gpio),
            ("eFuse", efuses),
            ("IO MUX", iomux),
            ("timer group 0", groups[0]),
            ("timer group 1", groups[1]),
            ("SYSTIMER", systimer),
            ("SYSCON", syscon),
            ("random numbers", new_random(self.settings.seed)),
            ("USB serial/JTAG", self.usb),
            ("system registers", self.system),
            ("interrupt matrix", self.matrix),
            ("cache control", cache),
        ]
        for name, device in one_page:
            self.memory.add_device(name, device.base, PAGE, device)
        low_power = [(d.base, d.base + 0x400, d) for d in (self.rtc, rtcio)]
        self.memory.add_device("RTC", 0x60008000, PAGE, Page(self.memory, low_power))
        devices = [device for _, device in one_page] + [self.rtc, rtcio]
        for device in devices:
            device.memory = self.memory
        return devices

    def _serve_rom(self, core: Core) -> Rom:
        engine = core.engine
        rom = emu.rom.serve(engine, board=self, system=False, extra=board_functions())
        # What the guest prints goes to its console too, whatever function of the ROM formats it.
        setattr(rom, "print", self._print)  # noqa: B010
        engine.serve(ROM_RETURN, lambda _guest: self._end_of_call())
        for address, function in ADDRESSES.items():
            for hook in engine.stepper.hooks.at(address):
                hook.remove()
            rom.serve_at(f"{address:#x}", address, function)
        for name in CODED:
            for hook in engine.stepper.hooks.at(rom_address(name)):
                hook.remove()
        self._refuse_others(engine, rom)
        return rom

    @staticmethod
    def _refuse_others(engine: Engine, rom: Rom) -> None:
        """A function of the ROM that nobody serves stops the board with its name."""

        def refuse(guest: GuestCall) -> None:
            raise engine.traps.make(TrapKind.NOT_CODE, rom.explain(guest.address), None, guest.address)

        taken = {rom_address(name) for name in CODED} | set(engine.stepper.hooks)
        for symbol in rom_symbols():
            if symbol.kind == "function" and symbol.address not in taken:
                taken.add(symbol.address)
                engine.serve(symbol.address, refuse)

    def _map_rom(self) -> None:
        """After the ROM's functions are served: they are served only where no memory is."""
        self.memory.add_ram("ROM (vectors)", ROM_START, PAGE, "rx")
        self.memory.add_ram("ROM (code)", CODE, CODE_SIZE, "rx")
        self.memory.write(ROM_START, vectors())
        for address, code in functions():
            self.memory.write(address, code)

    def _print(self, text: str) -> None:
        """Text of the guest that the ROM formats: to the FIFO, as the ROM's own loop would."""
        for value in text.encode("latin-1", "replace"):
            native.put(self.words, self.uart_line.block, value, self.now())

    def fatal(self, text: str) -> None:
        """An exception that only the ROM handles: it says so and stops."""
        self.uart_line.rom_write(text.encode())
        self.on_fatal(text)
        self.stop_cores()

    def rom_interrupts_of(self, engine: Engine) -> RomInterrupts:
        """Those of a core."""
        return self.rom_interrupts[engine.core]

    def set_core1_entry(self, address: int) -> None:
        """Where core 1 begins after its reset."""
        self.core1_entry = address
        self._core1_changed(False)

    @property
    def line(self) -> Line:
        """The line that the console is."""
        return self.usb_line if self.settings.console == "usb" else self.uart_line

    def unknown(self, what: str) -> None:
        """Something that is not modelled is used."""
        device = self.memory.unmodelled
        use = getattr(device, "use", None)
        if use is not None:
            use(what)

    # --- resets -------------------------------------------------------------------------------------------
    def reset(self, cause: Reset) -> None:
        """Processors and devices as after a reset; RAM keeps its contents."""
        for index in range(ENTRIES):
            self.mmu.set_entry(index, INVALID)
        self.words[words.PENDING] = 0
        now = self.now()
        for core in self.cores:
            core.offset = now
            core.engine.stepper.begin()
            core.engine.reset()
            core.runs = False
        for device in self.devices:
            if device is self.rtc:
                self.rtc.restart(cause)
            else:
                device.reset()
        for rom, interrupts in zip(self.roms, self.rom_interrupts, strict=True):
            rom.reset()
            interrupts.reset()
        self.streams.clear()
        self._line_alarm = 0
        self.core1_entry = 0
        self._prepare_rom_data()
        self.cores[0].runs = True

    def _prepare_rom_data(self) -> None:
        """The variables of the ROM that programs look at, and the interrupt that it reads the UART with."""
        memory, is_usb = self.memory, self.settings.console == "usb"
        memory.write(rom_uart.DEVICE, rom_uart.device_data(is_usb, self.uart.baud))
        memory.write(rom_flash.CHIP, rom_flash.chip_data(self.flash.id, self.flash.size))
        memory.write(rom_flash.DATA_POINTER, rom_flash.CHIP.to_bytes(4, "little"))
        memory.write(rom_flash.FUNCTIONS_POINTER, rom_flash.LEGACY_FUNCTIONS.to_bytes(4, "little"))
        self.matrix.set(4 * Source.UART0, ROM_UART_INTERRUPT)
        self.uart.set(CONF1, self.uart.values[CONF1] | RX_TOUT_EN)  # esptool's older stub relies on it

    def load(self, image: Image) -> None:
        """An ELF file's segments into memory, where the ROM (or the second stage) would have put them."""
        from emu.cpu.loader import load_segments

        self._show_flash_for(image)
        load_segments(self.memory, image)
        for core in self.cores:
            core.engine.image = image

    def _show_flash_for(self, image: Image) -> None:
        """Segments in the cache windows get pages behind each other at the end of the flash chip."""
        size = ENTRIES * MMU_BLOCK
        blocks = sorted(
            {
                address // MMU_BLOCK % ENTRIES
                for segment in image.segments
                for window in (0x42000000, 0x3C000000)
                if window <= segment.address < window + size
                for address in range(segment.address & -MMU_BLOCK, segment.end, MMU_BLOCK)
            }
        )
        first = self.flash.size // MMU_BLOCK - len(blocks)
        for page, index in enumerate(blocks):
            self.mmu.set_entry(index, first + page)

    def enter(self, address: int, core: int = 0) -> None:
        """Core ``core`` as after the ROM's call8 of ``address``, on the ROM's stack."""
        engine = self.cores[core].engine
        state = engine.state
        prepare_call(state)
        stack = ROM_STACK - 64 + 0x2000 * core
        # The frame's save area: a spill looks there for the stack pointer of its caller.
        self.memory.write(stack - 16, struct.pack("<IIII", 0, stack + 64, 0, 0))
        state.set_a(0, 0)
        state.set_a(1, stack)
        state.set_a(8, 2 << 30 | ROM_RETURN & 0x3FFFFFFF)
        state.PC = address
        engine.interrupts.changed()

    def stop_cores(self) -> None:
        """End the current slice: the board has something to do before the next instruction."""
        for core in self.cores:
            core.engine.stepper.is_stopped = True
            core.engine.interrupts.changed()

    def _end_of_call(self) -> None:
        self._returned()
        self.stop_cores()

    def _core1_changed(self, is_reset: bool) -> None:
        """Core 1 begins at its entry when it is let out of its reset and knows where."""
        core = self.cores[1]
        may_run = self.system.core1_runs and bool(self.core1_entry)
        if may_run and (is_reset or not core.runs):
            core.engine.reset()
            core.offset = self.now()
            self.enter(self.core1_entry, 1)
        core.runs = may_run

    # --- time and lines -----------------------------------------------------------------------------------
    def now(self) -> int:
        """Board time in cycles; it never goes back."""
        core = self.running
        self._note_skipped(core)
        latest = max(int(self.words[words.LATEST]), core.engine.interrupts.cycles + core.offset)
        self.words[words.LATEST] = latest
        return latest

    def _note_skipped(self, core: Core) -> None:
        """Time that native code let pass belongs to the core's clock."""
        skipped = int(self.words[words.SKIPPED])
        if skipped:
            self.words[words.SKIPPED] = 0
            core.engine.interrupts.waited += skipped
            core.engine.interrupts.changed()
            self._skipped += skipped
            if self._skipped > LONGEST_SKIP:
                self.stop_cores()

    @property
    def seconds(self) -> float:
        """Board time; from any thread."""
        return int(self.words[words.LATEST]) / CPU_HZ

    @property
    def not_modelled(self) -> dict[str, str]:
        """Hardware that was used although nothing models it, and where first."""
        return self.cores[0].engine.unmodelled.seen | self.cores[1].engine.unmodelled.seen

    def cycles(self) -> int:
        """As :meth:`now`, for devices."""
        return self.now()

    def call_at(self, cycle: int, callback: Callable[[], object]) -> None:
        """An alarm in board time."""
        core = self.cores[0]
        core.engine.interrupts.call_at(cycle - core.offset, callback)

    def set_source(self, source: int, level: bool) -> None:
        """A device's interrupt."""
        self.matrix.set_source(source, level)

    def select(self, core: Core) -> None:
        """The core that runs next: native code reads its clock."""
        self.running = core
        self._skipped = 0
        state = core.engine.state
        self.words[words.WAITED] = core.engine.interrupts.waited + core.offset
        self.words[words.CCOUNT_ADDRESS] = address_of(state) + OFFSETS["CCOUNT"]

    def _grant(self, core: Core, cycles: int) -> int:
        self.words[words.WAITED] += cycles
        return cycles

    def pass_time(self, cycles: int) -> None:
        """The running core rests for some cycles."""
        core = self.running
        core.engine.interrupts.let_pass(cycles)
        self.words[words.WAITED] = core.engine.interrupts.waited + core.offset

    def follow_lines(self) -> None:
        """Interrupt levels of the serial devices as they are now."""
        native.collect(self.words)
        now = self.now()
        self.matrix.set_source(Source.UART0, bool(native.update(self.words, words.UART, now)))
        self.matrix.set_source(Source.USB_SERIAL_JTAG, self.usb.level())
        moment = int(native.next_interrupt(self.words, words.UART, now))
        if moment >= 0 and not now < self._line_alarm <= moment:
            self._line_alarm = moment
            self.call_at(moment, self.follow_lines)


def _options(settings: Settings) -> EngineOptions:
    return EngineOptions(
        tier=settings.tier,
        exceptions="vectors",
        unmodelled="log-once",
        services=SERVICES,
        stack_bytes=PAGE,
        psram_bytes=PAGE,
        track_fsr=True,
        cache_dir=settings.cache_dir,
    )


def _empty_image() -> Image:
    return Image("board", "", 0, (), Symbols([], "board"), (), b"")
