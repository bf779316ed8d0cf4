"""Guest memory from translated code: page tables, checks, plain loads and stores.

An access is made directly when its page has an entry and it does not cross into the next page; with the
permission map on, its shadow bytes must allow it too (:mod:`emu.cpu.shadow`). Everything else (devices,
faults, pages with code, crossings) leaves the unit and is done by the stepper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from emu.cpu.map import PAGE, PAGE_BITS
from emu.cpu.shadow import INIT
from emu.cpu.state import OFFSETS, ExitReason
from emu.cpu.translator.checks import Checks
from emu.cpu.translator.emitter import GUEST, RARELY, SHADOW, STATE, TABLE, Emitter
from emu.cpu.translator.engine_data import MISS, TAIL
from emu.cpu.value_ir import IrBits

READ, WRITE, SHADOW_PAGES = "read_pages", "write_pages", "shadow_pages"
"""Fields of CpuState, and LLVM names of the tables' addresses in the function."""


SINGLE = 1 << 16
"""Flag above the size of an access that is given to ``miss``."""


class Site(Protocol):
    """Where code is written: a unit's Frame, or a helper."""

    em: Emitter
    exact_pc: str
    """Address of the current instruction, an i32 by LLVM name."""
    checks: Checks

    def exit_unless(self, condition: str, pc: str, reason: int) -> None:
        """Leave unless the i1 holds."""

    def entry(self, is_store: bool) -> str:
        """Address of the engine's entry for the current base register; "" to use the page tables."""

    def budget_here(self) -> str:
        """Instructions left in front of the current one, an i64; nothing is remembered of it."""


@dataclass(frozen=True)
class Place:
    """Checked guest memory: host address, alignment, and for stores under the map its shadow bytes."""

    pointer: str
    align: int
    shadow: str = ""
    permissions: str = ""


def open_tables(em: Emitter, checks: Checks) -> None:
    """Load the tables' addresses, which never change while units run."""
    em.line(f"%engine.p = getelementptr i8, ptr %s, i64 {OFFSETS['engine_data']}")
    em.line(f"%engine = load ptr, ptr %engine.p{STATE}, !invariant.load !8")
    em.line(f"%engine.miss = getelementptr ptr, ptr %engine, i64 {MISS}")
    for table in (READ, WRITE, *([SHADOW_PAGES] if checks.bounds else [])):
        em.line(f"%{table}.p = getelementptr i8, ptr %s, i64 {OFFSETS[table]}")
        em.line(f"%{table} = load ptr, ptr %{table}.p{STATE}, !invariant.load !8")


