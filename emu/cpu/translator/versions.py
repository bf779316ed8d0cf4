"""Fast versions of loops: everything is checked once, then the body runs on plain pointers.

A loop whose body is one straight block with addresses that move by fixed steps gets a second version.
Before it, once for many iterations: every address range lies in memory with one host offset, no address
wraps, the budget and ACCX's window last, no register pane is occupied. Whatever fails the checks belongs
to the ordinary version, where all exactness lives.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from emu.cpu.map import PAGE
from emu.cpu.translator.access import READ, WRITE, Place, place_at, put
from emu.cpu.translator.affine import Linear, Shifted
from emu.cpu.translator.calls import engine_data
from emu.cpu.translator.cells import BUDGET
from emu.cpu.translator.discover import CodeBlock
from emu.cpu.translator.emitter import RARELY, TABLE
from emu.cpu.translator.engine_data import REACH, entry_offset
from emu.cpu.translator.frame import Frame, Node
from emu.cpu.translator.numbers import IterationNumbers
from emu.cpu.translator.scout import Access, Body
from emu.cpu.translator.windows import occupied
from emu.cpu.value_ir import IrBits, scalar

_BOOLEANS = ("br", 0)
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
    def is_plain(self) -> bool:
        """Nothing forces the addresses, and the start of the loop knows all of them."""
        return self.align == 1 and not any(access.is_computed for _, access in self.accesses)

    @property
    def part(self) -> tuple[Shifted, int] | None:
        """The other summand of all its addresses (see Access)."""
        return self.accesses[0][1].part

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
        return max(distance + access.size + access.slack for distance, access in self.accesses)


def streams_of(body: Body) -> dict[int, tuple[Stream, int]]:
    """The stream of each access and its distance there, by the place of the access in the body."""
    streams: list[Stream] = []
    found = {}
    for place, access in enumerate(body.accesses):
        table = WRITE if access.is_store else READ
        for stream in streams:
            distance = distance_of(stream.first, access.address)
            is_same = stream.table == table and stream.part == access.part
            if is_same and distance is not None and abs(distance) < PAGE // 4:
                break
        else:
            first = Linear(access.address.terms, access.address.constant)
            stream, distance = Stream(table, first, step_in(body, first)), 0
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


def step_in(body: Body, address: Linear) -> Linear:
    """How a sum of registers moves in an iteration."""
    total = Linear()
    for register, count in address.terms.items():
        moved = total.plus(body.steps[register].times(count))
        assert moved is not None
        total = moved
    return total


def ends_of(first: IrBits, travel: IrBits, step: Linear) -> tuple[IrBits, IrBits]:
    """The smaller and the larger one of ``first`` and ``first + travel``; ``step`` may tell the sign."""
    last = first + travel
    if not step.terms:
        return (last, first) if step.constant >> 31 else (first, last)
    return first.smin(last), first.smax(last)


class Version:
    """What fast versions have in common: ``head``, where they begin; ``checked``, the ordinary version;
    ``start``: guest address.
    """

    def __init__(self, frame: Frame, start: int, head: Node, checked: Node) -> None:
        self.frame = frame
        self.start = start
        self._sites = 0
        self.em = frame.em
        self.head = head
        self.checked = checked
        self._next: Iterator[Place | str] = iter(())
        """Places, or host offsets for accesses whose address has to be asked for."""

    def place(self, is_store: bool, size: int, address: IrBits) -> Place:
        """Where the next access of the code goes; see :class:`~emu.cpu.translator.machine.Places`."""
        found = next(self._next)
        return place_at(self.frame, found, address, size) if isinstance(found, str) else found

    def put(self, place: Place, value: IrBits) -> None:
        """Store to such a place."""
        put(self.frame, place, value)

    def or_checked(self, condition: IrBits) -> None:
        """Go on only if the condition holds."""
        after = self.em.new_block("fits")
        self.frame.link(self.checked)
        self.em.fork(condition.name, after, self.checked.block)
        self.em.enter(after)

    def host_offset(self, table: str, low: IrBits, high: IrBits) -> IrBits:
        """The one host offset of all bytes from ``low`` to ``high``, 64 bits each; else the ordinary version.

        Each place that asks has an entry of the engine for its last answer (engine_data.py).
        """
        em = self.em
        entry = self._entry_of_site(table)
        first, length = (self._field(entry, "i32", offset).zext(64) for offset in (0, 4))
        known = self._field(entry, "i64", 8)
        fits = (low - first).ult(length) & (high - first).ult(length)
        far, join = em.new_block("far"), em.new_block("near")
        found_in = em.current.label
        em.fork(fits.name, join, far, RARELY)
        em.enter(far)
        function = engine_data(self.frame, REACH)
        asked = em.value(
            f"call preserve_allcc i64 {function}(ptr %{table}, {low.typed}, {high.typed}, ptr {entry})"
        )
        self.or_checked(IrBits.of(em, 64, 1, asked).ne(0))
        asked_in = em.current.label
        em.jump(join)
        em.enter(join)
        text = f"phi i64 [ {known.name}, %{found_in} ], [ {asked}, %{asked_in} ]"
        return IrBits.of(em, 64, 1, em.value(text))

    def _entry_of_site(self, table: str) -> str:
        self._sites += 1
        offset = entry_offset(self.start, 16 + self._sites, table == WRITE)
        return self.em.value(f"getelementptr i8, ptr %engine, i64 {offset}")

    def _field(self, entry: str, kind: str, offset: int) -> IrBits:
        at = self.em.value(f"getelementptr i8, ptr {entry}, i64 {offset}")
        bits = int(kind[1:])
        return IrBits.of(self.em, bits, 1, self.em.value(f"load {kind}, ptr {at}{TABLE}"))


class FastLoop(Version):
    """Writes head, checks and fast version of one loop; the ordinary version is the node ``checked``."""

    def __init__(self, frame: Frame, block: CodeBlock, body: Body, head: Node, checked: Node) -> None:
        super().__init__(frame, block.start, head, checked)
        self.block = block
        self.body = body
        self._length = len(body.plans)
        self.copies = copies_of(body) if frame.accumulator is not None else 1
        """Times that the body is written down in one go around."""
        self._is_lazy = bool(body.accx_writers) and frame.accumulator is not None
        self._pointers: list[tuple[str, IrBits, int] | str] = []
        self.numbers: IterationNumbers | None = None
        """Of the loop that is written, where float results are looked at once an iteration."""
        self._expects_numbers = False
        self._limit = self._count = scalar(frame.em, 64, 0)
        self._booleans: IrBits | None = None
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

    @property
    def _looks_once(self) -> bool:
        """An iteration can be begun again while its stores wait: float results are looked at all together.

        Where LLVM may take several iterations at once, and where nothing but loads follows a store, NaNs are
        chosen where they arise.
        """
        stores = [access.is_store for access in self.body.accesses]
        has_floats = any(plan.insn.row.group == "fp" for plan in self.body.plans)
        return has_floats and stores == sorted(stores) and not self.is_dense and not self.body.accx_writers

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
        if self.body.booleans:
            self._booleans = frame.read(_BOOLEANS)
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
        """Check the streams; note (host address, step, alignment) of each access, or its host offset."""
        em, made = self.em, dict[int, tuple[IrBits, str, IrBits, str]]()
        found: list[tuple[str, IrBits, int] | str] = []
        opened: list[tuple[Stream, str, IrBits]] = []
        for place, (stream, distance) in sorted(streams_of(self.body).items()):
            if id(stream) not in made:
                delta, first, step = self._check(stream, times)
                start = self._start_of(stream, delta + first, opened)
                made[id(stream)] = (first, start, step, delta.name)
            first, start, step, host = made[id(stream)]
            if self.body.accesses[place].is_computed:
                found.append(host)
                continue
            align = self.body.accesses[place].address.align
            offset: IrBits | int = distance
            if align > 1 and not stream.is_even:
                offset = ((first + distance) & -align) - first
            shown = offset if isinstance(offset, int) else offset.name
            found.append((em.value(f"getelementptr i8, ptr {start}, i64 {shown}"), step, align))
        self._pointers = found

    def _start_of(self, stream: Stream, host: IrBits, opened: list[tuple[Stream, str, IrBits]]) -> str:
        """Pointer to a stream's first byte, whose host address is ``host``.

        What is changed in place is one stream of loads and one of stores: with one pointer for both, LLVM
        knows how far apart they are, and may take several iterations at once.
        """
        em = self.em
        for other, start, place in opened if stream.is_plain else ():
            distance = distance_of(other.first, stream.first)
            if other.is_plain and distance is not None and abs(distance) < PAGE // 4:
                self.or_checked(host.eq(place + distance))
                return em.value(f"getelementptr i8, ptr {start}, i64 {distance}")
        start = em.value(f"inttoptr i64 {host.name} to ptr")
        opened.append((stream, start, host))
        return start

    def _check(self, stream: Stream, times: IrBits) -> tuple[IrBits, IrBits, IrBits]:
        """Host offset, first guest address and step of a stream, if all of it is plain memory."""
        word = self.frame.sum_of(stream.first)
        first = ((word & -stream.align) if stream.is_even else word).zext(64)
        step = self.frame.sum_of(stream.step).sext(64)
        if stream.align > 1 and step.known_alignment < stream.align:
            self.or_checked((step & (stream.align - 1)).eq(0))
        low, high = ends_of(first, step * (times - 1), stream.step)
        low, high = low - stream.below, high + (stream.above - 1)
        if stream.part is not None:
            least, most = self._ends_of_part(stream.part[0], times)
            low, high = low + least * stream.part[1], high + most * stream.part[1]
        return self.host_offset(stream.table, low, high), first, step

    def _ends_of_part(self, part: Shifted, times: IrBits) -> tuple[IrBits, IrBits]:
        """Smallest and largest value of a shifted sum of registers, 64 bits, if the sum does not wrap."""
        way, word = step_in(self.body, part.of), self.frame.sum_of(part.of)
        step, first = self.frame.sum_of(way).sext(64), word.sext(64) if part.is_signed else word.zext(64)
        low, high = ends_of(first, step * (times - 1), way)
        floor, top = (-(1 << 31), 1 << 31) if part.is_signed else (0, 1 << 32)
        self.or_checked(~low.slt(floor) & high.slt(top))
        return low.ashr(part.by), high.ashr(part.by)

    # --- the fast version -------------------------------------------------------------------------------
    def bodies(self, has_nans: bool) -> Iterator[int]:
        """Enters each loop of the fast version in turn; gives the copies of the body to write into it.

        The first loop has several copies, the second one runs what is left over. ``has_nans``: float results
        are expected to be NaN.
        """
        self._expects_numbers = not has_nans and self._looks_once
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
        self.numbers = IterationNumbers(frame) if self._expects_numbers else None
        yield copies
        if self.numbers is not None:
            self.numbers.settle()
        self._settle_booleans()
        following = self._index() + copies
        em.line(f"store {following.typed}, ptr {self._counter}")
        frame.goto(test)
        if self.numbers is not None:
            self._give_up(self.numbers)
        frame.enter(after)

    def _settle_booleans(self) -> None:
        """The booleans that no iteration writes are those from before the loop: said like this, nothing goes
        from one iteration to the next, and LLVM may take several at once.
        """
        if self._booleans is not None:
            written = self.body.booleans
            kept = self._booleans & ~written
            self.frame.write(_BOOLEANS, kept | (self.frame.read(_BOOLEANS) & written))

    def _give_up(self, numbers: IterationNumbers) -> None:
        """The iteration that has made a NaN is run again by the ordinary version."""
        frame = self.frame
        numbers.undo()
        index = self._index()
        frame.write(BUDGET, frame.read(BUDGET) - index * self._length)
        self.body.control.after(frame, index, is_all=False)
        frame.goto(self.checked)

    def put(self, place: Place, value: IrBits) -> None:
        """See :class:`~emu.cpu.translator.machine.Places`."""
        if self.numbers is None:
            super().put(place, value)
        else:
            self.numbers.put(place, value)

    def _index(self) -> IrBits:
        """Iterations so far."""
        return IrBits.of(self.em, 64, 1, self.em.value(f"load i64, ptr {self._counter}"))

    def _places(self, copies: int) -> list[Place | str]:
        em, index = self.em, self._index()
        places: list[Place | str] = []
        for copy in range(copies):
            for known in self._pointers:
                if isinstance(known, str):
                    places.append(known)
                    continue
                pointer, step, align = known
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
