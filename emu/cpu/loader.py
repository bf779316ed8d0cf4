"""From an image to memory: the chip's areas, the image's segments, a stack and an arena for test buffers."""

from __future__ import annotations

from dataclasses import dataclass

from emu.cpu.map import AREAS, MMU_BLOCK, PAGE, PSRAM_START, Area, area_of
from emu.cpu.memory import Buffer, Memory
from emu.cpu.mmu import DATA, ENTRIES, INSTRUCTIONS, Mmu
from emu.cpu.options import EngineOptions
from emu.image import Image, ImageError

_PSRAM_OF_IMAGE = "PSRAM (data cache)"
_STACK_AREAS = ("SRAM1", "SRAM2")


@dataclass(frozen=True)
class Span:
    """Guest addresses ``start .. start + size - 1``."""

    start: int
    size: int

    @property
    def end(self) -> int:
        """First address after the span."""
        return self.start + self.size


@dataclass(frozen=True)
class Placement:
    """Where the engine put what the image does not bring: the stack, and PSRAM as an arena for buffers.

    ``mmu``: what shows flash and PSRAM in the cache windows, when the options ask for it.
    """

    stack: Span
    arena: Span
    mmu: Mmu | None = None


def build_memory(image: Image, options: EngineOptions) -> tuple[Memory, Placement]:
    """Memory of the chip with the image in it. Raises ImageError when no room is left for a stack."""
    memory = Memory(options.guard_pages)
    buffers: dict[str, Buffer] = {}
    mmu = _map_by_mmu(memory, image, options) if options.mmu else None
    for area in AREAS:
        if area.windowed:
            if mmu is None or area.start not in (INSTRUCTIONS, DATA):
                _map_window(memory, area, image)
        else:
            backing = buffers.get(area.alias_of)
            region = memory.add_ram(area.name, area.start, area.size, area.perms, backing, area.alias_offset)
            if region.buffer is not None:
                buffers[area.name] = region.buffer
    arena = find_arena(image, options.psram_bytes)
    if mmu is None:
        memory.add_ram("PSRAM", arena.start, arena.size)
    load_segments(memory, image)
    return memory, Placement(find_stack(image, options.stack_bytes), arena, mmu)


def load_segments(memory: Memory, image: Image) -> None:
    """Put all segments into memory.

    zeros first, since a zeroed range may show the same RAM as stored bytes.
    """
    for segment in image.segments:
        zeros = segment.size - len(segment.data)
        if zeros:
            memory.write(segment.address + len(segment.data), bytes(zeros))
    for segment in image.segments:
        memory.write(segment.address, segment.data)


def _map_window(memory: Memory, area: Area, image: Image) -> None:
    """Map the 64 KiB blocks of a cache window that the image fills, adjacent ones of a kind as one region.

    What the image writes to in the data window is PSRAM.
    """
    every = _blocks(image, area.start, area.end)
    written = _blocks(image, area.start, area.end, only_written=True) if area.start == DATA else set()
    for blocks, name, perms in (
        (every - written, area.name, area.perms),
        (written, _PSRAM_OF_IMAGE, area.perms + "w"),
    ):
        for start in sorted(block for block in blocks if block - 1 not in blocks):
            end = start
            while end in blocks:
                end += 1
            memory.add_ram(name, start * MMU_BLOCK, (end - start) * MMU_BLOCK, perms)


def find_arena(image: Image, size: int) -> Span:
    """PSRAM for buffers: at its usual place in the data window, else where the image leaves room for it.

    Raises ImageError when it does not.
    """
    window = next(area for area in AREAS if area.start == DATA)
    blocks = _blocks(image, window.start, window.end)
    behind = [(block + 1) * MMU_BLOCK for block in sorted(blocks, reverse=True)]
    for start in (PSRAM_START, *behind, window.start):
        wanted = range(start // MMU_BLOCK, -(-(start + size) // MMU_BLOCK))
        if start + size <= window.end and blocks.isdisjoint(wanted):
            return Span(start, size)
    raise ImageError(
        f"{image.name}: no {size:#x} bytes in a row are left in the data window of the cache for PSRAM with "
        "buffers; use less of it"
    )


def _blocks(image: Image, start: int, end: int, *, only_written: bool = False) -> set[int]:
    """Numbers of the 64 KiB blocks of an address range that the image fills (with what it writes to)."""
    blocks: set[int] = set()
    for segment in image.segments:
        if start <= segment.address < end and ("w" in segment.perms or not only_written):
            blocks.update(range(segment.address // MMU_BLOCK, -(-segment.end // MMU_BLOCK)))
    return blocks


def _map_by_mmu(memory: Memory, image: Image, options: EngineOptions) -> Mmu:
    """Flash pages for what the image fills of the cache windows, PSRAM pages for what it writes to there and
    for buffers.
    """
    size = ENTRIES * MMU_BLOCK
    written = _blocks(image, DATA, DATA + size, only_written=True)
    blocks = [
        (window, block - window // MMU_BLOCK)
        for window in (DATA, INSTRUCTIONS)
        for block in sorted(_blocks(image, window, window + size) - written)
    ]
    entries = [entry for _, entry in blocks]
    if len(set(entries)) != len(entries):
        raise ImageError(
            f"{image.name}: flash code and flash data lie in the same 64 KiB block of the cache windows, "
            "which share one MMU table"
        )
    flash = memory.new_buffer(max(len(blocks), 1) * MMU_BLOCK)
    arena = find_arena(image, options.psram_bytes)
    pages = -(-arena.size // MMU_BLOCK)
    mmu = Mmu(memory, flash, memory.new_buffer((pages + len(written)) * MMU_BLOCK))
    for page, entry in enumerate(entries):
        mmu.set_entry(entry, page)
    for page, block in enumerate(sorted(written), pages):
        mmu.map(block * MMU_BLOCK, page, 1, is_psram=True)
    mmu.map(arena.start, 0, arena.size // MMU_BLOCK, is_psram=True)
    mmu.attach()
    return mmu


def find_stack(image: Image, size: int, below: int | None = None) -> Span:
    """The highest free range of data RAM (that ends at or before ``below``).

    RAM that the image uses through the instruction bus is not free. Raises ImageError when none is left.
    """
    areas = {area.name: area for area in AREAS}
    low = min(areas[name].start for name in _STACK_AREAS)
    top = max(areas[name].end for name in _STACK_AREAS)
    top = top if below is None else min(top, below)
    used = sorted(((_data_address(s.address), s.size) for s in image.segments), reverse=True)
    for start, length in used:
        if not low <= start < areas["SRAM2"].end:
            continue
        bottom = -(-(start + length) // PAGE) * PAGE
        if top - bottom >= size:
            break
        top = min(top, start // PAGE * PAGE)
    if top - size < low:
        raise ImageError(
            f"{image.name}: no {size} bytes of data RAM are free for a stack; use a smaller stack"
        )
    return Span(top - size, size)


def _data_address(address: int) -> int:
    """The data bus address of a byte of SRAM1 that is given by its instruction bus address."""
    area = area_of(address)
    if area is None or area.alias_of != "SRAM1":
        return address
    return address - area.start + next(a.start for a in AREAS if a.name == "SRAM1")