def load(site: Site, bits: int, address: IrBits) -> IrBits:
    """A little-endian load; the unit is left where it cannot be made directly."""
    return get(site, find(site, READ, bits // 8, address), bits)


def get(site: Site, place: Place, bits: int) -> IrBits:
    """Load from a place that was found for reading."""
    kind, lane = ("<4 x i32>", 32) if bits == 128 else (f"i{bits}", bits)
    name = site.em.value(f"load {kind}, ptr {place.pointer}, align {place.align}{GUEST}")
    return IrBits(site.em, bits, 1, {lane: name})


def store(site: Site, bits: int, address: IrBits, value: IrBits) -> None:
    """A little-endian store; the unit is left where it cannot be made directly."""
    put(site, find(site, WRITE, bits // 8, address), value)


def put(site: Site, place: Place, value: IrBits) -> None:
    """Store to a place that was found for writing."""
    stored = value.split(32) if value.width == 128 else value
    site.em.line(f"store {stored.typed}, ptr {place.pointer}, align {place.align}{GUEST}")
    if place.shadow:
        kind = f"i{value.width}"
        marked = site.em.value(f"or {kind} {place.permissions}, {_each_byte(INIT, value.width)}")
        site.em.line(f"store {kind} {marked}, ptr {place.shadow}, align 1{SHADOW}")


def find(site: Site, table: str, size: int, address: IrBits) -> Place:
    """``size`` bytes of guest memory, checked for reading or writing."""
    entry = site.entry(table == WRITE)
    align = min(address.known_alignment, size)
    if entry:
        delta = stretch(site, table, entry, address, size, ExitReason.STEP, SINGLE)
        return Place(_pointer(site.em, delta, address.zext(64).name), align)
    em = site.em
    page = em.value(f"lshr i32 {address.name}, {PAGE_BITS}")
    index = em.value(f"zext i32 {page} to i64")
    delta = _entry(em, table, index)
    good = em.value(f"icmp ne i64 {delta}, 0")
    if size > 1 and address.known_alignment < size:
        offset = em.value(f"and i32 {address.name}, {PAGE - 1}")
        fits = em.value(f"icmp ule i32 {offset}, {PAGE - size}")
        good = em.value(f"and i1 {good}, {fits}")
    site.exit_unless(good, site.exact_pc, ExitReason.STEP)
    wide = em.value(f"zext i32 {address.name} to i64")
    place = Place(_pointer(em, delta, wide), align)
    return _permitted(site, table, size, index, wide, place) if site.checks.bounds else place


def stretch(
    site: Site, table: str, entry: str, address: IrBits, size: int, reason: int, flags: int = 0
) -> str:
    """Host offset of ``size`` bytes (at most a page) from ``address`` on, by the engine's entry; left if
    none. ``flags``: SINGLE for one access of its own, which a device may answer.
    """
    em = site.em
    first = em.value(f"load i32, ptr {entry}{TABLE}")
    length_at = em.value(f"getelementptr i8, ptr {entry}, i64 4")
    length = em.value(f"load i32, ptr {length_at}{TABLE}")
    offset_at = em.value(f"getelementptr i8, ptr {entry}, i64 8")
    known = em.value(f"load i64, ptr {offset_at}{TABLE}")
    inside = address - IrBits.of(em, 32, 1, first)
    limit = IrBits.of(em, 32, 1, length)
    if size > TAIL + 1:
        fits = (inside.zext(64) + (size - TAIL - 1)).ult(limit.zext(64))
    else:
        fits = inside.ult(limit)
    miss, join = em.new_block("miss"), em.new_block("hit")
    found_in = em.current.label
    em.fork(fits.name, join, miss, RARELY)
    em.enter(miss)
    helper = em.value(f"load ptr, ptr %engine.miss{TABLE}, !invariant.load !8")
    budget = site.budget_here() if flags else "0"
    asked = em.value(
        f"call preserve_allcc i64 {helper}(ptr %{table}, {address.typed}, i32 {size | flags}, ptr {entry}, "
        f"i64 {budget})"
    )
    site.exit_unless(em.value(f"icmp ne i64 {asked}, 0"), site.exact_pc, reason)
    asked_in = em.current.label
    em.jump(join)
    em.enter(join)
    return em.value(f"phi i64 [ {known}, %{found_in} ], [ {asked}, %{asked_in} ]")


def place_at(site: Site, delta: str, address: IrBits, size: int) -> Place:
    """A place in a range that was found."""
    pointer = _pointer(site.em, delta, address.zext(64).name)
    return Place(pointer, min(address.known_alignment, size))


def _permitted(site: Site, table: str, size: int, index: str, wide: str, place: Place) -> Place:
    em, kind = site.em, f"i{8 * size}"
    delta = _entry(em, SHADOW_PAGES, index)
    site.exit_unless(em.value(f"icmp ne i64 {delta}, 0"), site.exact_pc, ExitReason.STEP)
    shadow = _pointer(em, delta, wide)
    permissions = em.value(f"load {kind}, ptr {shadow}, align 1{SHADOW}")
    need = _each_byte(site.checks.needed(table == WRITE), 8 * size)
    have = em.value(f"and {kind} {permissions}, {need}")
    site.exit_unless(em.value(f"icmp eq {kind} {have}, {need}"), site.exact_pc, ExitReason.STEP)
    if table == READ:
        return place
    return Place(place.pointer, place.align, shadow, permissions)


def _entry(em: Emitter, table: str, index: str) -> str:
    at = em.value(f"getelementptr i64, ptr %{table}, i64 {index}")
    return em.value(f"load i64, ptr {at}{TABLE}")


def _pointer(em: Emitter, delta: str, wide: str) -> str:
    host = em.value(f"add i64 {delta}, {wide}")
    return em.value(f"inttoptr i64 {host} to ptr")


def _each_byte(byte: int, bits: int) -> int:
    return int.from_bytes(bytes([byte]) * (bits // 8), "little")
