"""Registers that are read before the function has written them.

Physical address registers are followed through calls: an argument register that the caller did not set is
noticed in the callee. At ``entry`` and behind a call nothing is known to be in the vector, float, boolean and
MAC16 registers, the accumulators and SAR, since the calling convention keeps none of them. Not noticed:
spilling to the stack, parts of a register being replaced, moves under a condition, and ``xor``/``sub`` of a
register with itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from emu.cpu.diagnostics import Check, Diagnostics
from emu.cpu.plan import Plan
from emu.cpu.state import WINDOW_REGISTERS, CpuState

if TYPE_CHECKING:
    from emu.cpu.checker import Stack

Key = tuple[str, int]

_STATES = ("ACCX", "QACC_H", "QACC_L", "UA_STATE", "SAR_BYTE", "SAR", "ACC")
_VOLATILE: tuple[Key, ...] = (
    *(("qr", i) for i in range(8)),
    *(("fr", i) for i in range(16)),
    *(("br", i) for i in range(16)),
    *(("mr", i) for i in range(4)),
    *((name, 0) for name in _STATES),
)
_STORE = re.compile(r"(s32i|s16i|s8i|s32e|s32ri|s32nb|ssi|ssx|ssip|ssxp|ee\.st|ee\.vst)")
_BASES = ("s", "as")
"""Names of the operand that holds a store's address."""
_REPLACES_PART = re.compile(
    r"wur\.|wsr\.|xsr\.|ee\.movi\.32\.q|ee\.vld\.[hl]\.64|ee\.ld\.qacc|mov(eqz|nez|ltz|gez|f|t)(\.s)?$"
)
_SELF_CANCELLING = ("xor", "sub", "ee.xorq", "ee.vsubs.s8", "ee.vsubs.s16", "ee.vsubs.s32")
_NAMES = {"qr": "q", "fr": "f", "br": "b", "mr": "m"}


class RegisterCheck:
    """Which registers hold nothing that the running function may use."""

    def __init__(self, state: CpuState, diagnostics: Diagnostics, stack: Stack) -> None:
        self.state = state
        self.diagnostics = diagnostics
        self.stack = stack
        self._unwritten: set[Key] = set()
        self._uses: dict[Plan, tuple[tuple[Key, ...], tuple[Key, ...]]] = {}

    def begin(self, arguments: int) -> None:
        """Only the stack pointer, the return address and the arguments are set."""
        base = self._place(0)
        self._unwritten = {("ar", i) for i in range(WINDOW_REGISTERS)} | set(_VOLATILE)
        for index in (0, 1, 8, *range(10, 10 + arguments)):
            self._unwritten.discard(("ar", (base + index) & 63))

    def before(self, plan: Plan) -> None:
        """Note what the instruction reads."""
        if not self._unwritten or self._is_spill(plan):
            return
        for key in self._reads(plan):
            place = self._physical(key)
            if place in self._unwritten:
                self._unwritten.discard(place)
                self.diagnostics.note(Check.REGISTERS, plan.insn.pc, self._text(key, place))

    def after(self, plan: Plan, in_handler: bool) -> None:
        """What it has written is set; calls and returns leave nothing else."""
        if plan.is_entry:
            self._entered(in_handler)
        elif plan.is_return:
            self._returned(in_handler)
        else:
            self._unwritten.difference_update(self._physical(key) for key in self._writes(plan))

    def filled(self, step: int) -> None:
        """Registers that come back from the stack count as set."""
        base = self._place(0) - 4 * step
        self._unwritten.difference_update(("ar", (base + i) & 63) for i in range(4 * step))

    # --- calls --------------------------------------------------------------------------------------------
    def _entered(self, in_handler: bool) -> None:
        """a0 and a1 are set, a2..a7 are the arguments, as far as the caller set them."""
        base = self._place(0)
        self._unwritten.difference_update((("ar", base & 63), ("ar", (base + 1) & 63)))
        self._lose(2, ())
        if not in_handler:
            self._unwritten.update(_VOLATILE)

    def _returned(self, in_handler: bool) -> None:
        """PS.CALLINC is the step of the call that has returned; its results are a2..a5 of the callee."""
        step = int(self.state.PSCALLINC)
        self._lose(step, range(4 * step + 2, 4 * step + 6))
        if not in_handler:
            self._unwritten.update(_VOLATILE)

    def _lose(self, first: int, kept: Sequence[int]) -> None:
        """The panes from ``first`` on are not set, up to one that still belongs to an older frame."""
        state, base = self.state, self._place(0)
        for pane in range(max(first, 1), 4):
            if state.WindowStart >> ((state.WindowBase + pane) & 15) & 1:
                return
            indices = (i for i in range(4 * pane, 4 * pane + 4) if i not in kept)
            self._unwritten.update(("ar", (base + i) & 63) for i in indices)

    def spilled(self, frame: int, panes: int) -> None:
        """The registers of an older frame, which starts at window ``frame``, are free now."""
        self._unwritten.update(("ar", (4 * frame + i) & 63) for i in range(4 * panes))

    # --- what an instruction uses -------------------------------------------------------------------------
    def _reads(self, plan: Plan) -> tuple[Key, ...]:
        return self._used(plan)[0]

    def _writes(self, plan: Plan) -> tuple[Key, ...]:
        return self._used(plan)[1]

    def _used(self, plan: Plan) -> tuple[tuple[Key, ...], tuple[Key, ...]]:
        found = self._uses.get(plan)
        if found is None:
            found = self._uses[plan] = (_read_keys(plan), _written_keys(plan))
        return found

    def _is_spill(self, plan: Plan) -> bool:
        """A store whose address lies on the stack."""
        if not _STORE.match(plan.insn.mnemonic):
            return False
        base = next((plan.files[name][1] for name in _BASES if name in plan.files), None)
        return base is not None and self.stack.start <= self.state.get_a(base) < self.stack.end

    def _place(self, index: int) -> int:
        return 4 * int(self.state.WindowBase) + index

    def _physical(self, key: Key) -> Key:
        return ("ar", self._place(key[1]) & 63) if key[0] == "ar" else key

    def _text(self, key: Key, place: Key) -> str:
        file, index = key
        if file == "ar":
            return f"a{index} = {self.state.ar[place[1]]:#010x}"
        return f"{_NAMES[file]}{index}" if file in _NAMES else file


def _read_keys(plan: Plan) -> tuple[Key, ...]:
    mnemonic, row = plan.insn.mnemonic, plan.insn.row
    partial = bool(_REPLACES_PART.match(mnemonic))
    found: list[Key] = []
    for operand in row.operands + row.implicit:
        if operand.is_read and operand.name in plan.files and not (partial and operand.is_written):
            found += _keys(*plan.files[operand.name])
    if not partial:
        found += [(use.name, 0) for use in row.states if use.role != "out" and use.name in _STATES]
    if mnemonic in _SELF_CANCELLING and len(set(found)) == 1:
        return ()
    return tuple(found)


def _written_keys(plan: Plan) -> tuple[Key, ...]:
    row = plan.insn.row
    found: list[Key] = []
    for operand in row.operands + row.implicit:
        if operand.is_written and operand.name in plan.files:
            found += _keys(*plan.files[operand.name])
    return (*found, *((use.name, 0) for use in row.states if use.role != "in" and use.name in _STATES))


def _keys(file: str, index: int, regs: int) -> list[Key]:
    return [(file, index + i) for i in range(regs if file == "br" else 1)]
