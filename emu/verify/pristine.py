"""Guest memory as the image was loaded, whatever a case does to it: nothing reaches the next case.

What functions write all the time (writable segments) is put back after every case. All other RAM, the code
in it included, is put back when it was written: its pages take the memory's slow path, which tells.
"""

from __future__ import annotations

import numpy as np

from emu.cpu.engine import Engine
from emu.cpu.map import PAGE, PAGE_BITS
from emu.cpu.memory import Region
from emu.verify.families import Array


class Pristine:
    """Watches the RAM of one engine that has just been made, and restores it."""

    def __init__(self, engine: Engine) -> None:
        self._memory = engine.memory
        self._stack = engine.stack
        self._arena = self._region(engine.arena.start)
        self.touched: set[int] = set()
        """Numbers of the pages outside of writable segments, stack and arena that were written."""
        self._saved: dict[int, Array] = {}
        self._often = self._often_written(engine)
        self._watched = self._rarely_written(engine)
        for page in self._watched:
            self._memory.watch_code(page)
        self._memory.add_code_hook(self._written)

    def _region(self, address: int) -> Region:
        region = self._memory.find(address)
        assert region is not None
        return region

    def _often_written(self, engine: Engine) -> list[tuple[int, Array, Array]]:
        """Address, live bytes and saved bytes of the writable segments, as whole pages."""
        found = []
        for segment in engine.image.segments:
            region = self._region(segment.address)
            if "w" in segment.perms and "w" in region.perms and segment.size:
                start = segment.address & -PAGE
                view = self._memory.view(start, -(-segment.end // PAGE) * PAGE - start)
                found.append((start, view, view.copy()))
        return found

    def _rarely_written(self, engine: Engine) -> frozenset[int]:
        """All other pages of RAM, with their contents saved by buffer; aliases of the first kind are not
        among them.
        """
        stack = range(engine.stack.start >> PAGE_BITS, engine.stack.end >> PAGE_BITS)
        often = [*stack, *(p for start, view, _ in self._often for p in _pages(start, view.size))]
        busy = {alias for page in often for alias in self._memory.aliases(page)}
        found: set[int] = set()
        for region in self._memory.regions:
            buffer = region.buffer
            if buffer is None or buffer is self._arena.buffer or "w" not in region.perms:
                continue
            self._saved.setdefault(id(buffer), buffer.array.copy())
            found.update(_pages(region.start, region.size))
        return frozenset(found - busy)

    def _written(self, address: int, size: int) -> None:
        self.touched.update(self._watched.intersection(_pages(address, size)))

    def restore(self) -> None:
        """All memory but stack and arena as it was when the image was loaded."""
        for start, live, saved in self._often:
            if any(self._memory.is_watched(page) for page in _pages(start, live.size)):
                self._restore_code(start, live, saved)
            else:
                live[:] = saved
        while self.touched:
            page = self.touched.pop()
            region = self._region(page << PAGE_BITS)
            at = region.at(page << PAGE_BITS)
            assert region.buffer is not None
            saved = self._saved[id(region.buffer)][at : at + PAGE]
            self._memory.write(page << PAGE_BITS, saved.tobytes())
            self.touched.difference_update(self._memory.aliases(page))
            self._memory.watch_code(page)

    def _restore_code(self, start: int, live: Array, saved: Array) -> None:
        """A writable segment with translated code in it: only what differs, told to the translator."""
        for i in np.flatnonzero((live != saved).reshape(-1, PAGE).any(axis=1)):
            at = int(i) * PAGE
            self._memory.write(start + at, saved[at : at + PAGE].tobytes())

    def below_stack(self) -> bool:
        """Whether RAM right below the stack was written: the stack has overflowed."""
        below = range((self._stack.start - _BELOW) >> PAGE_BITS, self._stack.start >> PAGE_BITS)
        return any(alias in below for page in self.touched for alias in self._memory.aliases(page))

    def show_arena(self, size: int) -> None:
        """From now on the guest sees the first ``size`` bytes of the arena (a multiple of 4096) and no
        more.
        """
        if self._arena.size != size:
            self._arena = self._memory.resize(self._arena, size)


_BELOW = 64 << 10


def _pages(address: int, size: int) -> range:
    return range(address >> PAGE_BITS, ((address + size - 1) >> PAGE_BITS) + 1)
