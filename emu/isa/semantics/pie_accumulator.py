"""Moving data into and out of ACCX, QACC and UA_STATE, and between q and address registers."""

from __future__ import annotations

from emu.cpu.machine import Machine, Operands
from emu.cpu.values import Bits
from emu.isa.semantics.pie_blocks import advance, pie, pointer
from emu.isa.semantics.pie_numbers import contested, large_count, saturate


@pie("mv.qr")
def mv_qr(m: Machine, o: Operands) -> None:
    """``qu = qs``."""
    o.qu = o.qs


@pie("ee.zero.q")
def zero_q(m: Machine, o: Operands) -> None:
    """``qa = 0``."""
    o.qa = m.const(128, 0)


@pie("ee.zero.accx")
def zero_accx(m: Machine, o: Operands) -> None:
    """``ACCX = 0``."""
    m.ACCX = m.const(40, 0)


@pie("ee.zero.qacc")
def zero_qacc(m: Machine, o: Operands) -> None:
    """``QACC_L = QACC_H = 0``."""
    m.QACC_L = m.const(160, 0)
    m.QACC_H = m.const(160, 0)


@pie("ee.ld.accx.ip")
def ld_accx(m: Machine, o: Operands) -> None:
    """``ACCX`` = low 40 bits of mem64[as]; as += imm."""
    m.ACCX = m.vload(64, pointer(o)).trunc(40)
    advance(o, "imm8")


@pie("ee.st.accx.ip")
def st_accx(m: Machine, o: Operands) -> None:
    """``mem64[as] = ACCX``; as += imm."""
    readings = {"zero_extended": lambda: m.ACCX.zext(64), "sign_extended": lambda: m.ACCX.sext(64)}
    m.vstore(64, pointer(o), contested(m, "st_accx_sign", readings))
    advance(o, "imm8")


@pie("ee.ld.qacc_l.l.128.ip", state="QACC_L")
@pie("ee.ld.qacc_h.l.128.ip", state="QACC_H")
def ld_qacc_low(m: Machine, o: Operands, state: str) -> None:
    """Bits 127..0 of the state from memory, the rest kept; as += imm."""
    low = m.vload(128, pointer(o))
    m.write_state(state, m.read_state(state).bits(159, 128).cat(low))
    advance(o, "imm16")


@pie("ee.ld.qacc_l.h.32.ip", state="QACC_L")
@pie("ee.ld.qacc_h.h.32.ip", state="QACC_H")
def ld_qacc_high(m: Machine, o: Operands, state: str) -> None:
    """Bits 159..128 of the state from memory, the rest kept; as += imm."""
    high = m.vload(32, pointer(o))
    m.write_state(state, high.cat(m.read_state(state).bits(127, 0)))
    advance(o, "imm4")


@pie("ee.st.qacc_l.l.128.ip", state="QACC_L")
@pie("ee.st.qacc_h.l.128.ip", state="QACC_H")
def st_qacc_low(m: Machine, o: Operands, state: str) -> None:
    """Store bits 127..0 of the state; as += imm."""
    m.vstore(128, pointer(o), m.read_state(state).bits(127, 0))
    advance(o, "imm16")


@pie("ee.st.qacc_l.h.32.ip", state="QACC_L")
@pie("ee.st.qacc_h.h.32.ip", state="QACC_H")
def st_qacc_high(m: Machine, o: Operands, state: str) -> None:
    """Store bits 159..128 of the state; as += imm."""
    m.vstore(32, pointer(o), m.read_state(state).bits(159, 128))
    advance(o, "imm4")


@pie("ee.ldqa.s8.128.ip", kind="s8", step="imm16")
@pie("ee.ldqa.u8.128.ip", kind="u8", step="imm16")
@pie("ee.ldqa.s16.128.ip", kind="s16", step="imm16")
@pie("ee.ldqa.u16.128.ip", kind="u16", step="imm16")
@pie("ee.ldqa.s8.128.xp", kind="s8", step="ad")
@pie("ee.ldqa.u8.128.xp", kind="u8", step="ad")
@pie("ee.ldqa.s16.128.xp", kind="s16", step="ad")
@pie("ee.ldqa.u16.128.xp", kind="u16", step="ad")
def ldqa(m: Machine, o: Operands, kind: str, step: str) -> None:
    """Lanes of QACC = lanes of mem128[as], extended; as += step."""
    _fill(m, m.vload(128, pointer(o)), kind)
    advance(o, step)


