"""How a loop of one block counts: by the hardware's LCOUNT, or by a branch whose operands move evenly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from emu.cpu.translator.affine import Linear, Relation
from emu.cpu.translator.discover import CodeBlock
from emu.cpu.translator.frame import Frame
from emu.cpu.value_ir import IrBits, scalar

_COUNT, _END, _BEGIN = ("LCOUNT", 0), ("LEND", 0), ("LBEG", 0)
_TOP = 1 << 32


class Control(Protocol):
    """What a fast version has to know of a loop's end. Counts are 64 bits and include the last iteration."""

    def count(self, frame: Frame) -> tuple[IrBits, IrBits]:
        """Iterations from here on, and 1 bit: that is known for sure."""

    def after(self, frame: Frame, done: IrBits, is_all: bool) -> None:
        """Note that ``done`` iterations have run, all or some of them."""


@dataclass(frozen=True)
class HardwareLoop:
    """LCOUNT + 1 iterations, while LBEG and LEND are those of the block."""

    block: CodeBlock

    def count(self, frame: Frame) -> tuple[IrBits, IrBits]:
        """See :class:`Control`."""
        here = frame.read(_END).eq(self.block.end) & frame.read(_BEGIN).eq(self.block.start)
        return frame.read(_COUNT).zext(64) + 1, here

    def after(self, frame: Frame, done: IrBits, is_all: bool) -> None:
        """See :class:`Control`."""
        left = scalar(frame.em, 32, 0) if is_all else frame.read(_COUNT) - done.trunc(32)
        frame.write(_COUNT, left)


@dataclass(frozen=True)
class BranchLoop:
    """The branch at the end goes back while ``relation`` holds; ``step``: of its moving side."""

    relation: Relation
    step: int
    moves_left: bool
    """The left side moves, else the right one."""

    def count(self, frame: Frame) -> tuple[IrBits, IrBits]:
        """See :class:`Control`."""
        if self.relation.kind == "eq":
            return self._until_equal(frame)
        return self._while_below(frame)

    def after(self, frame: Frame, done: IrBits, is_all: bool) -> None:
        """Nothing: the registers have moved."""

    def _until_equal(self, frame: Frame) -> tuple[IrBits, IrBits]:
        """The distance shrinks to 0 by even steps."""
        left, right = frame.sum_of(self.relation.left), frame.sum_of(self.relation.right)
        distance = left - right if self.moves_left else right - left
        if self.step > 0:
            distance = distance._as_ir(0) - distance
        wide, size = distance.zext(64), abs(self.step)
        return wide.udiv(size) + 1, wide.urem(size).eq(0)

    def _while_below(self, frame: Frame) -> tuple[IrBits, IrBits]:
        """``low < high`` where one side moves towards the other, in numbers wide enough not to wrap."""
        left, right = (self._wide(frame, side) for side in (self.relation.left, self.relation.right))
        low, high = (right, left + 1) if self.relation.is_negated else (left, right)
        gap, size = high - low, abs(self.step)
        count = gap.slt(1).select(scalar(frame.em, 64, 1), (gap + (size - 1)).udiv(size) + 1)
        moving = left if self.moves_left else right
        last = moving + (count - 1) * self.step
        floor, top = (-(_TOP >> 1), _TOP >> 1) if self.relation.kind == "slt" else (0, _TOP)
        return count, ~last.slt(floor) & last.slt(top)

    def _wide(self, frame: Frame, side: Linear) -> IrBits:
        word = frame.sum_of(side)
        return word.sext(64) if self.relation.kind == "slt" else word.zext(64)


def branch_loop(relation: Relation, left_step: Linear, right_step: Linear) -> BranchLoop | None:
    """The control of a loop that goes on while ``relation`` holds; None when its end cannot be foreseen.

    ``left_step``, ``right_step``: how the two sides move in an iteration.
    """
    if left_step.terms or right_step.terms or bool(left_step.constant) == bool(right_step.constant):
        return None
    moves_left = bool(left_step.constant)
    step = left_step.constant if moves_left else right_step.constant
    step = step - _TOP if step >= _TOP >> 1 else step
    if relation.kind == "eq":
        return BranchLoop(relation, step, moves_left) if relation.is_negated else None
    is_low_side = moves_left != relation.is_negated
    return BranchLoop(relation, step, moves_left) if (step > 0) == is_low_side else None
