"""Steps of the semantics that translated code does in another, equal way (:attr:`Machine.blocks`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from emu.cpu.translator.machine import IrMachine
from emu.cpu.translator.sums import SIGNED, UNSIGNED
from emu.cpu.value_ir import IrBits
from emu.isa.semantics import fp_nan, pie_blocks


class PendingDot(IrBits):
    """A dot product of bytes on its way to the pending sums of ACCX; ``factors`` are the two registers."""

    __slots__ = ("factors",)

    factors: tuple[IrBits, IrBits]


def _dot(kind: str, ordinary: Callable[..., Any]) -> Callable[..., Any]:
    def dot(m: IrMachine, x: IrBits, y: IrBits) -> IrBits:
        accumulator = m.frame.accumulator
        if accumulator is None or accumulator.kind != kind:
            return ordinary(m, x, y)  # type: ignore[no-any-return]
        pending = PendingDot(m.em, 64, 1, {})
        pending.factors = (x, y)
        return pending

    return dot


def _mac_accx(m: IrMachine, total: IrBits, signed: bool) -> None:
    accumulator = m.frame.accumulator
    if accumulator is not None and isinstance(total, PendingDot):
        x, y = total.factors
        m.effects.actions.append(lambda: accumulator.add(x, y))
    else:
        _original(pie_blocks.mac_accx)(m, total, signed)


def _propagate(m: IrMachine, result: IrBits, *operands: IrBits) -> IrBits:
    if m.numbers is None or not result.raw_float:
        return _original(fp_nan.propagate)(m, result, *operands)  # type: ignore[no-any-return]
    return m.numbers.number(result, operands)


def _original(step: Callable[..., Any]) -> Callable[..., Any]:
    """The function under ``@block``."""
    return step.__wrapped__  # type: ignore[attr-defined,no-any-return]


BLOCKS: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {
        "dot_s8": _dot(SIGNED, _original(pie_blocks.dot_s8)),
        "dot_u8": _dot(UNSIGNED, _original(pie_blocks.dot_u8)),
        "mac_accx": _mac_accx,
        "propagate": _propagate,
    }
)