@pie("ee.mov.s8.qacc", kind="s8")
@pie("ee.mov.u8.qacc", kind="u8")
@pie("ee.mov.s16.qacc", kind="s16")
@pie("ee.mov.u16.qacc", kind="u16")
def mov_qacc(m: Machine, o: Operands, kind: str) -> None:
    """Lanes of QACC = lanes of qs, extended."""
    _fill(m, o.qs, kind)


def _fill(m: Machine, value: Bits, kind: str) -> None:
    """Lower half of the lanes to QACC_L, upper half to QACC_H; 8 bits become 20, 16 bits become 40."""
    lanes = value.split(int(kind[1:]))
    half, wide = lanes.count // 2, 160 // (lanes.count // 2)
    for number, state in enumerate(("QACC_L", "QACC_H")):
        part = lanes.shuffle(lanes, range(number * half, (number + 1) * half))
        m.write_state(state, (part.sext(wide) if kind.startswith("s") else part.zext(wide)).join())


@pie("ee.ld.ua_state.ip")
def ld_ua_state(m: Machine, o: Operands) -> None:
    """``UA_STATE = mem128[as]``; as += imm."""
    m.UA_STATE = m.vload(128, pointer(o))
    advance(o, "imm16")


@pie("ee.st.ua_state.ip")
def st_ua_state(m: Machine, o: Operands) -> None:
    """``mem128[as] = UA_STATE``; as += imm."""
    m.vstore(128, pointer(o), m.UA_STATE)
    advance(o, "imm16")


@pie("ee.movi.32.a")
def movi_32_a(m: Machine, o: Operands) -> None:
    """``au`` = word sel4 of qs."""
    o.au = o.qs.split(32).get(o.index("sel4"))


@pie("ee.movi.32.q")
def movi_32_q(m: Machine, o: Operands) -> None:
    """Word sel4 of qu = ``as``, the others kept."""
    o.qu = o.qu.split(32).put(o.index("sel4"), pointer(o)).join()


# --- shift, write back, saturate ----------------------------------------------------------------------
@pie("ee.srs.accx")
def srs_accx(m: Machine, o: Operands) -> None:
    """``ACCX >>= as`` (6 bits, toward minus infinity); ``au`` = the new ACCX saturated to 32 bits."""
    count = pointer(o) & 63
    shifted, result = _shift_and_narrow(m, o, m.ACCX, count, 32, "srs_count_40")
    m.ACCX = shifted
    o.au = result


@pie("ee.srcmb.s8.qacc", lane=8, name="srcmb8_count_20")
@pie("ee.srcmb.s16.qacc", lane=16, name="srcmb16_count_40")
def srcmb(m: Machine, o: Operands, lane: int, name: str) -> None:
    """Every lane of QACC >>= as (5 or 6 bits, toward minus infinity); qu = the new lanes saturated."""
    count = pointer(o) & (31 if lane == 8 else 63)
    halves = []
    for state in ("QACC_L", "QACC_H"):
        lanes = m.read_state(state).split(20 if lane == 8 else 40)
        shifted, result = _shift_and_narrow(m, o, lanes, count, lane, name)
        m.write_state(state, shifted.join())
        halves.append(result)
    o.qu = halves[0].shuffle(halves[1], range(128 // lane)).join()


def _shift_and_narrow(
    m: Machine, o: Operands, lanes: Bits, count: Bits, bits: int, name: str
) -> tuple[Bits, Bits]:
    """The shifted lanes, and the same saturated to ``bits`` bits; ``name`` is the fact about large counts."""
    wide = lanes.sext(32 if lanes.lane == 20 else 64)

    def shift(value: Bits) -> Bits:
        return large_count(m, name, value.ashr(count), count.uge(lanes.lane))

    floor = shift(wide)
    if o.index("sel2") == 0:
        return floor.trunc(lanes.lane), saturate(m, floor, bits).trunc(bits)
    half = m.const(wide.lane, 1).shl(count).lshr(1).broadcast(wide.count)
    rounded = shift(wide + half)
    clamped, clamped_rounded = floor.clamp_s(bits).trunc(bits), rounded.clamp_s(bits).trunc(bits)
    keep = {"ignored": lambda: floor, "round": lambda: rounded, "wrap": lambda: floor}
    give = {"ignored": lambda: clamped, "round": lambda: clamped_rounded, "wrap": lambda: floor.trunc(bits)}
    shifted, result = contested(m, "accumulator_sel2", keep), contested(m, "accumulator_sel2", give)
    m.note_saturation(floor.trunc(bits), result)
    return shifted.trunc(lanes.lane), result
