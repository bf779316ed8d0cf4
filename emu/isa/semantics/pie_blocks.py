"""Building blocks of the vector instructions: registration, fused loads and stores, sums of products."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import combinations
from typing import Any

from emu.cpu.machine import Cause, Machine, Operands
from emu.cpu.values import Bits
from emu.isa.semantics.pie_numbers import saturate, saturate_unsigned
from emu.isa.semantics.registry import Effect, block, semantics
from emu.isa.table import by_key


# --- registration -----------------------------------------------------------------------------------
def pie(*mnemonics: str, **parameters: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Like ``semantics``, for instructions whose two results an encoding can send to one register."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        for mnemonic in mnemonics:
            semantics(mnemonic)(_guarded(mnemonic, function, parameters))
        return function

    return register


def _guarded(mnemonic: str, function: Callable[..., None], parameters: dict[str, Any]) -> Effect:
    def effect(m: Machine, o: Operands) -> None:
        if _has_single_destinations(m, o, mnemonic):
            function(m, o, **parameters)

    return effect


def _has_single_destinations(m: Machine, o: Operands, mnemonic: str) -> bool:
    """False if two results go to one register and the chosen reading makes that an illegal instruction."""
    if all(o.index(a) != o.index(b) for a, b in _destination_pairs(mnemonic)):
        return True
    m.touch_contested("same_destination")
    if m.reading("same_destination") == "last_write":
        return True
    m.raise_always(Cause.ILLEGAL_INSTRUCTION)
    return False


@cache
def _destination_pairs(mnemonic: str) -> tuple[tuple[str, str], ...]:
    written = [operand for operand in by_key()[mnemonic].operands if operand.is_written]
    pairs = combinations(written, 2)
    return tuple((a.name, b.name) for a, b in pairs if a.kind.cls == b.kind.cls)


# --- memory -----------------------------------------------------------------------------------------
def pointer(o: Operands) -> Bits:
    """The base register; its name is a word of Python's grammar."""
    return o.read("as")


def advance(o: Operands, step: str | int) -> None:
    """Add a number of bytes, or the operand of that name, to the base register."""
    o.write("as", pointer(o) + (o.read(step) if isinstance(step, str) else step))


def load_q(m: Machine, o: Operands, step: str | int) -> None:
    """``qu = 16 bytes at as``, then move the pointer."""
    o.qu = m.vload(128, pointer(o))
    advance(o, step)


def store_q(m: Machine, o: Operands, step: str | int) -> None:
    """Store ``qv`` at ``as``, then move the pointer."""
    m.vstore(128, pointer(o), o.qv)
    advance(o, step)


