"""Fast versions of two loops in each other, as vector kernels have them: rows outside, columns inside.

rows:   straight code ; loopnez n, end      (``before``) straight code                       (``inner``)
end:    straight code ; bnez rows_left, rows    (``behind``)

When every address moves by fixed steps in both directions and the inner count is the same for all rows, one
check in front covers all iterations of both loops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from emu.cpu.map import PAGE
from emu.cpu.plan import Plan
from emu.cpu.translator.access import READ, WRITE, Place
from emu.cpu.translator.accumulator import WINDOW
from emu.cpu.translator.affine import Linear
from emu.cpu.translator.cells import BUDGET
from emu.cpu.translator.controls import BranchLoop, HardwareLoop
from emu.cpu.translator.discover import Code, CodeBlock
from emu.cpu.translator.emitter import RARELY
from emu.cpu.translator.frame import Frame, Node
from emu.cpu.translator.machine import Choices
from emu.cpu.translator.modes import Mode
from emu.cpu.translator.scout import (
    Access,
    Body,
    NotStraight,
    ScoutMachine,
    branch_at_end,
    step_of,
    step_of_register,
)
from emu.cpu.translator.versions import MOST, Version, copies_of, distance_of
from emu.cpu.translator.windows import occupied
from emu.cpu.value_ir import IrBits, scalar

_COUNT = ("LCOUNT", 0)
_ZERO = "ee.zero.accx"


@dataclass(frozen=True)
class NestAccess:
    """An access in terms of the registers at the start of a row; ``inner``: its step in the inner loop."""

    access: Access
    inner: int


@dataclass(frozen=True)
class Nest:
    """Two loops. ``count``: iterations of the inner one, in terms of the registers at the start of a row."""

    before: CodeBlock
    inner: Body
    behind: CodeBlock
    count: Linear
    control: BranchLoop
    parts: tuple[tuple[NestAccess, ...], ...]
    """Accesses of before, inner and behind."""
    steps: tuple[Linear, ...]
    """How their addresses move from row to row, in the same order, all parts in a line."""

    @property
    def plans(self) -> list[Plan]:
        """Every instruction."""
        return [*self.before.plans, *self.inner.plans, *self.behind.plans]

    @property
    def accx_writers(self) -> frozenset[str]:
        """Mnemonics that change ACCX."""
        names = {plan.insn.mnemonic for plan in self.plans}
        return frozenset(n for n in names if "accx" in n and not n.startswith(("rur.", "ee.st.")))

    @property
    def starts_from_zero(self) -> bool:
        """Every row sets ACCX to 0 before it adds to it."""
        names = [plan.insn.mnemonic for plan in self.before.plans]
        return next((n for n in names if n in self.accx_writers), "") == _ZERO


def find_nest(code: Code, start: int, bodies: dict[int, Body], mode: Mode, choices: Choices) -> Nest | None:
    """The nest whose rows start at a block; None when there is none, or none with a fast version."""
    before = code.blocks[start]
    inner = code.blocks.get(before.end)
    behind = code.blocks.get(inner.end) if inner else None
    if before.last.insn.row.flow != "loop" or inner is None or behind is None:
        return None
    body = bodies.get(inner.start)
    is_closed = before.last.insn.operands["target"] == behind.start and start in behind.last.following
    if body is None or not isinstance(body.control, HardwareLoop) or not is_closed:
        return None
    try:
        return _scout(before, body, behind, ScoutMachine(mode, choices), ScoutMachine(mode, choices))
    except NotStraight:
        return None


def _scout(
    before: CodeBlock, body: Body, behind: CodeBlock, rows: ScoutMachine, columns: ScoutMachine
) -> Nest | None:
    for plan in before.plans[:-1]:
        rows.run(plan)
    count = rows.registers[before.last.insn.operands["s"]].linear
    if count is None:
        return None
    first = [NestAccess(access, 0) for access in rows.accesses]
    for plan in body.plans:
        columns.run(plan)
    second = _inner_accesses(columns, rows)
    _run_through(columns, rows, count)
    done = len(rows.accesses)
    for plan in behind.plans[:-1]:
        rows.run(plan)
    third = [NestAccess(access, 0) for access in rows.accesses[done:]]
    control = branch_at_end(rows, behind.plans[-1])
    steps = [step_of(rows, item.access.address) for item in (*first, *second, *third)]
    if control is None or step_of(rows, count) != Linear() or any(step is None for step in steps):
        return None
    parts = (tuple(first), tuple(second), tuple(third))
    return Nest(before, body, behind, count, control, parts, tuple(s for s in steps if s is not None))


def _inner_accesses(columns: ScoutMachine, rows: ScoutMachine) -> list[NestAccess]:
    values = [form.linear for form in rows.registers]
    found = []
    for access in columns.accesses:
        address, step = access.address.replaced(values), step_of(columns, access.address)
        if address is None or step is None or step.terms:
            raise NotStraight
        moved = (step.constant + (1 << 31) & 0xFFFFFFFF) - (1 << 31)
        found.append(NestAccess(Access(access.is_store, access.size, address), moved))
    return found


def _run_through(columns: ScoutMachine, rows: ScoutMachine, count: Linear) -> None:
    """The registers behind the inner loop."""
    for index in range(16):
        step = step_of_register(columns, index)
        now = rows.registers[index]
        known = None if step is None or step.terms or now.linear is None else step.constant
        if known is None or now.linear is None:
            rows.registers[index] = rows.named(type(now)(32))
        elif known:
            rows.registers[index] = type(now)(32, 1, now.linear.plus(count.times(known)))


@dataclass
class NestStream:
    """Accesses through one address that moves from row to row."""

    table: str
    first: Linear
    step: Linear
    members: list[tuple[int, NestAccess]] = field(default_factory=list)

    @property
    def align(self) -> int:
        """Largest alignment to which an address is forced."""
        return max(item.access.address.align for _, item in self.members)

    @property
    def is_even(self) -> bool:
        """All addresses are forced alike and keep their distances."""
        align = self.align
        return all(
            d % align == 0 and item.inner % align == 0 and item.access.address.align == align
            for d, item in self.members
        )


class FastNest(Version):
    """Writes head, checks and fast version of a nest."""

    def __init__(self, frame: Frame, nest: Nest, head: Node, checked: Node) -> None:
        super().__init__(frame, nest.before.start, head, checked)
        self.nest = nest
        name = f"{nest.before.start:x}"
        self._row, self._column = f"%row.{name}", f"%column.{name}"
        frame.em.entry.lines[:0] = [f"{cell} = alloca i64" for cell in (self._row, self._column)]
        self._rows = self._columns = scalar(frame.em, 64, 0)
        self._starts: list[tuple[str, int, IrBits, int, int]] = []

    # --- checks -----------------------------------------------------------------------------------------
    def open(self, has_windows: bool, margin: int) -> None:
        """Head and checks."""
        frame, nest = self.frame, self.nest
        frame.enter(self.head)
        self._rows, worth = nest.control.count(frame)
        self._columns = frame.sum_of(nest.count).zext(64)
        worth = worth & (self._columns - 1).ult(MOST) & self._rows.ult(MOST) & ~self._rows.ult(2)
        pane = max(plan.pane for plan in nest.plans)
        if has_windows and pane > nest.before.window_level:
            worth = worth & ~occupied(frame, scalar(self.em, 32, pane), nest.before.window_level)
        self.or_checked(worth)
        self.or_checked(self._has_room(margin))
        self._find_streams()

    @property
    def _row_length(self) -> IrBits:
        """Instructions of a row."""
        nest = self.nest
        return self._columns * len(nest.inner.plans) + len(nest.before.plans) + len(nest.behind.plans)

    def _has_room(self, margin: int) -> IrBits:
        """The budget lasts for all rows, ACCX's window for a row that starts from 0, else for all of them."""
        frame = self.frame
        budget, everything = frame.read(BUDGET), self._rows * self._row_length
        fits = ~(budget - margin).slt(everything)
        accumulator = frame.accumulator
        if accumulator is None or not self.nest.accx_writers:
            return fits
        if self.nest.starts_from_zero:
            return fits & self._row_length.ult(WINDOW)
        return fits & accumulator.stop().slt(budget - everything)

    def _find_streams(self) -> None:
        """Check the streams; note for each access where it starts, and how it moves."""
        em = self.em
        made: dict[int, tuple[str, IrBits, IrBits]] = {}
        for stream, distance, item in self._streams():
            if id(stream) not in made:
                made[id(stream)] = self._check(stream)
            start, first, step = made[id(stream)]
            align = item.access.address.align
            offset = distance
            if align > 1 and not stream.is_even:
                slack = self._slack(first, distance, align)
                start, offset = em.value(f"getelementptr i8, ptr {start}, i64 {slack}"), 0
            self._starts.append((start, offset, step, item.inner, align))

    @staticmethod
    def _slack(first: IrBits, distance: int, align: int) -> str:
        return (((first + distance) & -align) - first).name

    def _streams(self) -> list[tuple[NestStream, int, NestAccess]]:
        streams: list[NestStream] = []
        found = []
        items = [item for part in self.nest.parts for item in part]
        for item, step in zip(items, self.nest.steps, strict=True):
            table, address = (WRITE if item.access.is_store else READ), item.access.address
            for stream in streams:
                distance = distance_of(stream.first, address)
                if stream.table == table and distance is not None and abs(distance) < PAGE // 4:
                    break
            else:
                stream, distance = NestStream(table, Linear(address.terms, address.constant), step), 0
                streams.append(stream)
            assert distance is not None
            stream.members.append((distance, item))
            found.append((stream, distance, item))
        return found

    def _check(self, stream: NestStream) -> tuple[str, IrBits, IrBits]:
        """Host and guest address of a stream's start and its step, if all of it is plain memory."""
        frame, em, align = self.frame, self.em, stream.align
        word = frame.sum_of(stream.first)
        first = ((word & -align) if stream.is_even else word).zext(64)
        step = frame.sum_of(stream.step).sext(64)
        inner = {item.inner for _, item in stream.members}
        if align > 1 and (step.known_alignment < align or any(move % align for move in inner)):
            even = all(move % align == 0 for move in inner)
            self.or_checked((step & (align - 1)).eq(0) & int(even))
        last = first + step * (self._rows - 1)
        low, high = first.smin(last), first.smax(last)
        below, above = self._reach(stream, first)
        low, high = low + below, high + above
        delta = self.host_offset(stream.table, low, high)
        return em.value(f"inttoptr i64 {(delta + first).name} to ptr"), first, step

    def _reach(self, stream: NestStream, like: IrBits) -> tuple[IrBits, IrBits]:
        """Distances of the first and the last byte of a row from the stream's address."""
        slack = 0 if stream.is_even else stream.align - 1
        low: IrBits = like._as_ir(0)
        high: IrBits = like._as_ir(0)
        for distance, item in stream.members:
            travel = (self._columns - 1) * item.inner
            low = low.smin(travel.smin(0) + (distance - slack))
            high = high.smax(travel.smax(0) + (distance + item.access.size - 1 + slack))
        return low, high

    # --- the fast version -------------------------------------------------------------------------------
    def pieces(self) -> Iterator[Sequence[Plan]]:
        """Enters each piece of the fast version in turn; gives the instructions to write there."""
        frame, em, nest = self.frame, self.em, self.nest
        em.line(f"store i64 0, ptr {self._row}")
        test, body, done = (frame.new_node(hint) for hint in ("rows", "fastrow", "rowsdone"))
        self._enter_test(test, body, done, self._row, self._rows)
        yield from self._piece(nest.before.plans, 0)
        yield from self._columns_of_row()
        frame.write(_COUNT, scalar(em, 32, 0))
        yield from self._piece(nest.behind.plans[:-1], 2)
        self._count_up(self._row, 1)
        frame.goto(test)
        frame.enter(done)
        frame.write(BUDGET, frame.read(BUDGET) - self._rows * self._row_length)

    def _columns_of_row(self) -> Iterator[Sequence[Plan]]:
        body, em = self.nest.inner, self.em
        copies = copies_of(body) if self.frame.accumulator is not None else 1
        em.line(f"store i64 0, ptr {self._column}")
        if copies > 1:
            yield from self._column_loop(copies, self._columns & -copies)
        yield from self._column_loop(1, self._columns)

    def _column_loop(self, copies: int, limit: IrBits) -> Iterator[Sequence[Plan]]:
        frame = self.frame
        test, body, after = (frame.new_node(hint) for hint in ("columns", "fastcolumn", "columnsdone"))
        self._enter_test(test, body, after, self._column, limit)
        yield from self._piece(self.nest.inner.plans * copies, 1, copies)
        self._count_up(self._column, copies)
        frame.goto(test)
        frame.enter(after)

    def _enter_test(self, test: Node, body: Node, after: Node, counter: str, limit: IrBits) -> None:
        frame = self.frame
        frame.goto(test)
        frame.enter(test)
        frame.link(body)
        frame.link(after)
        self.em.fork(self._value(counter).ult(limit).name, body.block, after.block, RARELY)
        frame.enter(body)

    def _piece(self, plans: Sequence[Plan], part: int, copies: int = 1) -> Iterator[Sequence[Plan]]:
        if self.frame.accumulator is not None:
            self.frame.accumulator.is_open = True
        self._next = iter(self._places(part, copies))
        yield plans

    def _places(self, part: int, copies: int) -> list[Place]:
        em, row = self.em, self._value(self._row)
        column = self._value(self._column) if part == 1 else None
        before = sum(len(accesses) for accesses in self.nest.parts[:part])
        places = []
        for copy in range(copies):
            for start, offset, step, inner, align in self._starts[before:][: len(self.nest.parts[part])]:
                moved = em.value(f"getelementptr i8, ptr {start}, i64 {(row * step).name}")
                if column is not None:
                    moved = em.value(f"getelementptr i8, ptr {moved}, i64 {(column * inner).name}")
                    offset += copy * inner
                places.append(Place(em.value(f"getelementptr i8, ptr {moved}, i64 {offset}"), align))
                offset -= copy * inner if column is not None else 0
        return places

    def _value(self, counter: str) -> IrBits:
        return IrBits.of(self.em, 64, 1, self.em.value(f"load i64, ptr {counter}"))

    def _count_up(self, counter: str, by: int) -> None:
        self.em.line(f"store {(self._value(counter) + by).typed}, ptr {counter}")
