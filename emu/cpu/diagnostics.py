"""What an engine noticed while it ran: things that the chip does silently."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import Flag

from emu.image.location import Location

Counts = dict[int, int]
"""Address of an instruction to how often it was noticed."""


class Check(Flag):
    """Kinds of findings, each of which can be switched on (EngineOptions.diagnostics)."""

    NONE = 0
    MISALIGNED = 1
    SATURATION = 2
    FUSED = 4
    SAME_REGISTER = 8
    STACK = 16
    BOUNDS = 32
    MEMORY = 64
    REGISTERS = 128
    RED_ZONE = 256
    ABI = 512
    LOOPS = 1024
    FREE = MISALIGNED | SATURATION | FUSED | SAME_REGISTER | STACK
    """What the reference stepper notices at no cost."""
    ALL = FREE | BOUNDS | MEMORY | REGISTERS | RED_ZONE | ABI | LOOPS


TEXTS = {
    Check.MISALIGNED: "vector access whose low address bits are dropped",
    Check.SATURATION: "saturation",
    Check.FUSED: "fused multiply-add",
    Check.SAME_REGISTER: "two results in one register",
    Check.BOUNDS: "access outside of the buffers",
    Check.MEMORY: "read of memory that was never written",
    Check.REGISTERS: "read of a register that the function never wrote",
    Check.RED_ZONE: "access below the stack pointer",
    Check.ABI: "calling convention broken",
    Check.LOOPS: "end of a hardware loop of another function",
}
"""Each kind of finding in words; the stack's lowest point is no finding."""


@dataclass(frozen=True)
class Finding:
    """One place at which something was noticed. ``first``: the values of the first time, "" if none."""

    check: Check
    where: Location
    count: int
    first: str = ""

    @property
    def kind(self) -> str:
        """The check in words."""
        return TEXTS[self.check]

    @property
    def pc(self) -> int:
        """Address of the instruction."""
        return self.where.address

    def __str__(self) -> str:
        times = f" ({self.count:,} times)" if self.count > 1 else ""
        first = f": {self.first}" if self.first else ""
        return f"{self.kind}{times} at {self.where}{first}"


@dataclass
class Diagnostics:
    """Counts by address of the instruction; the stepper fills them, :meth:`clear` empties them.

    ``misaligned``: vector accesses whose low address bits were dropped. ``saturated``: instructions whose
    clamp changed a value. ``fused``: multiply-adds with one rounding (madd.s, msub.s). ``same_register``:
    two results of one instruction in one register. ``others``: counts of the checks that cost time, by check.
    ``contested``: fact name to the addresses where a result depended on it. ``lowest_stack``: the lowest
    stack pointer of a function, None before the first, and ``deepest`` where it was set. ``first``: values of
    the first time by check and address.
    """

    misaligned: Counts = field(default_factory=dict)
    saturated: Counts = field(default_factory=dict)
    fused: Counts = field(default_factory=dict)
    same_register: Counts = field(default_factory=dict)
    others: dict[Check, Counts] = field(default_factory=dict)
    contested: dict[str, Counts] = field(default_factory=dict)
    lowest_stack: int | None = None
    deepest: int | None = None
    first: dict[tuple[Check, int], str] = field(default_factory=dict)

    def clear(self) -> None:
        """Forget everything."""
        self.__init__()  # type: ignore[misc]

    def note_stack(self, pointer: int, pc: int) -> None:
        """A function has set its stack pointer."""
        if self.lowest_stack is None or pointer < self.lowest_stack:
            self.lowest_stack, self.deepest = pointer, pc

    def note(self, check: Check, pc: int, first: str) -> None:
        """Count a finding of one of the checks that cost time."""
        self.first.setdefault((check, pc), first)
        count(self.others.setdefault(check, {}), pc)

    def counts(self) -> Iterator[tuple[Check, Counts]]:
        """All kinds that were noticed."""
        yield Check.MISALIGNED, self.misaligned
        yield Check.SATURATION, self.saturated
        yield Check.FUSED, self.fused
        yield Check.SAME_REGISTER, self.same_register
        yield from self.others.items()

    def findings(self, locate: Callable[[int], Location] = Location) -> tuple[Finding, ...]:
        """Everything that was noticed, by kind and address. ``locate`` names an address."""
        found = [
            Finding(check, locate(pc), times, self.first.get((check, pc), ""))
            for check, counts in self.counts()
            for pc, times in counts.items()
        ]
        return tuple(sorted(found, key=lambda finding: (finding.check.value, finding.pc)))


def count(counts: Counts, pc: int) -> None:
    """One more at ``pc``."""
    counts[pc] = counts.get(pc, 0) + 1


def parse_checks(text: str) -> Check:
    """``misaligned,red-zone`` or ``all`` as flags. Raises ValueError that names what is allowed."""
    found = Check.NONE
    for word in filter(None, (part.strip() for part in text.split(","))):
        name = word.upper().replace("-", "_")
        if name not in Check.__members__:
            allowed = ", ".join(member.lower().replace("_", "-") for member in Check.__members__)
            raise ValueError(f"unknown diagnostic {word!r}; known are {allowed}")
        found |= Check[name]
    return found
