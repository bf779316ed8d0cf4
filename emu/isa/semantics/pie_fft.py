"""FFT helpers: butterflies, add-multiply-subtract, bit reversal and reordering stores."""

from __future__ import annotations

from collections.abc import Iterable

from emu.cpu.machine import Machine, Operands
from emu.cpu.values import Bits
from emu.isa.semantics.pie_blocks import advance, funnel_bytes, load_q, pie, pointer
from emu.isa.semantics.pie_complex import narrow, put_complex
from emu.isa.semantics.pie_numbers import contested

_FIRST = ([0, 1, 2, 3, 8, 9, 10, 11], [0, 1, 4, 5, 8, 9, 12, 13])
_SECOND = ([4, 5, 6, 7, 12, 13, 14, 15], [2, 3, 6, 7, 10, 11, 14, 15])
"""Lanes of qx (0..7) and qy (8..15) that a butterfly adds and subtracts, by sel2."""


@pie("ee.fft.r2bf.s16")
def r2bf(m: Machine, o: Operands) -> None:
    """Radix-2 butterfly over blocks of 4 (sel2 0) or 2 lanes: sums and differences, wrapped to 16 bits."""
    x, y, select = o.qx.split(16), o.qy.split(16), o.index("sel2")
    first, second = x.shuffle(y, _FIRST[select]), x.shuffle(y, _SECOND[select])
    plus, minus = first + second, first - second
    o.qa0 = plus.shuffle(minus, [0, 1, 2, 3, 8, 9, 10, 11]).join()
    o.qa1 = plus.shuffle(minus, [4, 5, 6, 7, 12, 13, 14, 15]).join()


@pie("ee.fft.r2bf.s16.st.incp")
def r2bf_st(m: Machine, o: Operands) -> None:
    """``qa0 = qx - qy`` wrapped; the halfwords ``(qx + qy) >> sar4`` are stored at as; as += 16."""
    x, y, shift = o.qx.split(16), o.qy.split(16), o.index("sar4")
    readings = {
        "wide": lambda: (x.sext(32) + y.sext(32)).ashr(shift).trunc(16),
        "wrap16": lambda: (x + y).ashr(shift),
    }
    o.qa0 = (x - y).join()
    m.vstore(128, pointer(o), contested(m, "r2bf_sum_width", readings).join())
    advance(o, 16)


# --- add, multiply, subtract ----------------------------------------------------------------------------
def _ams(m: Machine, o: Operands, lane: int) -> tuple[Bits, Bits, Bits, Bits]:
    """P, R, P', R' (16 bits each) of the complex numbers at ``lane``: with twiddle factor w = qm[lane],
    sel2 = 0 multiplies d + is by w, sel2 = 1 by the conjugate of w."""
    xr, xi, yr, yi, wr, wi = (
        value.split(16).get(number).sext(64) for value in (o.qx, o.qy, o.qm) for number in (lane, lane + 1)
    )
    d, s = _factor(m, xr - yr), _factor(m, xi + yi)
    if o.index("sel2") == 0:
        u, v = narrow(m, d * wr - s * wi), narrow(m, d * wi + s * wr)
    else:
        u, v = narrow(m, s * wi + d * wr), narrow(m, s * wr - d * wi)
    p, r = (xr + yr).trunc(16), (xi - yi).trunc(16)
    return p + u, r + v, p - u, v - r


def _factor(m: Machine, exact: Bits) -> Bits:
    readings = {
        "wide": lambda: exact,
        "wrap16": lambda: exact.trunc(16).sext(64),
        "saturate16": lambda: exact.clamp_s(16),
    }
    return contested(m, "ams_sum_width", readings)


def _ams_to_registers(m: Machine, o: Operands, lane: int) -> None:
    """P, R to lanes ``lane``, ``lane + 1`` of qz; P', R' to those of qz1; the other lanes kept."""
    p, r, p1, r1 = _ams(m, o, lane)
    o.qz = put_complex(o.qz.split(16), lane, p, r).join()
    o.qz1 = put_complex(o.qz1.split(16), lane, p1, r1).join()


