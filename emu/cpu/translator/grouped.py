"""Where the accesses of groups go: the leader checks, the others follow."""

from __future__ import annotations

from emu.cpu.translator import access
from emu.cpu.translator.frame import Frame
from emu.cpu.translator.groups import Group, Place
from emu.cpu.translator.leave import Leave
from emu.cpu.value_ir import IrBits


class GroupedPlaces:
    """The places of one block's grouped accesses."""

    def __init__(self, frame: Frame, members: dict[Place, Group]) -> None:
        self._frame = frame
        self._members = members
        self._offsets: dict[Group, str] = {}

    def check_early(self, pc: int) -> None:
        """Check the groups whose addresses are known before the block's first instruction, at ``pc``."""
        frame = self._frame
        frame.exact_pc = str(pc)
        for group in dict.fromkeys(self._members.values()):
            if group.is_known_early:
                address = frame.sum_of(group.base)
                frame.base_register = next(iter(group.base.terms), 0)
                self._offsets[group] = self._check(group, group.is_store, address & -group.align)

    def place(self, is_store: bool, size: int, address: IrBits) -> access.Place | None:
        """See :class:`~emu.cpu.translator.machine.Places`."""
        frame = self._frame
        here = (int(frame.exact_pc), frame.access_number)
        frame.access_number += 1
        group = self._members.get(here)
        if group is None:
            return None
        offset = self._offsets.get(group)
        if offset is None:
            offset = self._offsets[group] = self._check(group, is_store, address)
        return access.place_at(frame, offset, address, size)

    def put(self, place: access.Place, value: IrBits) -> None:
        """See :class:`~emu.cpu.translator.machine.Places`."""
        access.put(self._frame, place, value)

    def _check(self, group: Group, is_store: bool, address: IrBits) -> str:
        table = access.WRITE if is_store else access.READ
        entry = self._frame.entry(is_store)
        size = group.high - group.low
        return access.stretch(self._frame, table, entry, address + group.low, size, Leave.CAREFUL)
