"""Multiply-accumulate into ACCX and QACC: EE.VMULAS.*, EE.VSMULAS.* with all their fused loads."""

from __future__ import annotations

from emu.cpu.machine import Machine, Operands
from emu.cpu.values import Bits
from emu.isa.semantics.pie_blocks import DOTS, SUFFIXES, mac_accx, mac_qacc, pie

_KINDS = ("s8", "u8", "s16", "u16")
_FUSED = ("", ".ld.ip", ".ld.xp", ".ld.ip.qup", ".ld.xp.qup")
_BROADCAST = (".ldbc.incp", ".ldbc.incp.qup")
_HALVES = ("QACC_L", "QACC_H")


def multiply_into_accx(m: Machine, o: Operands, kind: str, suffix: str) -> None:
    """``ACCX`` += the dot product of all lanes of qx and qy, in full precision and clamped once."""
    mac_accx(m, DOTS[kind](m, o.qx, o.qy), _is_signed(kind))
    SUFFIXES[suffix](m, o, _width(kind))


def multiply_into_qacc(m: Machine, o: Operands, kind: str, suffix: str) -> None:
    """Every lane of QACC += the product of the lanes of qx and qy, clamped to the lane (20 or 40 bits)."""
    _accumulate(m, o.qx.split(_width(kind)), o.qy.split(_width(kind)), _is_signed(kind))
    SUFFIXES[suffix](m, o, _width(kind))


def multiply_by_lane(m: Machine, o: Operands, kind: str, suffix: str, select: str) -> None:
    """Every lane of QACC += the lane of qx times one lane of qy."""
    width = _width(kind)
    one = o.qy.split(width).get(o.index(select)).broadcast(128 // width)
    _accumulate(m, o.qx.split(width), one, True)
    SUFFIXES[suffix](m, o, width)


def _accumulate(m: Machine, x: Bits, y: Bits, signed: bool) -> None:
    half = x.count // 2
    for number, state in enumerate(_HALVES):
        lanes = range(number * half, (number + 1) * half)
        products = _products(x.shuffle(x, lanes), y.shuffle(y, lanes), signed)
        mac_qacc(m, state, products, 20 if x.lane == 8 else 40, signed)


def _products(x: Bits, y: Bits, signed: bool) -> Bits:
    """Products of bytes in 32-bit lanes, of halfwords in 64; multiplied in the width that just holds them."""
    double = 2 * x.lane
    if signed:
        return (x.sext(double) * y.sext(double)).sext(2 * double)
    return (x.zext(double) * y.zext(double)).zext(2 * double)


def _is_signed(kind: str) -> bool:
    return kind.startswith("s")


def _width(kind: str) -> int:
    return int(kind[1:])


def _register() -> None:
    for kind in _KINDS:
        for suffix in _FUSED:
            pie(f"ee.vmulas.{kind}.accx{suffix}", kind=kind, suffix=suffix)(multiply_into_accx)
        for suffix in _FUSED + _BROADCAST:
            pie(f"ee.vmulas.{kind}.qacc{suffix}", kind=kind, suffix=suffix)(multiply_into_qacc)
    for kind, select in (("s8", "sel16"), ("s16", "sel8")):
        for suffix in ("", ".ld.incp"):
            name = f"ee.vsmulas.{kind}.qacc{suffix}"
            pie(name, kind=kind, suffix=suffix, select=select)(multiply_by_lane)


_register()
