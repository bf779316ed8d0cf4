"""Facts of the chip that several devices need (chip reference manual; ESP-IDF, soc/esp32s3)."""

from __future__ import annotations

from enum import IntEnum

CPU_HZ = 240_000_000
"""Cycles, and so instructions, of a second of emulated time."""
APB_HZ = 80_000_000
XTAL_HZ = 40_000_000
RTC_SLOW_HZ = 136_000
"""The RC oscillator that the RTC watchdog counts with, nominally."""

ROM_START = 0x40000000
ROM_STACK = 0x3FCEB710
"""Top of core 0's stack in the ROM's part of RAM."""
ROM_RETURN = 0x4000FFF0
"""Where the ROM's caller of loaded code would go on; the board serves it."""
CHIP_ID = 9
"""Of the image header and of GET_SECURITY_INFO."""


class Source(IntEnum):
    """Interrupt sources by their number in the interrupt matrix."""

    GPIO = 16
    UART0 = 27
    RTC = 39
    TG0_T0 = 50
    TG0_T1 = 51
    TG0_WDT = 52
    TG1_T0 = 53
    TG1_T1 = 54
    TG1_WDT = 55
    SYSTIMER0 = 57
    SYSTIMER1 = 58
    SYSTIMER2 = 59
    CPU0 = 79
    CPU1 = 80
    CPU2 = 81
    CPU3 = 82
    USB_SERIAL_JTAG = 96


class Reset(IntEnum):
    """Causes of a reset, as RTC_CNTL_RESET_STATE and the ROM's first line tell them."""

    POWERON = 0x01
    RTC_SW_SYS = 0x03
    TG0WDT_SYS = 0x07
    TG1WDT_SYS = 0x08
    RTCWDT_SYS = 0x09
    TG0WDT_CPU = 0x0B
    RTC_SW_CPU = 0x0C
    RTCWDT_CPU = 0x0D
    BROWN_OUT = 0x0F
    RTCWDT_RTC = 0x10
    TG1WDT_CPU = 0x11
    SUPER_WDT = 0x12
    USB_UART = 0x15
    USB_JTAG = 0x16


RESET_NAMES = {
    Reset.POWERON: "POWERON",
    Reset.RTC_SW_SYS: "RTC_SW_SYS_RST",
    Reset.TG0WDT_SYS: "TG0WDT_SYS_RST",
    Reset.TG1WDT_SYS: "TG1WDT_SYS_RST",
    Reset.RTCWDT_SYS: "RTCWDT_SYS_RST",
    Reset.TG0WDT_CPU: "TG0WDT_CPU_RST",
    Reset.RTC_SW_CPU: "RTC_SW_CPU_RST",
    Reset.RTCWDT_CPU: "RTCWDT_CPU_RST",
    Reset.BROWN_OUT: "BROWN_OUT_RST",
    Reset.RTCWDT_RTC: "RTCWDT_RTC_RST",
    Reset.TG1WDT_CPU: "TG1WDT_CPU_RST",
    Reset.SUPER_WDT: "SUPER_WDT_RST",
    Reset.USB_UART: "USB_UART_CHIP_RESET",
    Reset.USB_JTAG: "USB_JTAG_CHIP_RESET",
}
"""As the ROM prints them."""

WHOLE_CHIP = frozenset((Reset.POWERON, Reset.BROWN_OUT, Reset.SUPER_WDT, Reset.RTCWDT_RTC))
"""Resets that also clear what lives in the RTC domain."""
