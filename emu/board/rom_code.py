"""Machine code that stands in for the ROM's: the window handlers at its vector base.

They are the handlers of the windowed ABI (Xtensa ISA manual, "Windowed Register Option", overflow and
underflow of call4, call8 and call12), made by our own assembler.
"""

from __future__ import annotations

from functools import cache

from emu.isa.encode import assemble_one

ROM_START = 0x40000000
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
