"""Fast versions of loops: everything is checked once, then the body runs on plain pointers.

A loop whose body is one straight block with addresses that move by fixed steps gets a second version.
Before it, once for many iterations: every address range lies in memory with one host offset, no address
wraps, the budget and ACCX's window last, no register pane is occupied. Whatever fails the checks belongs
to the ordinary version, where all exactness lives.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from emu.cpu.map import PAGE, PAGE_BITS
from emu.cpu.translator.access import READ, WRITE, Place
from emu.cpu.translator.affine import Linear
from emu.cpu.translator.calls import engine_data
from emu.cpu.translator.cells import BUDGET
from emu.cpu.translator.discover import CodeBlock
from emu.cpu.translator.emitter import RARELY, TABLE
from emu.cpu.translator.engine_data import SPAN
from emu.cpu.translator.frame import Frame, Node
from emu.cpu.translator.scout import Access, Body
from emu.cpu.translator.windows import occupied
from emu.cpu.value_ir import IrBits, scalar

FEWEST = 3
"""Iterations for which the checks pay."""
MOST = 1 << 20
"""Iterations in one go."""


@dataclass
class Stream:
    """Accesses through one moving address. ``first``: the address of the first one, at the start of an
    iteration.
    """

    table: str
    first: Linear
    step: Linear
    accesses: list[tuple[int, Access]] = field(default_factory=list)
    """(distance from ``first``, access)"""

    @property
    def align(self) -> int:
        """Largest alignment to which an address is forced."""
        return max(access.address.align for _, access in self.accesses)

    @property
    def is_even(self) -> bool:
        """All addresses are forced alike and keep their distances."""
        align = self.align
        return all(d % align == 0 and access.address.align == align for d, access in self.accesses)

    @property
    def below(self) -> int:
        """Bytes before the first address that may be touched."""
        return -min(distance for distance, _ in self.accesses) + (0 if self.is_even else self.align - 1)

    @property
    def above(self) -> int:
        """Bytes behind the first address, its own included."""
        return max(distance + access.size for distance, access in self.accesses)


def streams_of(body: Body) -> dict[int, tuple[Stream, int]]:
    """The stream of each access and its distance there, by the place of the access in the body."""
    streams: list[Stream] = []
    found = {}
    for place, access in enumerate(body.accesses):
        table = WRITE if access.is_store else READ
        for stream in streams:
            distance = distance_of(stream.first, access.address)
            if stream.table == table and distance is not None and abs(distance) < PAGE // 4:
                break
        else:
            first = Linear(access.address.terms, access.address.constant)
            stream, distance = Stream(table, first, _step_of(body, first)), 0
            streams.append(stream)
        assert distance is not None
        stream.accesses.append((distance, access))
        found[place] = (stream, distance)
    return found


def copies_of(body: Body) -> int:
    """A power of two that gives the pending sums of ACCX work side by side."""
    macs = sum(".accx" in plan.insn.mnemonic and "vmulas" in plan.insn.mnemonic for plan in body.plans)
    if not macs:
        return 1
    return next((n for n in (4, 2) if n * macs <= 8 and n * len(body.plans) <= 32), 1)


def distance_of(a: Linear, b: Linear) -> int | None:
    """Constant distance from one address to another; None when it is not constant."""
    if dict(a.terms) != dict(b.terms):
        return None
    return ((b.constant - a.constant + (1 << 31)) & 0xFFFFFFFF) - (1 << 31)


def _step_of(body: Body, address: Linear) -> Linear:
    total = Linear()
    for register, count in address.terms.items():
        moved = total.plus(body.steps[register].times(count))
        assert moved is not None
        total = moved
    return total


class Version:
    """What fast versions have in common: ``head``, where they begin; ``checked``, the ordinary version."""

    def __init__(self, frame: Frame, head: Node, checked: Node) -> None:
        self.frame = frame
        self.em = frame.em
        self.head = head
        self.checked = checked
        self._next: Iterator[Place] = iter(())

    def place(self, is_store: bool, size: int, address: IrBits) -> Place:
        """Where the next access of the code goes; see :class:`~emu.cpu.translator.machine.Places`."""
        return next(self._next)

    def or_checked(self, condition: IrBits) -> None:
        """Go on only if the condition holds."""
        after = self.em.new_block("fits")
        self.frame.link(self.checked)
        self.em.fork(condition.name, after, self.checked.block)
        self.em.enter(after)

    def host_offset(self, table: str, low: IrBits, high: IrBits) -> IrBits:
        """The one host offset of all pages from ``low`` to ``high``."""
        em = self.em
        first, last = low.lshr(PAGE_BITS), high.lshr(PAGE_BITS)
        delta = self._entry(table, first)
        same = delta.eq(self._entry(table, last)) & delta.ne(0)
        self.or_checked(same)
        far, join = em.new_block("far"), em.new_block("near")
        em.fork((high - low).ult(PAGE).name, join, far)
        em.enter(far)
        function = engine_data(self.frame, SPAN)
        found = em.value(f"call i64 {function}(ptr %{table}, {first.typed}, {last.typed})")
        self.or_checked(delta.eq(IrBits.of(em, 64, 1, found)))
        em.jump(join)
        em.enter(join)
        return delta

    def _entry(self, table: str, page: IrBits) -> IrBits:
        at = self.em.value(f"getelementptr i64, ptr %{table}, i64 {page.name}")
        return IrBits.of(self.em, 64, 1, self.em.value(f"load i64, ptr {at}{TABLE}"))


class FastLoop(Version):
    """Writes head, checks and fast version of one loop; the ordinary version is the node ``checked``."""

    def __init__(self, frame: Frame, block: CodeBlock, body: Body, head: Node, checked: Node) -> None:
        super().__init__(frame, head, checked)
        self.block = block
        self.body = body
        self._length = len(body.plans)
        self.copies = copies_of(body) if frame.accumulator is not None else 1
        """Times that the body is written down in one go around."""
        self._is_lazy = bool(body.accx_writers) and frame.accumulator is not None
        self._pointers: list[tuple[str, IrBits, int]] = []
        self._limit = self._count = scalar(frame.em, 64, 0)
        self._counter, self._times_cell = f"%i.{block.start:x}", f"%n.{block.start:x}"
        frame.em.entry.lines[:0] = [f"{cell} = alloca i64" for cell in (self._counter, self._times_cell)]

    @property
    def is_dense(self) -> bool:
        """Every stream goes from one item to the next, so that LLVM may take several iterations at once."""
        streams = streams_of(self.body).values()
        return all(
            not stream.step.terms and stream.step.constant == access.size
            for stream, _ in streams
            for _, access in stream.accesses
        )

    # --- checks -----------------------------------------------------------------------------------------
    def open(self, has_windows: bool, margin: int) -> None:
        """Head and checks; what follows is the fast version, through :meth:`bodies`."""
        frame, em = self.frame, self.em
        frame.enter(self.head)
        self._count, worth = self.body.control.count(frame)
        worth = worth & ~self._count.ult(FEWEST)
        if has_windows and self.body.pane > self.block.window_level:
            worth = worth & ~occupied(frame, scalar(em, 32, self.body.pane), self.block.window_level)
        self.or_checked(worth)
        if self._is_lazy:
            self._open_window()
        self._limit = self._times(self._count, margin)
        self._pointers_of(self._limit)
        em.line(f"store i64 0, ptr {self._counter}")

    def _open_window(self) -> None:
        """ACCX's window must last for a few iterations, else a new one is opened."""
        frame, em = self.frame, self.em
        accumulator = frame.accumulator
        assert accumulator is not None
        renew, join = em.new_block("renew"), em.new_block("open")
        needed = (FEWEST + 2) * self._length
        fine = accumulator.stop().slt(frame.read(BUDGET) - needed)
        em.fork(fine.name, join, renew)
        em.enter(renew)
        self.or_checked(accumulator.renew(frame.read(BUDGET)))
        em.jump(join)
        em.enter(join)

    def _times(self, count: IrBits, margin: int) -> IrBits:
        """Iterations of the fast version: all of them, or as many as the budget and ACCX's window allow."""
        frame, em = self.frame, self.em
        budget = frame.read(BUDGET)
        room = budget - margin
        if self._is_lazy and frame.accumulator is not None:
            room = room.smin(budget - frame.accumulator.stop() - 2 * self._length)
        fits = count.ult(MOST) & ~room.slt(count * self._length)
        some, join = em.new_block("some"), em.new_block("all")
        em.line(f"store {count.typed}, ptr {self._times_cell}")
        em.fork(fits.name, join, some, RARELY)
        em.enter(some)
        times = count.smin(room.sdiv(self._length)).smin(MOST)
        em.line(f"store {times.typed}, ptr {self._times_cell}")
        self.or_checked(~times.slt(FEWEST))
        em.jump(join)
        em.enter(join)
        return IrBits.of(em, 64, 1, em.value(f"load i64, ptr {self._times_cell}"))

    def _pointers_of(self, times: IrBits) -> None:
        """Check the streams; note (host address, step, alignment) of each access."""
        em, made = self.em, dict[int, tuple[IrBits, str, IrBits]]()
        found = []
        for place, (stream, distance) in sorted(streams_of(self.body).items()):
            if id(stream) not in made:
                delta, first, step = self._check(stream, times)
                start = em.value(f"inttoptr i64 {(delta + first).name} to ptr")
                made[id(stream)] = (first, start, step)
            first, start, step = made[id(stream)]
            align = self.body.accesses[place].address.align
            offset: IrBits | int = distance
            if align > 1 and not stream.is_even:
                offset = ((first + distance) & -align) - first
            shown = offset if isinstance(offset, int) else offset.name
            found.append((em.value(f"getelementptr i8, ptr {start}, i64 {shown}"), step, align))
        self._pointers = found

    def _check(self, stream: Stream, times: IrBits) -> tuple[IrBits, IrBits, IrBits]:
        """Host offset, first guest address and step of a stream, if all of it is plain memory."""
        word = self.frame.sum_of(stream.first)
        first = ((word & -stream.align) if stream.is_even else word).zext(64)
        step = self.frame.sum_of(stream.step).sext(64)
        if stream.align > 1 and step.known_alignment < stream.align:
            self.or_checked((step & (stream.align - 1)).eq(0))
        last = first + step * (times - 1)
        low = first.smin(last) - stream.below
        high = first.smax(last) + (stream.above - 1)
        self.or_checked(~low.slt(0) & high.slt(1 << 32))
        return self.host_offset(stream.table, low, high), first, step

    # --- the fast version -------------------------------------------------------------------------------
    def bodies(self) -> Iterator[int]:
        """Enters each loop of the fast version in turn; gives the copies of the body to write into it.

        The first loop has several copies, the second one runs what is left over.
        """
        if self.copies > 1:
            whole = self._limit & -self.copies
            yield from self._loop(self.copies, whole)
        yield from self._loop(1, self._limit)
        self._close()

    def _loop(self, copies: int, limit: IrBits) -> Iterator[int]:
        """A loop that runs until the counter has reached ``limit``, perhaps not at all."""
        frame, em = self.frame, self.em
        test, body, after = (frame.new_node(hint) for hint in ("test", "fast", "after"))
        frame.goto(test)
        frame.enter(test)
        frame.link(body)
        frame.link(after)
        em.fork(self._index().ult(limit).name, body.block, after.block)
        frame.enter(body)
        if frame.accumulator is not None:
            frame.accumulator.is_open = True
        self._next = iter(self._places(copies))
        yield copies
        following = self._index() + copies
        em.line(f"store {following.typed}, ptr {self._counter}")
        frame.goto(test)
        frame.enter(after)

    def _index(self) -> IrBits:
        """Iterations so far."""
        return IrBits.of(self.em, 64, 1, self.em.value(f"load i64, ptr {self._counter}"))

    def _places(self, copies: int) -> list[Place]:
        em, index = self.em, self._index()
        places = []
        for copy in range(copies):
            for pointer, step, align in self._pointers:
                moved = em.value(f"getelementptr i8, ptr {pointer}, i64 {(index * step).name}")
                if copy:
                    moved = em.value(f"getelementptr i8, ptr {moved}, i64 {(step * copy).name}")
                places.append(Place(moved, align))
        return places

    def _close(self) -> None:
        """All iterations done: behind the loop; else back to the head for what is left."""
        frame, em, control = self.frame, self.em, self.body.control
        frame.write(BUDGET, frame.read(BUDGET) - self._limit * self._length)
        all_done, some = frame.new_node("alldone"), frame.new_node("somedone")
        frame.link(all_done)
        frame.link(some)
        em.fork(self._limit.eq(self._count).name, all_done.block, some.block, RARELY)
        frame.enter(some)
        control.after(frame, self._limit, is_all=False)
        frame.goto(self.head)
        frame.enter(all_done)
        control.after(frame, self._limit, is_all=True)
