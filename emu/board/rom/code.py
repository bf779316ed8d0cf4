"""Machine code that stands in for the ROM's: the window handlers at its vector base, and functions that are
called for every byte.

They are the handlers of the windowed ABI (Xtensa ISA manual, "Windowed Register Option", overflow and
underflow of call4, call8 and call12), made by our own assembler.
"""

from __future__ import annotations

from functools import cache

from emu.board.chip import ROM_START
from emu.isa.encode import assemble_one
from emu.rom.symbols import rom_address

CODE = ROM_START + 0x8000
"""Where the functions lie; the ROM's jump table leads to them."""
CODE_SIZE = 0x1000
CODED = ("uart_tx_one_char",)
"""Functions that are machine code here."""
HANDLER = 64
"""Bytes of a window vector."""


def _overflow(step: int) -> list[tuple[object, ...]]:
    """Save a frame that was left with call<4 * step>: a0..a3 below the callee's stack pointer."""
    pointer = 4 * step + 1
    code: list[tuple[object, ...]] = [("s32e", 0, pointer, -16)]
    if step > 1:
        code.append(("l32e", 0, 1, -12))
    code += [("s32e", 1, pointer, -12), ("s32e", 2, pointer, -8), ("s32e", 3, pointer, -4)]
    code += [("s32e", 4 + i, 0, -16 * step + 4 * i) for i in range(4 * step - 4)]
    return [*code, ("rfwo",)]


def _underflow(step: int) -> list[tuple[object, ...]]:
    """Load a frame back."""
    pointer, last = 4 * step + 1, 4 * step - 1
    code: list[tuple[object, ...]] = [("l32e", i, pointer, -16 + 4 * i) for i in range(3)]
    if step > 1:
        code.append(("l32e", last, 1, -12))
    code.append(("l32e", 3, pointer, -4))
    code += [("l32e", 4 + i, last, -16 * step + 4 * i) for i in range(4 * step - 4)]
    return [*code, ("rfwu",)]


@cache
def vectors() -> bytes:
    """The six window handlers, as they lie from the vector base on."""
    found = b""
    for step in (1, 2, 3):
        for code in (_overflow(step), _underflow(step)):
            made = b"".join(assemble_one(str(m), *(int(str(v)) for v in rest)) for m, *rest in code)
            found += made.ljust(HANDLER, b"\0")
    return found


def _assembled(start: int, code: list[tuple[object, ...]]) -> bytes:
    """Instructions one after the other; labels are addresses."""
    made = b""
    for mnemonic, *values in code:
        made += assemble_one(str(mnemonic), *(int(str(value)) for value in values), pc=start + len(made))
    return made


def _transmit(start: int) -> bytes:
    """``int uart_tx_one_char(byte)``: wait for room in the FIFO of UART0, write, give 0."""
    loop = start + 6
    return _assembled(
        start,
        [
            ("entry", 1, 32),
            ("movi", 8, 0x60),
            ("slli", 8, 8, 24),
            ("l32i", 9, 8, 0x1C),
            ("extui", 9, 9, 16, 10),
            ("movi", 10, 126),
            ("bge", 9, 10, loop + 3),
            ("s32i", 2, 8, 0),
            ("movi", 2, 0),
            ("retw",),
        ],
    )


def functions() -> list[tuple[int, bytes]]:
    """Addresses and bytes of the functions and of their places in the ROM's jump table."""
    start = CODE
    found = [(start, _transmit(start))]
    entry = rom_address("uart_tx_one_char")
    found.append((entry, assemble_one("j", start, pc=entry)))
    return found
