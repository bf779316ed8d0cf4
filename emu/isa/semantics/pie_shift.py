"""Byte shifts across two registers, 32-bit lane shifts, zip and unzip."""

from __future__ import annotations

from collections.abc import Callable

from emu.cpu.machine import Machine, Operands
from emu.cpu.values import Bits
from emu.isa.semantics.pie_blocks import advance, funnel_bytes, load_q, pie, pointer, update_pair
from emu.isa.semantics.pie_numbers import cleared, contested


@pie("ee.src.q")
def src_q(m: Machine, o: Operands) -> None:
    """``qa`` = 16 bytes of qs1:qs0 from byte SAR_BYTE on."""
    o.qa = funnel_bytes(m, o.qs1, o.qs0, m.SAR_BYTE)


@pie("ee.src.q.qup")
def src_q_qup(m: Machine, o: Operands) -> None:
    """As ``ee.src.q``, and qs0 = the old qs1."""
    o.qa = funnel_bytes(m, o.qs1, o.qs0, m.SAR_BYTE)
    o.qs0 = o.qs1


@pie("ee.src.q.ld.ip", step="imm16")
@pie("ee.src.q.ld.xp", step="ad")
def src_q_ld(m: Machine, o: Operands, step: str) -> None:
    """``qs0`` = 16 bytes of qs1:qs0 from byte SAR_BYTE on; ``qu = mem128[as]``; as += step."""
    update_pair(m, o)
    load_q(m, o, step)


@pie("ee.srcq.128.st.incp")
def srcq_st(m: Machine, o: Operands) -> None:
    """``mem128[as]`` = 16 bytes of qs1:qs0 from byte SAR_BYTE on; as += 16."""
    m.vstore(128, pointer(o), funnel_bytes(m, o.qs1, o.qs0, m.SAR_BYTE))
    advance(o, 16)


# --- both registers, by an immediate or by the pointer's low bits ------------------------------------------
@pie("ee.slci.2q")
def slci(m: Machine, o: Operands) -> None:
    """``qs1:qs0 <<= 8 * (sar16 + 1)``, zeros enter at the bottom."""
    _pair_left(m, o, _fixed_window(15 - o.index("sar16")))


@pie("ee.srci.2q")
def srci(m: Machine, o: Operands) -> None:
    """``qs1:qs0 >>= 8 * (sar16 + 1)``, zeros enter at the top."""
    _pair_right(m, o, _fixed_window(o.index("sar16") + 1))


@pie("ee.slcxxp.2q")
def slcxxp(m: Machine, o: Operands) -> None:
    """As ``ee.slci.2q`` with the count ``(as & 15) + 1``; as += ad."""
    rest = ~pointer(o).trunc(4)
    _pair_left(m, o, lambda high, low: funnel_bytes(m, high, low, rest))
    advance(o, "ad")


@pie("ee.srcxxp.2q")
def srcxxp(m: Machine, o: Operands) -> None:
    """As ``ee.srci.2q`` with the count ``(as & 15) + 1``; as += ad."""
    count = pointer(o).trunc(4)
    by_one, zero = _fixed_window(1), m.const(128, 0)
    high, low = by_one(zero, o.qs1), by_one(o.qs1, o.qs0)
    o.qs1 = funnel_bytes(m, zero, high, count)
    o.qs0 = funnel_bytes(m, high, low, count)
    advance(o, "ad")


Window = Callable[[Bits, Bits], Bits]
"""(high, low) to 16 bytes of high:low from some byte on."""


def _fixed_window(start: int) -> Window:
    def window(high: Bits, low: Bits) -> Bits:
        return low.split(8).shuffle(high.split(8), range(start, start + 16)).join()

    return window


def _pair_left(m: Machine, o: Operands, window: Window) -> None:
    """A left shift by n bytes: ``window`` starts 16 - n bytes above its low register."""
    high, low = o.qs1, o.qs0
    o.qs1 = window(high, low)
    o.qs0 = window(low, m.const(128, 0))


def _pair_right(m: Machine, o: Operands, window: Window) -> None:
    high, low = o.qs1, o.qs0
    o.qs1 = window(m.const(128, 0), high)
    o.qs0 = window(high, low)


# --- 32-bit lanes by SAR ---------------------------------------------------------------------------------
@pie("ee.vsr.32")
def vsr_32(m: Machine, o: Operands) -> None:
    """Arithmetic right shift of words by SAR; a chip gives 0 at a count of 32, for negative words too."""
    shifted = o.qs.split(32).ashr(m.SAR)
    readings = {
        "zero": lambda: cleared(shifted, m.SAR.uge(32)),
        "sign": lambda: cleared(shifted, m.SAR.eq(32)),
    }
    o.qa = contested(m, "vsr_count_33", readings).join()


@pie("ee.vsl.32")
def vsl_32(m: Machine, o: Operands) -> None:
    """Left shift of words by SAR. A chip saturates at a count of 32; below, bits above 31 are dropped."""
    words, short = o.qs.split(32), m.SAR.ult(32)
    shifted = words.shl(m.SAR)
    limit = words.ashr(31) ^ 0x7FFFFFFF
    full = shifted.ashr(m.SAR).eq(words).select(shifted, limit)
    below = {"truncate": lambda: short.select(shifted, full), "saturate": lambda: full}
    result = contested(m, "vsl_overflow", below)
    above = {"saturate": lambda: result, "zero": lambda: cleared(result, m.SAR.uge(33))}
    result = contested(m, "vsl_count_33", above)
    m.note_saturation(shifted, result)
    o.qa = result.join()


# --- zip ---------------------------------------------------------------------------------------------------
@pie("ee.vzip.8", lane=8)
@pie("ee.vzip.16", lane=16)
@pie("ee.vzip.32", lane=32)
def vzip(m: Machine, o: Operands, lane: int) -> None:
    """Lanes of qs0 and qs1 in turn: the first half to qs0, the second half to qs1."""
    a, b = o.qs0.split(lane), o.qs1.split(lane)
    order = [i // 2 + i % 2 * a.count for i in range(2 * a.count)]
    o.qs0 = a.shuffle(b, order[: a.count]).join()
    o.qs1 = a.shuffle(b, order[a.count :]).join()


@pie("ee.vunzip.8", lane=8)
@pie("ee.vunzip.16", lane=16)
@pie("ee.vunzip.32", lane=32)
def vunzip(m: Machine, o: Operands, lane: int) -> None:
    """Even lanes of qs0 then of qs1 to qs0; odd lanes to qs1."""
    a, b = o.qs0.split(lane), o.qs1.split(lane)
    o.qs0 = a.shuffle(b, range(0, 2 * a.count, 2)).join()
    o.qs1 = a.shuffle(b, range(1, 2 * a.count, 2)).join()
