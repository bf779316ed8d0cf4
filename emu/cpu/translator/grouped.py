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

    def _check(self, group: Group, is_store: bool, address: IrBits) -> str:
        table = access.WRITE if is_store else access.READ
        low, high = address + group.low, address + (group.high - 1)
        return access.find_range(self._frame, table, low, high, Leave.CAREFUL)
