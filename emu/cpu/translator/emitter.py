"""Text of one LLVM function under construction.

Instruction semantics produce thousands of small operations; writing them as text at once is several times
faster than building an object for each and printing it afterwards.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

STATE = ", !tbaa !1"
TABLE = ", !tbaa !2"
GUEST = ", !tbaa !3"
SHADOW = ", !tbaa !9"
SELDOM = ", !prof !11"
RARELY = ", !prof !4"
METADATA = """
!0 = !{!"emu"}
!1 = !{!5, !5, i64 0}
!2 = !{!6, !6, i64 0}
!3 = !{!7, !7, i64 0}
!4 = !{!"branch_weights", i32 4000, i32 1}
!5 = !{!"state", !0}
!6 = !{!"tables", !0}
!7 = !{!"guest", !0}
!8 = !{}
!9 = !{!10, !10, i64 0}
!10 = !{!"shadow", !0}
!11 = !{!"branch_weights", i32 1, i32 4000}
"""
"""Processor state, tables, guest memory and its shadow never overlap; taken branches of RARELY are the
second.
"""


class Line(Protocol):
    """A line of text, or something that turns into one when the function is printed."""

    def __str__(self) -> str: ...


class Block:
    """A basic block: its label and its lines. It is closed by one terminator."""

    __slots__ = ("is_closed", "label", "lines")

    def __init__(self, label: str) -> None:
        self.label = label
        self.lines: list[Line] = []
        self.is_closed = False


def _nothing() -> None:
    """Nothing."""


class Emitter:
    """Appends lines to a current block; hands out value names and labels.

    `declarations` collects the intrinsics that the function calls.
    """

    def __init__(self, signature: str) -> None:
        """`signature` is the text between ``define`` and ``{``."""
        self.signature = signature
        self.declarations: set[str] = set()
        self.before_close: Callable[[], None] = _nothing
        """Called before a block ends, to write what must not be left for one of its successors."""
        self.entry = Block("entry")
        self.blocks = [self.entry]
        self.current = self.entry
        self._lines = self.entry.lines
        self._values = 0
        self._labels = 0

    def value(self, text: str) -> str:
        """Append ``%name = text`` and return the name."""
        self._values += 1
        name = f"%v{self._values}"
        self._lines.append(f"{name} = {text}")
        return name

    def fresh(self) -> str:
        """A name that no value has."""
        self._values += 1
        return f"%v{self._values}"

    def line(self, text: Line) -> None:
        """Append a line that defines nothing."""
        self._lines.append(text)

    def call(self, result: str, function: str, types: tuple[str, ...], arguments: str) -> str:
        """Call an intrinsic; `arguments` is the typed argument text."""
        self.declarations.add(f"declare {result} @{function}({', '.join(types)})")
        return self.value(f"call {result} @{function}({arguments})")

    def new_block(self, hint: str = "b") -> Block:
        """A block that is not yet part of the function."""
        self._labels += 1
        return Block(f"{hint}{self._labels}")

    def enter(self, block: Block) -> None:
        """Append `block` to the function and write there from now on."""
        self.blocks.append(block)
        self.resume(block)

    def resume(self, block: Block) -> None:
        """Write to a block that is already part of the function."""
        self.current = block
        self._lines = block.lines

    def close(self, terminator: Line) -> None:
        """End the current block; a second terminator is a fault of the caller."""
        self.before_close()
        if self.current.is_closed:
            raise AssertionError(f"block {self.current.label} has two terminators")
        self._lines.append(terminator)
        self.current.is_closed = True

    def jump(self, target: Block) -> None:
        """End the current block with a jump."""
        self.close(f"br label %{target.label}")

    def fork(self, condition: str, then: Block, otherwise: Block, weights: str = "") -> None:
        """End the current block with a two-way branch on an i1."""
        self.close(f"br i1 {condition}, label %{then.label}, label %{otherwise.label}{weights}")

    def text(self) -> str:
        """The whole function definition."""
        lines = [f"define {self.signature} {{"]
        for block in self.blocks:
            lines.append(f"{block.label}:")
            lines.extend(map(str, block.lines))
        lines.append("}")
        return "\n".join(lines)


def type_name(lane: int, count: int) -> str:
    """LLVM type of `count` lanes of `lane` bits."""
    return f"i{lane}" if count == 1 else f"<{count} x i{lane}>"


def constant(lane: int, lanes: tuple[int, ...]) -> str:
    """LLVM constant of these unsigned lanes (without its type)."""
    if len(lanes) == 1:
        return str(lanes[0]) if lane > 1 else ("true" if lanes[0] else "false")
    if not any(lanes):
        return "zeroinitializer"
    return "<" + ", ".join(f"i{lane} {x}" for x in lanes) + ">"
