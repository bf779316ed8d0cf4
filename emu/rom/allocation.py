"""malloc and its relatives of the C library, ESP-IDF and C++, on the heap of emu.rom.heap."""

from __future__ import annotations

from emu.cpu.traps import TrapKind
from emu.rom.functions import RomCall, rom_function
from emu.rom.heap import ALIGNMENT, HEAP_BYTES, Heap, OutOfMemory
from emu.rom.serve import Rom

MASK32 = 0xFFFFFFFF
REENT_BYTES = 1024
"""No less than newlib's struct _reent in any of its forms."""


def heap_of(rom: Rom) -> Heap:
    """The heap, empty after a reset."""
    return rom.state("heap", lambda r: Heap(r.engine, r.seed))


def heap_if_any(rom: Rom) -> Heap | None:
    """The heap, when anything was allocated since the reset."""
    found: Heap | None = rom.peek("heap")
    return found


def _allocate(call: RomCall, size: int, align: int = ALIGNMENT, zeroed: bool = False) -> int:
    if align & (align - 1) or not align:
        return 0
    try:
        where = call.engine.locate((call.guest.caller - 3) & MASK32)
        return heap_of(call.rom).allocate(size, where, max(align, ALIGNMENT), zeroed)
    except OutOfMemory:
        return 0


def _free(call: RomCall, address: int) -> None:
    wrong = heap_of(call.rom).free(address) if address else ""
    if wrong:
        raise call.trap(TrapKind.BOUNDS_WRITE, f"{call.name}: {wrong}")


@rom_function("malloc", "heap_caps_malloc", "heap_caps_malloc_default", "pvPortMalloc", by_symbol=True)
def malloc(call: RomCall) -> int:
    """All kinds of memory are one."""
    return _allocate(call, call[0])


@rom_function("_malloc_r", by_symbol=True)
def malloc_r(call: RomCall) -> int:
    """With newlib's context in front."""
    return _allocate(call, call[1])


@rom_function("heap_caps_malloc_prefer", by_symbol=True)
def malloc_prefer(call: RomCall) -> int:
    """``(size, number, caps, ...)``."""
    return _allocate(call, call[0])


@rom_function("calloc", "heap_caps_calloc", by_symbol=True)
def calloc(call: RomCall) -> int:
    """0 when the product overflows."""
    size = call[0] * call[1]
    return _allocate(call, size, zeroed=True) if size <= HEAP_BYTES else 0


@rom_function("heap_caps_aligned_alloc", "memalign", "aligned_alloc", by_symbol=True)
def aligned(call: RomCall) -> int:
    """``(alignment, size)``."""
    return _allocate(call, call[1], call[0])


@rom_function("heap_caps_aligned_calloc", by_symbol=True)
def aligned_calloc(call: RomCall) -> int:
    """``(alignment, number, size, caps)``."""
    size = call[1] * call[2]
    return _allocate(call, size, call[0], zeroed=True) if size <= HEAP_BYTES else 0


@rom_function("realloc", "heap_caps_realloc", by_symbol=True)
def realloc(call: RomCall) -> int:
    """The block always moves, as it may."""
    heap, old, size = heap_of(call.rom), call[0], call[1]
    if not size:
        _free(call, old)
        return 0
    place = _allocate(call, size)
    if place and old:
        block = heap.live.get(old)
        if block is not None:
            kept = call.engine.memory.read(old, min(block.size, size))
            call.engine.memory.write(place, kept)
        _free(call, old)
    return place


@rom_function("free", "heap_caps_free", "cfree", "vPortFree", "heap_caps_aligned_free", by_symbol=True)
def free(call: RomCall) -> None:
    """Of 0 nothing; of what is no block: a trap."""
    _free(call, call[0])


@rom_function("_free_r", by_symbol=True)
def free_r(call: RomCall) -> None:
    """With newlib's context in front."""
    _free(call, call[1])


@rom_function("_Znwj", "_Znaj", by_symbol=True)
def new(call: RomCall) -> int:
    """operator new: without room it would throw."""
    place = _allocate(call, call[0], 8)
    if not place:
        raise call.trap(TrapKind.ABORT, f"operator new: no room for {call[0]:,} bytes")
    return place


@rom_function("_ZdlPv", "_ZdaPv", "_ZdlPvj", "_ZdaPvj", by_symbol=True)
def delete(call: RomCall) -> None:
    """operator delete."""
    _free(call, call[0])


@rom_function("strdup", by_symbol=True)
def strdup(call: RomCall) -> int:
    """A copy on the heap."""
    return _copy(call, call.string(call[0]))


@rom_function("strndup", by_symbol=True)
def strndup(call: RomCall) -> int:
    """Of at most so many bytes."""
    return _copy(call, call.string(call[0], call[1]))


def _copy(call: RomCall, text: bytes) -> int:
    place = _allocate(call, len(text) + 1)
    if place:
        call.engine.memory.write(place, text + b"\0")
    return place


@rom_function("__errno", by_symbol=True)
def errno(call: RomCall) -> int:
    """Where errno lies: 0 at first, the same place for the whole call."""
    return call.rom.state("errno", lambda rom: heap_of(rom).reserve(4))


@rom_function("__getreent", by_symbol=True)
def reent(call: RomCall) -> int:
    """newlib's context of the only task, all zero."""
    return call.rom.state("reent", lambda rom: heap_of(rom).reserve(REENT_BYTES))


@rom_function("heap_caps_get_free_size", "esp_get_free_heap_size", by_symbol=True)
@rom_function("heap_caps_get_largest_free_block", by_symbol=True)
def free_size(call: RomCall) -> int:
    """Bytes of the whole heap less those in use."""
    return HEAP_BYTES - sum(block.size for block in heap_of(call.rom).live.values())


@rom_function("heap_caps_check_integrity_all", by_symbol=True)
def check_integrity(call: RomCall) -> int:
    """1: nothing is damaged."""
    return int(not any(heap_of(call.rom).damage()))
