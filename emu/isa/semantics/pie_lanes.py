"""Lane arithmetic: add, subtract, multiply, compare, minimum, maximum, rectifiers, and 128-bit logic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emu.cpu.machine import Machine, Operands
from emu.cpu.values import Bits
from emu.isa.semantics.pie_blocks import SUFFIXES, pie
from emu.isa.semantics.pie_numbers import cleared, contested, large_count, saturate

Operation = Callable[[Machine, Bits, Bits, bool], Bits]
"""(machine, lanes of qx, lanes of qy, lanes are signed) to lanes of the result."""

_FUSED = ("", ".ld.incp", ".st.incp")


def _lanewise(
    family: str, *kinds: str, result: str = "qa", fused: bool = True
) -> Callable[[Operation], Operation]:
    """Register an operation for lanes of each kind ("s8", "u16", ...), also with a fused load and store."""

    def register(operation: Operation) -> Operation:
        for kind in kinds:
            for suffix in _FUSED if fused else ("",):
                parameters: dict[str, Any] = {"kind": kind, "suffix": suffix, "result": result}
                pie(f"{family}.{kind}{suffix}", operation=operation, **parameters)(_apply)
        return operation

    return register


def _apply(m: Machine, o: Operands, operation: Operation, kind: str, suffix: str, result: str) -> None:
    width = int(kind[1:])
    lanes = operation(m, o.qx.split(width), o.qy.split(width), kind.startswith("s"))
    o.write(result, lanes.join())
    SUFFIXES[suffix](m, o, width)


@_lanewise("ee.vadds", "s8", "s16", "s32")
def vadds(m: Machine, x: Bits, y: Bits, signed: bool) -> Bits:
    """Saturating sum."""
    return _saturated(
        m, x.sext(2 * x.lane) + y.sext(2 * x.lane), x.lane, "" if x.lane == 8 else "lane_lower_clamp"
    )


@_lanewise("ee.vsubs", "s8", "s16", "s32")
def vsubs(m: Machine, x: Bits, y: Bits, signed: bool) -> Bits:
    """Saturating difference qx - qy."""
    return _saturated(m, x.sext(2 * x.lane) - y.sext(2 * x.lane), x.lane, "lane_lower_clamp")


def _saturated(m: Machine, exact: Bits, lane: int, lower: str) -> Bits:
    return saturate(m, exact, lane, lower).trunc(lane)


@_lanewise("ee.vmul", "s8", "u8", "s16", "u16", result="qz")
def vmul(m: Machine, x: Bits, y: Bits, signed: bool) -> Bits:
    """Low half of the product shifted right by SAR; neither rounds nor saturates."""
    double = 2 * x.lane
    if not signed:
        return (x.zext(double) * y.zext(double)).lshr(m.SAR).trunc(x.lane)
    shifted = (x.sext(double) * y.sext(double)).ashr(m.SAR).trunc(x.lane)
    if x.lane == 8:
        shifted = large_count(m, "vmul_count_16", shifted, m.SAR.uge(16) & m.SAR.ult(32))
    return _counts_from_32(m, "vmul_count_32", shifted, 32 if x.lane == 8 else None)


def _counts_from_32(m: Machine, name: str, shifted: Bits, measured: int | None) -> Bits:
    """SAR of 32 and more; a count where a chip was seen to give 0 does so under every reading."""
    filled = shifted if measured is None else cleared(shifted, m.SAR.eq(measured))
    return contested(m, name, {"zero": lambda: cleared(shifted, m.SAR.uge(32)), "sign": lambda: filled})


@_lanewise("ee.vmax", "s8", "s16", "s32")
def vmax(m: Machine, x: Bits, y: Bits, signed: bool) -> Bits:
    """Larger lane."""
    return x.smax(y)


@_lanewise("ee.vmin", "s8", "s16", "s32")
def vmin(m: Machine, x: Bits, y: Bits, signed: bool) -> Bits:
    """Smaller lane."""
    return x.smin(y)


@_lanewise("ee.vcmp.eq", "s8", "s16", "s32", fused=False)
def vcmp_eq(m: Machine, x: Bits, y: Bits, signed: bool) -> Bits:
    """All ones where equal."""
    return x.eq(y).sext(x.lane)


@_lanewise("ee.vcmp.lt", "s8", "s16", "s32", fused=False)
def vcmp_lt(m: Machine, x: Bits, y: Bits, signed: bool) -> Bits:
    """All ones where qx < qy."""
    return x.slt(y).sext(x.lane)


@_lanewise("ee.vcmp.gt", "s8", "s16", "s32", fused=False)
def vcmp_gt(m: Machine, x: Bits, y: Bits, signed: bool) -> Bits:
    """All ones where qx > qy."""
    return y.slt(x).sext(x.lane)


# --- 128-bit logic --------------------------------------------------------------------------------------
@pie("ee.andq")
def andq(m: Machine, o: Operands) -> None:
    """``qa = qx & qy``; in halves, so that the host keeps it in a vector register."""
    o.qa = (o.qx.split(64) & o.qy.split(64)).join()


@pie("ee.orq")
def orq(m: Machine, o: Operands) -> None:
    """``qa = qx | qy``."""
    o.qa = (o.qx.split(64) | o.qy.split(64)).join()


@pie("ee.xorq")
def xorq(m: Machine, o: Operands) -> None:
    """``qa = qx ^ qy``."""
    o.qa = (o.qx.split(64) ^ o.qy.split(64)).join()


@pie("ee.notq")
def notq(m: Machine, o: Operands) -> None:
    """``qa = ~qx``."""
    o.qa = (~o.qx.split(64)).join()


# --- rectifiers -------------------------------------------------------------------------------------------
@pie("ee.vrelu.s8", lane=8)
@pie("ee.vrelu.s16", lane=16)
def vrelu(m: Machine, o: Operands, lane: int) -> None:
    """Lanes <= 0 become ``(lane * ax) >> ay``, others stay; low bits of ax, count in 5 or 6 bits of ay."""
    x, wide = o.qs.split(lane), 4 * lane
    low, negative = o.ax.trunc(lane), o.qs.split(lane).smin(0).sext(4 * lane)

    def times(factor: Bits) -> Bits:
        return negative * factor.broadcast(x.count)

    readings = {
        "low_signed": lambda: times(low.sext(wide)),
        "low_unsigned": lambda: times(low.zext(wide)),
        "wide": lambda: times(o.ax.trunc(2 * lane).sext(wide)),
    }
    o.qs = _rectified(m, x, contested(m, "relu_multiplier", readings), o.ay).join()


@pie("ee.vprelu.s8", lane=8)
@pie("ee.vprelu.s16", lane=16)
def vprelu(m: Machine, o: Operands, lane: int) -> None:
    """Lanes <= 0 of qx become ``(qx * qy) >> ay``, others stay; count in 5 (8-bit lanes) or 6 bits of ay."""
    x, double = o.qx.split(lane), 2 * lane
    products = x.smin(0).sext(double) * o.qy.split(lane).sext(double)
    o.qz = _rectified(m, x, products, o.ay).join()


def _rectified(m: Machine, x: Bits, products: Bits, ay: Bits) -> Bits:
    """``x`` where positive, else the shifted product (which is 0 in the other lanes)."""
    double = 2 * x.lane
    count = ay & (2 * double - 1)
    shifted = products.ashr(count).trunc(x.lane)
    shifted = large_count(m, f"relu_count_{double}", shifted, count.uge(double))
    return x.slt(1).select(shifted, x)
