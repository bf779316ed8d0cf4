"""Loads, stores and transfers of f registers (ISA manual, Floating-Point Coprocessor Option); bits are
never changed.

The forms with p update the address register after the access, which uses its old value (T: role inout; as
QEMU).
"""

from __future__ import annotations

from emu.cpu.machine import Machine, Operands
from emu.isa.semantics.registry import semantics


@semantics("lsi")
def load(m: Machine, o: Operands) -> None:
    """``ft = mem32[as + imm]``."""
    o.ft = m.load(32, o.s + o.imm)


@semantics("lsip")
def load_update(m: Machine, o: Operands) -> None:
    """``ft = mem32[as]``, then ``as += imm``."""
    o.ft = m.load(32, o.s)
    o.s = o.s + o.imm


@semantics("lsx")
def load_indexed(m: Machine, o: Operands) -> None:
    """``fr = mem32[as + at]``."""
    o.fr = m.load(32, o.s + o.t)


@semantics("lsxp")
def load_indexed_update(m: Machine, o: Operands) -> None:
    """``fr = mem32[as]``, then ``as += at``."""
    o.fr = m.load(32, o.s)
    o.s = o.s + o.t


@semantics("ssi")
def store(m: Machine, o: Operands) -> None:
    """``mem32[as + imm] = ft``."""
    m.store(32, o.s + o.imm, o.ft)


@semantics("ssip")
def store_update(m: Machine, o: Operands) -> None:
    """``mem32[as] = ft``, then ``as += imm``."""
    m.store(32, o.s, o.ft)
    o.s = o.s + o.imm


@semantics("ssx")
def store_indexed(m: Machine, o: Operands) -> None:
    """``mem32[as + at] = fr``."""
    m.store(32, o.s + o.t, o.fr)


@semantics("ssxp")
def store_indexed_update(m: Machine, o: Operands) -> None:
    """``mem32[as] = fr``, then ``as += at``."""
    m.store(32, o.s, o.fr)
    o.s = o.s + o.t


@semantics("rfr")
def to_address_register(m: Machine, o: Operands) -> None:
    """``ar = fs``."""
    o.r = o.fs


@semantics("wfr")
def from_address_register(m: Machine, o: Operands) -> None:
    """``fr = as``."""
    o.fr = o.s