def load_broadcast(m: Machine, o: Operands, lane: int, step: str | int) -> None:
    """``qu`` = one item of ``lane`` bits in every lane, then move the pointer."""
    o.qu = m.vload(lane, pointer(o)).broadcast(128 // lane).join()
    advance(o, step)


def update_pair(m: Machine, o: Operands) -> None:
    """QUP: ``qs0 = (qs1:qs0) >> 8 * SAR_BYTE``, with both sources as they were."""
    o.qs0 = funnel_bytes(m, o.qs1, o.qs0, m.SAR_BYTE)


def _bare(m: Machine, o: Operands, lane: int) -> None:
    pass


def _load(step: str | int) -> Callable[[Machine, Operands, int], None]:
    return lambda m, o, lane: load_q(m, o, step)


def _then_update(
    load: Callable[[Machine, Operands, int], None],
) -> Callable[[Machine, Operands, int], None]:
    def both(m: Machine, o: Operands, lane: int) -> None:
        update_pair(m, o)
        load(m, o, lane)

    return both


def _broadcast(m: Machine, o: Operands, lane: int) -> None:
    load_broadcast(m, o, lane, lane // 8)


SUFFIXES: dict[str, Callable[[Machine, Operands, int], None]] = {
    "": _bare,
    ".ld.incp": _load(16),
    ".st.incp": lambda m, o, lane: store_q(m, o, 16),
    ".ld.ip": _load("imm16"),
    ".ld.xp": _load("ad"),
    ".ldbc.incp": _broadcast,
    ".ld.ip.qup": _then_update(_load("imm16")),
    ".ld.xp.qup": _then_update(_load("ad")),
    ".ldbc.incp.qup": _then_update(_broadcast),
}
"""What a fused instruction does beside its arithmetic on lanes of ``lane`` bits, by its mnemonic's end."""


# --- replaceable steps --------------------------------------------------------------------------------
@block
def funnel_bytes(m: Machine, high: Bits, low: Bits, count: Bits) -> Bits:
    """16 bytes of ``high:low`` from byte ``count`` on, which has 4 bits.

    A choice by masks and two shifts of 64-bit lanes: hosts do that in vector registers, but not a shift of
    256 bits or a select by a scalar.
    """
    a, b = low.split(64), high.split(64)
    middle = a.shuffle(b, [1, 2])
    skip = count.bits(3, 3).sext(64).broadcast(2)
    lower, upper = a ^ ((a ^ middle) & skip), middle ^ ((middle ^ b) & skip)
    shift = count.bits(2, 0).zext(64).shl(3)
    return (lower.lshr(shift) | upper.shl(-shift + 64)).join()


@block
def dot_s8(m: Machine, x: Bits, y: Bits) -> Bits:
    """Sum of the 16 signed products of bytes, 64 bits. At most 2**18, so 32-bit lanes hold it."""
    return (x.split(8).sext(32) * y.split(8).sext(32)).sum_lanes().sext(64)


@block
def dot_u8(m: Machine, x: Bits, y: Bits) -> Bits:
    """Sum of the 16 unsigned products of bytes, 64 bits. Below 2**20, so 32-bit lanes hold it."""
    return (x.split(8).zext(32) * y.split(8).zext(32)).sum_lanes().zext(64)


@block
def dot_s16(m: Machine, x: Bits, y: Bits) -> Bits:
    """Sum of the 8 signed products of halfwords, 64 bits.

    Hosts multiply and add pairs of halfwords at once. Two products reach from -2**31 + 2**16 to 2**31: one
    less than their sum always fits 32 bits.
    """
    products = x.split(16).sext(32) * y.split(16).sext(32)
    pairs = products.shuffle(products, [0, 2, 4, 6]) + products.shuffle(products, [1, 3, 5, 7])
    return (pairs - 1).sext(64).sum_lanes() + 4


@block
def dot_u16(m: Machine, x: Bits, y: Bits) -> Bits:
    """Sum of the 8 unsigned products of halfwords, 64 bits."""
    return (x.split(16).zext(32) * y.split(16).zext(32)).zext(64).sum_lanes()


DOTS = {"s8": dot_s8, "u8": dot_u8, "s16": dot_s16, "u16": dot_u16}
"""Dot product of two q registers by the type of their lanes."""


@block
def mac_accx(m: Machine, total: Bits, signed: bool) -> None:
    """``ACCX`` += a sum of products (64 bits), clamped once to 40 bits."""
    if signed:
        exact = m.ACCX.sext(64) + total
        m.ACCX = saturate(m, exact, 40, "accumulator_lower_clamp").trunc(40)
    else:
        m.ACCX = saturate_unsigned(m, m.ACCX.zext(64) + total, 40).trunc(40)


@block
def mac_qacc(m: Machine, state: str, products: Bits, lane: int, signed: bool) -> None:
    """Half of QACC, ``state``, += products lane by lane, each clamped to ``lane`` (20 or 40) bits.

    ``products`` has 8 lanes of 32 bits (``lane`` 20) or 4 lanes of 64 bits (``lane`` 40).
    """
    lanes = m.read_state(state).split(lane)
    if signed:
        exact = lanes.sext(products.lane) + products
        total = saturate(m, exact, lane, "accumulator_lower_clamp")
    else:
        total = saturate_unsigned(m, lanes.zext(products.lane) + products, lane)
    m.write_state(state, total.trunc(lane).join())
