"""What an engine noticed while it ran: things that the chip does silently."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Diagnostics:
    """Counts by address of the instruction; the stepper fills them, :meth:`clear` empties them.

    ``misaligned``: vector accesses whose low address bits were dropped. ``saturated``: instructions whose
    clamp changed a value. ``fused``: multiply-adds with one rounding (madd.s, msub.s). ``same_register``:
    two results of one instruction in one register. ``contested``: fact name to the addresses where a result
    depended on it. ``lowest_stack``: the lowest stack pointer at an ``entry``, None before the first.
    """

    misaligned: dict[int, int] = field(default_factory=dict)
    saturated: dict[int, int] = field(default_factory=dict)
    fused: dict[int, int] = field(default_factory=dict)
    same_register: dict[int, int] = field(default_factory=dict)
    contested: dict[str, dict[int, int]] = field(default_factory=dict)
    lowest_stack: int | None = None

    def clear(self) -> None:
        """Forget everything."""
        self.__init__()  # type: ignore[misc]


def count(counts: dict[int, int], pc: int) -> None:
    """One more at ``pc``."""
    counts[pc] = counts.get(pc, 0) + 1