@pie("ee.fft.ams.s16.ld.incp")
def ams_ld(m: Machine, o: Operands) -> None:
    """Lanes 2, 3; ``qu = mem128[as]``; as += 16."""
    _ams_to_registers(m, o, 2)
    load_q(m, o, 16)


@pie("ee.fft.ams.s16.ld.incp.uaup")
def ams_ld_uaup(m: Machine, o: Operands) -> None:
    """Lanes 0, 1; v = mem128[as]; qu = v:UA_STATE from byte SAR_BYTE on; UA_STATE = v; as += 16."""
    _ams_to_registers(m, o, 0)
    loaded = m.vload(128, pointer(o))
    o.qu = funnel_bytes(m, loaded, m.UA_STATE, m.SAR_BYTE)
    m.UA_STATE = loaded
    advance(o, 16)


@pie("ee.fft.ams.s16.ld.r32.decp")
def ams_ld_r32(m: Machine, o: Operands) -> None:
    """Lanes 4, 5; qu = mem128[as] with its words in reverse order; as -= 16."""
    _ams_to_registers(m, o, 4)
    o.qu = _reversed_words(m.vload(128, pointer(o))).join()
    advance(o, -16)


@pie("ee.fft.ams.s16.st.incp")
def ams_st(m: Machine, o: Operands) -> None:
    """Lanes 6, 7: P', R' to qz1, R:P to as0. The old as0 and six halfwords of qv are stored, halved for
    sel2 = 0; as += 16."""
    p, r, p1, r1 = _ams(m, o, 6)
    words = o.qv.split(32)
    block = words.shuffle(words, [0, 0, 1, 2]).put(0, o.as0).split(16)
    m.vstore(128, pointer(o), (block if o.index("sel2") else block.ashr(1)).join())
    o.qz1 = put_complex(o.qz1.split(16), 6, p1, r1).join()
    o.as0 = r.cat(p)
    advance(o, 16)


# --- reordering --------------------------------------------------------------------------------------------
def _reversed_words(value: Bits) -> Bits:
    words = value.split(32)
    return words.shuffle(words, [3, 2, 1, 0])


@pie("ee.fft.vst.r32.decp")
def fft_vst_r32(m: Machine, o: Operands) -> None:
    """Store the words of qv in reverse order, each halfword shifted right by sar2; as -= 16."""
    words, shift = _reversed_words(o.qv), o.index("sar2")
    readings = {
        "arithmetic_half": lambda: words.split(16).ashr(shift).join(),
        "logical_word": lambda: words.lshr(shift).join(),
    }
    m.vstore(128, pointer(o), contested(m, "fft_vst_shift", readings))
    advance(o, -16)


@pie("ee.bitrev")
def bitrev(m: Machine, o: Operands) -> None:
    """Halfword i = the larger of ax + i and its bits reversed, both in FFT_BIT_WIDTH bits; ax += 8."""
    width = _bitrev_width(m)
    numbers = o.ax.trunc(16).broadcast(8) + _halfwords(m, range(8))
    x = numbers & (m.const(16, 1).shl(width) - 1).broadcast(8)
    larger = x.umax(x.reverse().lshr(-width.zext(16) + 16))
    lanes_0_to_5 = larger & _halfwords(m, [0xFFFF] * 6 + [0] * 2)
    readings = {
        "zero": lambda: width.eq(3).select(lanes_0_to_5, larger),
        "computed": lambda: larger,
    }
    o.qa = contested(m, "bitrev_width_3", readings).join()
    o.ax = o.ax + 8


def _bitrev_width(m: Machine) -> Bits:
    width = m.FFT_BIT_WIDTH
    readings = {
        "zero_is_8": lambda: width.eq(0).select(m.const(4, 8), width),
        "as_it_stands": lambda: width,
        "plus_3": lambda: (width & 7) + 3,
    }
    return contested(m, "bitrev_width", readings)


def _halfwords(m: Machine, values: Iterable[int]) -> Bits:
    return m.const(128, sum(value << 16 * lane for lane, value in enumerate(values))).split(16)
