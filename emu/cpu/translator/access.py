"""Guest memory from translated code: page tables, checks, plain loads and stores.

An access is made directly when its page has an entry and it does not cross into the next page; everything else
(devices, faults, pages with code, crossings) leaves the unit and is done by the stepper.
"""

from __future__ import annotations

from typing import Protocol

from emu.cpu.map import PAGE, PAGE_BITS
from emu.cpu.state import ExitReason
from emu.cpu.translator.emitter import Emitter
from emu.cpu.translator.frame import GUEST, TABLE
from emu.cpu.value_ir import IrBits

READ, WRITE = "read_pages", "write_pages"
"""Fields of CpuState, and LLVM names of the tables' addresses in the function."""


class Site(Protocol):
    """Where code is written: a unit's Frame, or a helper."""

    em: Emitter
    exact_pc: int

    def exit_unless(self, condition: str, pc: str, reason: int) -> None:
        """Leave unless the i1 holds."""


def load(frame: Site, bits: int, address: IrBits) -> IrBits:
    """A little-endian load; the unit is left where it cannot be made directly."""
    pointer = host_pointer(frame, READ, bits // 8, address)
    kind, lane = ("<4 x i32>", 32) if bits == 128 else (f"i{bits}", bits)
    align = min(address.known_alignment, bits // 8)
    name = frame.em.value(f"load {kind}, ptr {pointer}, align {align}{GUEST}")
    return IrBits(frame.em, bits, 1, {lane: name})


def store(frame: Site, bits: int, address: IrBits, value: IrBits) -> None:
    """A little-endian store; the unit is left where it cannot be made directly."""
    pointer = host_pointer(frame, WRITE, bits // 8, address)
    stored = value.split(32) if bits == 128 else value
    align = min(address.known_alignment, bits // 8)
    frame.em.line(f"store {stored.typed}, ptr {pointer}, align {align}{GUEST}")


def host_pointer(frame: Site, table: str, size: int, address: IrBits) -> str:
    """Host address of ``size`` bytes of guest memory, checked."""
    em = frame.em
    page = em.value(f"lshr i32 {address.name}, {PAGE_BITS}")
    index = em.value(f"zext i32 {page} to i64")
    entry = em.value(f"getelementptr i64, ptr %{table}, i64 {index}")
    delta = em.value(f"load i64, ptr {entry}{TABLE}")
    good = em.value(f"icmp ne i64 {delta}, 0")
    if size > 1 and address.known_alignment < size:
        offset = em.value(f"and i32 {address.name}, {PAGE - 1}")
        fits = em.value(f"icmp ule i32 {offset}, {PAGE - size}")
        good = em.value(f"and i1 {good}, {fits}")
    frame.exit_unless(good, str(frame.exact_pc), ExitReason.STEP)
    wide = em.value(f"zext i32 {address.name} to i64")
    host = em.value(f"add i64 {delta}, {wide}")
    return em.value(f"inttoptr i64 {host} to ptr")
