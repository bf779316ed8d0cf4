"""Memory: regions, page tables, aliases, crossings, devices, code watching, the byte-exact map."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emu.cpu.map import PAGE
from emu.cpu.memory import Memory, MemoryFault, host_bytes
from emu.cpu.shadow import INIT, READ, WRITE

A, B, ALIAS = 0x3FC88000, 0x3FC8A000, 0x40378000


def chip() -> Memory:
    """Two adjacent RAM regions, an alias of the first, a read-only one."""
    memory = Memory()
    first = memory.add_ram("first", A, 2 * PAGE)
    memory.add_ram("second", B, PAGE)
    memory.add_ram("alias", ALIAS, 2 * PAGE, "rwx", first.buffer)
    memory.add_ram("fixed", 0x3C000000, PAGE, "r")
    return memory


@given(
    offset=st.integers(0, 3 * PAGE - 16),
    size=st.sampled_from([1, 2, 4, 8, 16]),
    value=st.integers(0, (1 << 128) - 1),
)
def test_load_after_store_at_any_place(offset: int, size: int, value: int) -> None:
    memory = chip()
    memory.store(A + offset, size, value % (1 << 8 * size))
    assert memory.load(A + offset, size) == value % (1 << 8 * size)
    assert memory.read(A + offset, size) == (value % (1 << 8 * size)).to_bytes(size, "little")
    if offset + size <= 2 * PAGE:
        assert memory.load(ALIAS + offset, size) == value % (1 << 8 * size)


def test_page_tables_point_at_the_bytes() -> None:
    memory = chip()
    memory.write(A + 5, b"hello")
    for base in (A, ALIAS):
        for table in (memory.read_pages, memory.write_pages):
            assert host_bytes(base + 5 + int(table[base >> 12]), 5) == b"hello"
    assert memory.read_pages[0x3C000000 >> 12] != 0
    assert memory.write_pages[0x3C000000 >> 12] == 0
    assert not memory.read_pages[0x20000000 >> 12]
    assert memory.read_pages_address == memory.read_pages.ctypes.data


@pytest.mark.parametrize(
    ("address", "size", "is_store", "kind", "byte"),
    [
        (0x10, 4, False, "unmapped", 0x10),
        (A - 2, 4, False, "unmapped", A - 2),
        (B + PAGE - 2, 4, True, "unmapped", B + PAGE),
        (B + PAGE - 1, 16, False, "unmapped", B + PAGE),
        (0x3C000010, 4, True, "protection", 0x3C000010),
        (0xFFFFFFFE, 4, False, "unmapped", 0xFFFFFFFE),
    ],
)
def test_refused_accesses(address: int, size: int, is_store: bool, kind: str, byte: int) -> None:
    memory = chip()
    with pytest.raises(MemoryFault) as caught:
        memory.store(address, size, 0) if is_store else memory.load(address, size)
    fault = caught.value
    assert (fault.kind, fault.address, fault.size, fault.byte) == (kind, address, size, byte)
    assert f"{address:#010x}" in str(fault)


def test_fetch_needs_execute_permission() -> None:
    memory = chip()
    memory.write(A, b"\x3d\xf0")
    assert memory.fetch(ALIAS, 2) == b"\x3d\xf0"
    with pytest.raises(MemoryFault) as caught:
        memory.fetch(A, 2)
    assert (caught.value.access, caught.value.kind) == ("fetch", "protection")


@pytest.mark.parametrize(
    ("start", "size"), [(A + PAGE, PAGE), (A - PAGE, 2 * PAGE), (A + 4, PAGE), (A, 100), (A, 0)]
)
def test_bad_regions_are_refused(start: int, size: int) -> None:
    with pytest.raises(ValueError, match="region new"):
        chip().add_ram("new", start, size)


def test_host_access_ignores_permissions_but_not_holes() -> None:
    memory = chip()
    memory.write(0x3C000000, b"rom")
    assert memory.read(0x3C000000, 3) == b"rom"
    memory.write(B - 2, b"abcd")
    assert memory.read(B - 2, 4) == b"abcd"
    with pytest.raises(MemoryFault):
        memory.write(B + PAGE - 2, b"abcd")
    view = memory.view(A, 16)
    view[3] = 9
    assert memory.load(A + 3, 1) == 9
    with pytest.raises(MemoryFault):
        memory.view(B - 2, 4)


class Recorder:
    """A device that answers with its address and remembers."""

    def __init__(self) -> None:
        self.log: list[tuple[int, ...]] = []

    def read(self, address: int, size: int) -> int:
        self.log.append((address, size))
        return address & 0xFF

    def write(self, address: int, size: int, value: int) -> None:
        self.log.append((address, size, value))


def test_device_regions() -> None:
    memory, device = chip(), Recorder()
    memory.add_device("uart", 0x60000000, PAGE, device)
    assert memory.load(0x60000024, 4) == 0x24
    memory.store(0x60000028, 2, 0x1234)
    assert device.log == [(0x60000024, 4), (0x60000028, 2, 0x1234)]
    assert not memory.read_pages[0x60000000 >> 12]
    with pytest.raises(MemoryFault):
        memory.fetch(0x60000000, 2)


def test_watched_code_pages_call_the_hook_first_through_every_alias() -> None:
    memory = chip()
    seen: list[tuple[int, int, int]] = []
    memory.add_code_hook(lambda address, size: seen.append((address, size, memory.load(address, 1))))
    page = ALIAS >> 12
    memory.store(A + 8, 1, 5)
    assert seen == []
    memory.watch_code(page)
    assert memory.is_watched(A >> 12)
    assert memory.write_pages[page] == memory.write_pages[A >> 12] == 0
    assert memory.write_pages[(A >> 12) + 1] != 0
    memory.store(A + 8, 1, 6)
    memory.store(ALIAS + 8, 4, 7)
    memory.write(A + 9, b"x")
    memory.store(A + PAGE + 8, 1, 6)
    assert seen == [(A + 8, 1, 5), (ALIAS + 8, 4, 6), (A + 9, 1, 0)]
    memory.unwatch_code(A >> 12)
    assert memory.write_pages[page] != 0
    memory.store(A + 8, 1, 1)
    assert len(seen) == 3


# --- the byte-exact permission map -------------------------------------------------------------------
@pytest.mark.parametrize("start", range(16))
@pytest.mark.parametrize("length", [1, 5, 16, 33])
def test_exactly_the_allowed_bytes(start: int, length: int) -> None:
    memory = chip()
    memory.shadow.enable()
    base = A + 64 + start
    memory.shadow.allow(base, length, READ)
    for size in (1, 2, 4, 8, 16):
        for at in range(base - size - 1, base + length + 2):
            inside = base <= at and at + size <= base + length
            if inside:
                memory.load(at, size)
                continue
            with pytest.raises(MemoryFault) as caught:
                memory.load(at, size)
            assert caught.value.kind == "read"
            assert caught.value.byte == (at if at < base or at >= base + length else base + length)
    with pytest.raises(MemoryFault) as caught:
        memory.store(base, 1, 0)
    assert caught.value.kind == "write"


def test_refused_store_writes_nothing() -> None:
    memory = chip()
    memory.shadow.enable()
    memory.shadow.allow(A, 3, READ | WRITE)
    with pytest.raises(MemoryFault):
        memory.store(A, 4, 0xFFFFFFFF)
    assert memory.read(A, 4) == bytes(4)
    memory.shadow.allow(B - 1, 3, READ | WRITE)
    with pytest.raises(MemoryFault):
        memory.store(B - 1, 4, 0xFFFFFFFF)
    assert memory.read(B - 1, 4) == bytes(4)


def test_uninitialised_bytes() -> None:
    memory = chip()
    memory.shadow.enable(check_init=True)
    memory.shadow.allow(A, 16, READ | WRITE)
    memory.store(A, 4, 1)
    memory.write(A + 4, b"ab")
    assert memory.load(A, 4) == 1
    assert memory.load(A + 2, 4) == 0x62610000
    with pytest.raises(MemoryFault) as caught:
        memory.load(A + 4, 4)
    assert (caught.value.kind, caught.value.byte) == ("uninitialised", A + 6)
    assert list(memory.shadow.get(A, 7)) == [READ | WRITE | INIT] * 6 + [READ | WRITE]


def test_map_is_shared_by_aliases_and_has_a_page_table() -> None:
    memory = chip()
    assert memory.shadow.pages_address == 0
    memory.shadow.enable()
    memory.shadow.allow(A + 3, 2, READ)
    memory.load(ALIAS + 3, 2)
    assert memory.shadow.pages_address != 0
    memory.shadow.deny(ALIAS + 4, 1)
    with pytest.raises(MemoryFault):
        memory.load(A + 3, 2)
    memory.shadow.disable()
    memory.load(A + 3, 2)


def test_resize_shows_less_and_more_of_a_buffer() -> None:
    memory = Memory()
    memory.shadow.enable()
    region = memory.add_ram("r", 0x10000, 0x4000)
    memory.shadow.allow(0x10000, 0x4000, READ | WRITE)
    memory.store(0x13000, 4, 77)
    region = memory.resize(region, 0x1000)
    for table in (memory.read_pages, memory.write_pages):
        assert np.flatnonzero(table).tolist() == [0x10]
    with pytest.raises(MemoryFault, match="no memory is mapped"):
        memory.load(0x13000, 4)
    assert memory.load(0x10FFC, 4) == 0
    region = memory.resize(region, 0x4000)
    assert memory.load(0x13000, 4) == 77
    assert np.flatnonzero(memory.write_pages).tolist() == [0x10, 0x11, 0x12, 0x13]
    memory.add_ram("next", 0x15000, 0x1000)
    with pytest.raises(ValueError, match="no room"):
        memory.resize(region, 0x5000)
