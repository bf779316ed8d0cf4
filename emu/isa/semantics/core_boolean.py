"""Boolean registers b0..b15 (ISA manual, Boolean Option): one bit each, groups of 4 and 8 are read
together.
"""

from __future__ import annotations

from collections.abc import Callable

from emu.cpu.machine import Machine, Operands
from emu.cpu.values import Bits
from emu.isa.semantics.registry import semantics


@semantics("andb", combine=lambda s, t: s & t)
@semantics("andbc", combine=lambda s, t: s & ~t)
@semantics("orb", combine=lambda s, t: s | t)
@semantics("orbc", combine=lambda s, t: s | ~t)
@semantics("xorb", combine=lambda s, t: s ^ t)
def combine_booleans(m: Machine, o: Operands, combine: Callable[[Bits, Bits], Bits]) -> None:
    """``br = combine(bs, bt)``."""
    o.br = combine(o.bs, o.bt)


@semantics("any4", "any8")
def any_of(m: Machine, o: Operands) -> None:
    """1 if one of the 4 or 8 booleans from ``bs`` on is set."""
    o.bt = o.bs.ne(0)


@semantics("all4", "all8")
def all_of(m: Machine, o: Operands) -> None:
    """1 if all 4 or 8 booleans from ``bs`` on are set."""
    o.bt = o.bs.eq(-1)


@semantics("bt", wanted=1)
@semantics("bf", wanted=0)
def branch_boolean(m: Machine, o: Operands, wanted: int) -> None:
    """Branch if ``bs`` is set (bt) or clear (bf)."""
    m.branch(o.bs.eq(wanted), o.target)


@semantics("movt", wanted=1)
@semantics("movf", wanted=0)
def move_boolean(m: Machine, o: Operands, wanted: int) -> None:
    """``ar = as`` if ``bt`` is set (movt) or clear (movf)."""
    o.r = o.bt.eq(wanted).select(o.s, o.r)
