"""Which checks translated code makes on each access beside the page tables."""

from __future__ import annotations

from dataclasses import dataclass

from emu.cpu.shadow import INIT, READ, WRITE


@dataclass(frozen=True)
class Checks:
    """``bounds``: the permission map is on; ``check_init``: loads need bytes that were written."""

    bounds: bool = False
    check_init: bool = False

    def needed(self, is_store: bool) -> int:
        """Permission bits that each byte of an access must have."""
        return WRITE if is_store else READ | (INIT if self.check_init else 0)
