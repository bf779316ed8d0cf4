"""Accesses of straight code that one check can cover: the same base register, neighbouring addresses.

The scout runs over each block. Accesses whose addresses differ by constants form a group; the first of them
(the leader) checks the whole range, the others need no check. Where the check fails although the leader
alone might pass, the unit is left, and made again with that leader checked for itself (``careful``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from emu.cpu.map import PAGE
from emu.cpu.plan import Plan
from emu.cpu.translator.affine import Linear
from emu.cpu.translator.discover import CodeBlock
from emu.cpu.translator.machine import Choices
from emu.cpu.translator.modes import Mode
from emu.cpu.translator.scout import FRESH, Access, NotStraight, ScoutMachine

REACH = PAGE // 2
"""A group spans at most this many bytes, so that it touches at most two pages."""

Place = tuple[int, int]
"""(address of the instruction, number of the access in it)"""


@dataclass(eq=False)
class Group:
    """Bytes ``low .. high - 1`` relative to the leader's address, as its access forces it to ``align``."""

    leader: Place
    base: Linear
    """Address of the leader, not forced."""
    align: int
    is_store: bool
    low: int
    high: int
    size: int = 1

    @property
    def is_known_early(self) -> bool:
        """The leader's address is a sum of registers as they are at the start of the block."""
        return all(term < FRESH for term in self.base.terms)

    def distance(self, address: Linear) -> int | None:
        """Constant distance of an address from the leader's; None when it is not constant."""
        if dict(address.terms) != dict(self.base.terms):
            return None
        return ((address.constant - self.base.constant + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)

    def reach(self, distance: int, access: Access) -> tuple[int, int]:
        """The bytes that an access at ``distance`` may touch, relative to the leader's forced address."""
        align = access.address.align
        if align == self.align and distance % align == 0:
            return distance, distance + access.size
        return distance - align + 1, distance + self.align - 1 + access.size


def find_groups(
    block: CodeBlock, mode: Mode, choices: Choices, careful: frozenset[int], skip: Callable[[Plan], bool]
) -> dict[Place, Group]:
    """The accesses of a block that belong to a group of at least two.

    ``skip``: tells of an instruction that its accesses belong to none.
    """
    if block.start in careful:
        return {}
    members: dict[Place, Group] = {}
    scout = SegmentScout(mode, choices)
    groups: list[Group] = []
    for plan in block.plans:
        before = len(scout.accesses)
        try:
            scout.run(plan)
        except NotStraight:
            scout, groups = SegmentScout(mode, choices), []
            scout.forget_registers()
            continue
        for number, access in enumerate(scout.accesses[before:]):
            place = (plan.insn.pc, number)
            if plan.insn.pc not in careful and not skip(plan):
                _join(groups, place, access, members)
    return {place: group for place, group in members.items() if group.size > 1}


def _join(groups: list[Group], place: Place, access: Access, members: dict[Place, Group]) -> None:
    """Put an access into a group, or begin one with it."""
    for group in groups:
        distance = group.distance(access.address)
        if group.is_store != access.is_store or distance is None:
            continue
        low, high = group.reach(distance, access)
        low, high = min(group.low, low), max(group.high, high)
        if high - low <= REACH:
            group.low, group.high, group.size = low, high, group.size + 1
            members[place] = group
            return
    base, align = Linear(access.address.terms, access.address.constant), access.address.align
    members[place] = Group(place, base, align, access.is_store, 0, access.size)
    groups.append(members[place])


class SegmentScout(ScoutMachine):
    """A scout for code that may be left in the middle: exceptions do not matter to it."""

    stops_at_exceptions = False
