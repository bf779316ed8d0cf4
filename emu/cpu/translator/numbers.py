"""Float results that are expected to be numbers.

The payload of a NaN follows a rule of its own (:mod:`emu.isa.semantics.fp_nan`), which costs several host
instructions for every result. Units therefore bet that results are numbers, and give up in front of the first
one that is none: the stepper goes on, and the unit is made again without the bet (``Code.has_nans``).

Ordinary code looks at each result. A fast loop looks once in an iteration: a NaN stays one through all
arithmetic, so that only results which no other result is made of have to be looked at. Until then the
iteration has changed nothing that cannot be undone: its stores wait, its registers are kept.
"""

from __future__ import annotations

from collections.abc import Sequence

from emu.cpu.translator import access
from emu.cpu.translator.cells import Key
from emu.cpu.translator.emitter import SELDOM
from emu.cpu.translator.frame import Frame, Late
from emu.cpu.translator.leave import Leave
from emu.cpu.value_ir import IrBits


class CheckedNumbers:
    """Leaves the unit in front of the instruction whose result is NaN."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def number(self, result: IrBits, operands: Sequence[IrBits]) -> IrBits:
        """See :class:`~emu.cpu.translator.machine.Numbers`."""
        frame, raw = self._frame, result.raw_float
        is_number = frame.em.value(f"fcmp ord float {raw}, 0.0")
        frame.exit_unless(is_number, frame.exact_pc, Leave.NAN)
        return IrBits.of_float(frame.em, raw)


class IterationNumbers:
    """One iteration of a fast loop, in the node that was entered last."""

    def __init__(self, frame: Frame) -> None:
        self._frame = frame
        self._body = frame.node
        self._undone = frame.new_node("nan")
        self._watched: dict[str, None] = {}
        """LLVM names of the results that no later result is made of."""
        self._stores: list[tuple[access.Place, IrBits]] = []
        self._kept: dict[Key, str] = {}
        frame.em.line(Late(self._keep))

    def number(self, result: IrBits, operands: Sequence[IrBits]) -> IrBits:
        """See :class:`~emu.cpu.translator.machine.Numbers`."""
        for operand in operands:
            self._watched.pop(operand.float_if_known, None)
        self._watched[result.raw_float] = None
        return IrBits.of_float(self._frame.em, result.raw_float)

    def put(self, place: access.Place, value: IrBits) -> None:
        """Store, at the end of the iteration."""
        self._stores.append((place, value))

    def settle(self) -> None:
        """The end of the iteration: look at the results, then store."""
        frame, em = self._frame, self._frame.em
        names = list(self._watched)
        pairs = zip(names[::2], [*names[1::2], "0.0"], strict=False)
        tests = [em.value(f"fcmp uno float {a}, {b}") for a, b in pairs]
        found = tests[0] if tests else "false"
        for test in tests[1:]:
            found = em.value(f"or i1 {found}, {test}")
        after = em.new_block("numbers")
        frame.link(self._undone)
        em.fork(found, self._undone.block, after, SELDOM)
        em.enter(after)
        for place, value in self._stores:
            access.put(frame, place, value)

    def undo(self) -> None:
        """Go on where a NaN was found, with the state at the start of the iteration."""
        self._frame.enter(self._undone)
        self._frame.em.line(Late(self._restore))

    def _keep(self) -> str:
        """Lines for the start: the cells that the iteration writes."""
        lines = []
        for key in sorted(self._body.dirty):
            cell = self._frame.cells[key]
            name = self._kept[key] = self._frame.em.fresh()
            lines.append(f"{name} = load {cell.type}, ptr {cell.name}")
        return "\n".join(lines)

    def _restore(self) -> str:
        cells = self._frame.cells
        lines = (f"store {cells[k].type} {name}, ptr {cells[k].name}" for k, name in self._kept.items())
        return "\n".join(lines)
