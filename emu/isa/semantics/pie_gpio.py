"""The CPU's own GPIO lines. These four need no coprocessor."""

from __future__ import annotations

from emu.cpu.machine import Machine, Operands
from emu.isa.semantics.registry import semantics


@semantics("ee.wr_mask_gpio_out")
def wr_mask_gpio_out(m: Machine, o: Operands) -> None:
    """Bits of GPIO_OUT that the mask selects = those of the value; low 8 bits of both."""
    value, mask = o.value.trunc(8), o.mask.trunc(8)
    m.GPIO_OUT = (m.GPIO_OUT & ~mask) | (value & mask)


@semantics("ee.set_bit_gpio_out")
def set_bit_gpio_out(m: Machine, o: Operands) -> None:
    """``GPIO_OUT |= mask``: a mask, not a bit number."""
    m.GPIO_OUT = m.GPIO_OUT | o.index("mask")


@semantics("ee.clr_bit_gpio_out")
def clr_bit_gpio_out(m: Machine, o: Operands) -> None:
    """``GPIO_OUT &= ~mask``."""
    m.GPIO_OUT = m.GPIO_OUT & ~o.index("mask")


@semantics("ee.get_gpio_in")
def get_gpio_in(m: Machine, o: Operands) -> None:
    """``au`` = the eight input lines, zero-extended."""
    o.au = m.GPIO_IN.zext(32)
