"""The peripherals of the ESP32-S3 by address (chip reference manual, "System and Memory", modules)."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass


@dataclass(frozen=True)
class Peripheral:
    """A block of device registers."""

    name: str
    start: int
    size: int

    @property
    def end(self) -> int:
        """First address after the block."""
        return self.start + self.size


_BLOCKS = (
    ("UART0", 0x60000000, 0x1000),
    ("SPI1 (flash)", 0x60002000, 0x1000),
    ("SPI0 (flash)", 0x60003000, 0x1000),
    ("GPIO", 0x60004000, 0xF00),
    ("GPIO sigma-delta", 0x60004F00, 0x100),
    ("RF front end 2", 0x60005000, 0x1000),
    ("RF front end", 0x60006000, 0x1000),
    ("eFuse controller", 0x60007000, 0x1000),
    ("RTC control", 0x60008000, 0x400),
    ("RTC IO MUX", 0x60008400, 0x400),
    ("SENS (ADC, touch, ULP)", 0x60008800, 0x400),
    ("RTC I2C", 0x60008C00, 0x400),
    ("IO MUX", 0x60009000, 0x1000),
    ("SDIO slave information", 0x6000B000, 0x1000),
    ("UHCI1", 0x6000C000, 0x1000),
    ("RF I2C bus", 0x6000E000, 0x1000),
    ("I2S0", 0x6000F000, 0x1000),
    ("UART1", 0x60010000, 0x1000),
    ("Bluetooth", 0x60011000, 0x1000),
    ("I2C0", 0x60013000, 0x1000),
    ("UHCI0", 0x60014000, 0x1000),
    ("SDIO slave host side", 0x60015000, 0x1000),
    ("RMT", 0x60016000, 0x1000),
    ("PCNT", 0x60017000, 0x1000),
    ("SDIO slave", 0x60018000, 0x1000),
    ("LEDC", 0x60019000, 0x1000),
    ("RF receiver", 0x6001CC00, 0x400),
    ("RF baseband", 0x6001D000, 0x1000),
    ("MCPWM0", 0x6001E000, 0x1000),
    ("timer group 0", 0x6001F000, 0x1000),
    ("timer group 1", 0x60020000, 0x1000),
    ("RTC slow memory (device bus)", 0x60021000, 0x2000),
    ("system timer", 0x60023000, 0x1000),
    ("SPI2", 0x60024000, 0x1000),
    ("SPI3", 0x60025000, 0x1000),
    ("SYSCON (APB control)", 0x60026000, 0x1000),
    ("I2C1", 0x60027000, 0x1000),
    ("SD/MMC host", 0x60028000, 0x1000),
    ("peripheral backup", 0x6002A000, 0x1000),
    ("TWAI", 0x6002B000, 0x1000),
    ("MCPWM1", 0x6002C000, 0x1000),
    ("I2S1", 0x6002D000, 0x1000),
    ("UART2", 0x6002E000, 0x1000),
    ("Wi-Fi MAC", 0x60033000, 0x3000),
    ("USB serial/JTAG", 0x60038000, 0x1000),
    ("USB wrapper", 0x60039000, 0x1000),
    ("AES", 0x6003A000, 0x1000),
    ("SHA", 0x6003B000, 0x1000),
    ("RSA", 0x6003C000, 0x1000),
    ("digital signature", 0x6003D000, 0x1000),
    ("HMAC", 0x6003E000, 0x1000),
    ("GDMA", 0x6003F000, 0x1000),
    ("APB ADC", 0x60040000, 0x1000),
    ("LCD and camera", 0x60041000, 0x1000),
    ("USB OTG", 0x60080000, 0x40000),
    ("system registers", 0x600C0000, 0x1000),
    ("permission control", 0x600C1000, 0x1000),
    ("interrupt matrix", 0x600C2000, 0x1000),
    ("DMA copy", 0x600C3000, 0x1000),
    ("cache and external memory", 0x600C4000, 0x1000),
    ("cache MMU table", 0x600C5000, 0x1000),
    ("instruction cache tags", 0x600C6000, 0x2000),
    ("data cache tags", 0x600C8000, 0x4000),
    ("external memory encryption", 0x600CC000, 0x1000),
    ("debug assist", 0x600CE000, 0x1000),
    ("world controller", 0x600D0000, 0x1000),
)

PERIPHERALS: tuple[Peripheral, ...] = tuple(Peripheral(*block) for block in _BLOCKS)
"""All blocks in order of their addresses; a gap between two is reserved."""

_STARTS = [peripheral.start for peripheral in PERIPHERALS]


def peripheral_at(address: int) -> Peripheral | None:
    """The block that holds an address, or None."""
    place = bisect_right(_STARTS, address) - 1
    if place < 0 or address >= PERIPHERALS[place].end:
        return None
    return PERIPHERALS[place]


def register_text(address: int) -> str:
    """An address of the device area for messages: ``UART0 + 0x1c``, or ``reserved device address``."""
    peripheral = peripheral_at(address)
    if peripheral is None:
        return "reserved device address"
    return f"{peripheral.name} + {address - peripheral.start:#x}"
