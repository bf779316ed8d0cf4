"""Serial functions of the ROM (rom/uart.h)."""

from __future__ import annotations

import struct

from emu.board import native, words
from emu.board.chip import XTAL_HZ
from emu.board.rom.common import giving, machine
from emu.rom.functions import RomCall, RomFunction

DEVICE = 0x3FCEF134
"""The ROM's UartDevice."""
BUFFER = 0x3FCEF14C
"""Its buff_uart_no, which tells what the ROM loader was reached over."""
OVER_UART, OVER_USB_SERIAL = 0, 4


def device_data(is_usb: bool, baud: int) -> bytes:
    """UartDevice: baud rate, 8N1, no flow control, buffer number."""
    return struct.pack("<IIIIIIB", baud, 3, 0, 0, 1, 0, OVER_USB_SERIAL if is_usb else OVER_UART)


def _divide(call: RomCall) -> None:
    """``uart_div_modify(number, divider in sixteenths)``: of the crystal's clock."""
    if call[0] == 0 and call[1]:
        machine(call).uart.set_baud(max(XTAL_HZ * 16 // call[1], 1))


def _flush(call: RomCall) -> int:
    """All bytes have left: time passes until then."""
    board = machine(call)
    native.collect(board.words)
    line = board.uart_line
    left = line.word(words.TX_FREE) - board.now()
    if line.word(words.BYTE_CYCLES) and left > 0:
        board.pass_time(left)
    return 0


def _receive(call: RomCall) -> int:
    """``uart_rx_one_char(place)``: 0 when a byte was there, else 1."""
    line = machine(call).line
    now = machine(call).now()
    native.collect(line.words)
    native.receive(line.words, line.block, now)
    if line.word(words.FIFO_WRITTEN) == line.word(words.FIFO_READ):
        return 1
    call.write(call[0], bytes([int(native.take(line.words, line.block, now))]))
    return 0


FUNCTIONS: dict[str, RomFunction] = {
    "uart_div_modify": _divide,
    "uart_tx_flush": _flush,
    "uart_tx_wait_idle": _flush,
    "uart_rx_one_char": _receive,
    "GetUartDevice": giving(DEVICE),
    "uart_tx_switch": giving(0),
    "uartAttach": giving(0),
    "Uart_Init": giving(0),
    "ets_install_uart_printf": giving(0),
    "chip_usb_set_persist_flags": giving(0),
}
