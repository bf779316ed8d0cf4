"""Loads and stores without arithmetic. Addresses lose their low bits, pointers keep them."""

from __future__ import annotations

from emu.cpu.machine import Machine, Operands
from emu.cpu.values import Bits
from emu.isa.semantics.pie_blocks import (
    advance,
    load_broadcast,
    load_q,
    pie,
    pointer,
    store_q,
)
from emu.isa.semantics.pie_numbers import contested


@pie("ee.vld.128.ip", step="imm16")
@pie("ee.vld.128.xp", step="ad")
def vld_128(m: Machine, o: Operands, step: str) -> None:
    """``qu = mem128[as]``; as += step."""
    load_q(m, o, step)


@pie("ee.vst.128.ip", step="imm16")
@pie("ee.vst.128.xp", step="ad")
def vst_128(m: Machine, o: Operands, step: str) -> None:
    """``mem128[as] = qv``; as += step."""
    store_q(m, o, step)


@pie("ee.ld.128.usar.ip", step="imm16")
@pie("ee.ld.128.usar.xp", step="ad")
def ld_128_usar(m: Machine, o: Operands, step: str) -> None:
    """``qu = mem128[as]``; SAR_BYTE = the address bits that the load drops; as += step."""
    m.SAR_BYTE = pointer(o).trunc(4)
    load_q(m, o, step)


@pie("ee.vld.l.64.ip", half=0, step="imm8")
@pie("ee.vld.l.64.xp", half=0, step="ad")
@pie("ee.vld.h.64.ip", half=1, step="imm8")
@pie("ee.vld.h.64.xp", half=1, step="ad")
def vld_64(m: Machine, o: Operands, half: int, step: str) -> None:
    """One half of ``qu = mem64[as]``, the other half kept; as += step."""
    o.qu = o.qu.split(64).put(half, m.vload(64, pointer(o))).join()
    advance(o, step)


@pie("ee.vst.l.64.ip", half=0, step="imm8")
@pie("ee.vst.l.64.xp", half=0, step="ad")
@pie("ee.vst.h.64.ip", half=1, step="imm8")
@pie("ee.vst.h.64.xp", half=1, step="ad")
def vst_64(m: Machine, o: Operands, half: int, step: str) -> None:
    """``mem64[as]`` = one half of qv; as += step."""
    m.vstore(64, pointer(o), o.qv.split(64).get(half))
    advance(o, step)


@pie("ld.qr")
def ld_qr(m: Machine, o: Operands) -> None:
    """``qu = mem128[as + imm]``."""
    o.qu = m.vload(128, pointer(o) + o.imm)


@pie("st.qr")
def st_qr(m: Machine, o: Operands) -> None:
    """``mem128[as + imm] = qv``."""
    m.vstore(128, pointer(o) + o.imm, o.qv)


@pie("ee.vldbc.8", lane=8)
@pie("ee.vldbc.16", lane=16)
@pie("ee.vldbc.32", lane=32)
def vldbc(m: Machine, o: Operands, lane: int) -> None:
    """One item in every lane of qu; as unchanged."""
    o.qu = m.vload(lane, pointer(o)).broadcast(128 // lane).join()


@pie("ee.vldbc.8.ip", lane=8, step="imm1")
@pie("ee.vldbc.16.ip", lane=16, step="imm2")
@pie("ee.vldbc.32.ip", lane=32, step="imm4")
@pie("ee.vldbc.8.xp", lane=8, step="ad")
@pie("ee.vldbc.16.xp", lane=16, step="ad")
@pie("ee.vldbc.32.xp", lane=32, step="ad")
def vldbc_step(m: Machine, o: Operands, lane: int, step: str) -> None:
    """One item in every lane of qu; as += step."""
    load_broadcast(m, o, lane, step)


@pie("ee.vldhbc.16.incp")
def vldhbc(m: Machine, o: Operands) -> None:
    """Each of 8 halfwords twice: the lower four fill qu, the upper four qu1; as += 16."""
    v = m.vload(128, pointer(o)).split(16)
    o.qu = v.shuffle(v, [i // 2 for i in range(8)]).join()
    o.qu1 = v.shuffle(v, [4 + i // 2 for i in range(8)]).join()
    advance(o, 16)


@pie("ee.ldxq.32")
def ldxq(m: Machine, o: Operands) -> None:
    """Word sel4 of ``qu = mem32[as + 4 * lane sel8 of qs]``, the other words kept."""
    word = m.vload(32, _indexed(m, o))
    o.qu = o.qu.split(32).put(o.index("sel4"), word).join()


@pie("ee.stxq.32")
def stxq(m: Machine, o: Operands) -> None:
    """``mem32[as + 4 * lane sel8 of qs]`` = word sel4 of qv."""
    m.vstore(32, _indexed(m, o), o.qv.split(32).get(o.index("sel4")))


def _indexed(m: Machine, o: Operands) -> Bits:
    lane = o.qs.split(16).get(o.index("sel8"))
    index = contested(m, "xq_index", {"unsigned": lambda: lane.zext(32), "signed": lambda: lane.sext(32)})
    return pointer(o) + index.shl(2)


# --- pairs and quads of f registers -------------------------------------------------------------------
@pie("ee.ldf.64.ip", count=2, step="imm8")
@pie("ee.ldf.64.xp", count=2, step="ad")
@pie("ee.ldf.128.ip", count=4, step="imm16f")
@pie("ee.ldf.128.xp", count=4, step="ad")
def ldf(m: Machine, o: Operands, count: int, step: str) -> None:
    """fu0, fu1 (fu2, fu3) = consecutive words at as, fu0 from the lowest address; as += step."""
    _note_coprocessor(m)
    words = m.vload(32 * count, pointer(o)).split(32)
    for number in range(count):
        o.write(f"fu{number}", words.get(number))
    advance(o, step)


@pie("ee.stf.64.ip", count=2, step="imm8")
@pie("ee.stf.64.xp", count=2, step="ad")
@pie("ee.stf.128.ip", count=4, step="imm16f")
@pie("ee.stf.128.xp", count=4, step="ad")
def stf(m: Machine, o: Operands, count: int, step: str) -> None:
    """Consecutive words at as = fv0, fv1 (fv2, fv3), fv0 at the lowest address; as += step."""
    _note_coprocessor(m)
    words = m.const(32, 0).broadcast(count)
    for number in range(count):
        words = words.put(number, o.read(f"fv{number}"))
    m.vstore(32 * count, pointer(o), words.join())
    advance(o, step)


def _note_coprocessor(m: Machine) -> None:
    """The engine checks the enable bit before the instruction; here only whether the other one differs."""
    if m.watch:
        m.touch_contested("float_pair_coprocessor", m.CPENABLE.bits(0, 0).ne(m.CPENABLE.bits(3, 3)))
