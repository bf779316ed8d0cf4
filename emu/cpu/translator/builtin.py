"""Native helpers that units call: window spill and fill, and the loop that runs units one after the other.

Spill and fill do what :mod:`emu.cpu.windows` does, or nothing at all: they give 1 when an access cannot be
made directly, and the stepper does it.
"""

from __future__ import annotations

from collections.abc import Sequence

from emu.cpu.map import PAGE_BITS, PAGES
from emu.cpu.state import OFFSETS, ExitReason
from emu.cpu.translator import access
from emu.cpu.translator.calls import look_up
from emu.cpu.translator.checks import Checks
from emu.cpu.translator.emitter import METADATA, STATE, TABLE, Emitter
from emu.cpu.translator.engine_data import HELPERS, TAIL, entry_offset
from emu.cpu.translator.native import module_header
from emu.cpu.value_ir import IrBits, scalar

NAMES = (*HELPERS, "run", "finish")


def module(checks: Checks) -> str:
    """LLVM text of all helpers."""
    functions = [_spill(checks), _fill(checks), _run(), _finish()]
    bodies = "\n".join([*(function.em.text() for function in functions), _SPAN, _DEVICE, _MISS, _REACH])
    declarations = set().union(*(function.em.declarations for function in functions))
    return "\n".join([module_header(), bodies, *sorted(declarations), METADATA])


_SPAN = f"""
define internal i64 @span(ptr %table, i64 %first, i64 %last) nounwind {{
entry:
%start = getelementptr i64, ptr %table, i64 %first
%delta = load i64, ptr %start{TABLE}
br label %next
next:
%page = phi i64 [ %first, %entry ], [ %following, %same ]
%at = getelementptr i64, ptr %table, i64 %page
%entry.here = load i64, ptr %at{TABLE}
%equal = icmp eq i64 %entry.here, %delta
br i1 %equal, label %same, label %other
same:
%following = add i64 %page, 1
%more = icmp ule i64 %following, %last
br i1 %more, label %next, label %done
done:
ret i64 %delta
other:
ret i64 0
}}"""
"""The host offset that all pages from the first to the last have in common, or 0."""


REACH = 64
"""Pages on either side that ``miss`` looks at."""

_MISS = f"""
define preserve_allcc i64 @miss(ptr %table, i32 %address, i32 %asked, ptr %entry, i64 %budget) nounwind {{
begin:
%size = and i32 %asked, {access.SINGLE - 1}
%page = lshr i32 %address, {PAGE_BITS}
%first = zext i32 %page to i64
%at = getelementptr i64, ptr %table, i64 %first
%delta = load i64, ptr %at{TABLE}
%mapped = icmp ne i64 %delta, 0
br i1 %mapped, label %end, label %fail
end:
%reach = add i32 %size, -1
%final = add i32 %address, %reach
%page2 = lshr i32 %final, {PAGE_BITS}
%second = zext i32 %page2 to i64
%at2 = getelementptr i64, ptr %table, i64 %second
%delta2 = load i64, ptr %at2{TABLE}
%same = icmp eq i64 %delta, %delta2
br i1 %same, label %down, label %fail
down:
%low = phi i64 [ %first, %end ], [ %below, %take ]
%lowest = sub i64 %first, {REACH}
%far = icmp sle i64 %low, %lowest
%zero = icmp eq i64 %low, 0
%stop = or i1 %far, %zero
br i1 %stop, label %up, label %look
look:
%below = sub i64 %low, 1
%at3 = getelementptr i64, ptr %table, i64 %below
%delta3 = load i64, ptr %at3{TABLE}
%equal3 = icmp eq i64 %delta3, %delta
br i1 %equal3, label %take, label %up
take:
br label %down
up:
%high = phi i64 [ %first, %down ], [ %first, %look ], [ %above, %take2 ]
%highest = add i64 %first, {REACH}
%far2 = icmp sge i64 %high, %highest
%last = icmp eq i64 %high, {PAGES - 1}
%stop2 = or i1 %far2, %last
br i1 %stop2, label %fill, label %look2
look2:
%above = add i64 %high, 1
%at4 = getelementptr i64, ptr %table, i64 %above
%delta4 = load i64, ptr %at4{TABLE}
%equal4 = icmp eq i64 %delta4, %delta
br i1 %equal4, label %take2, label %fill
take2:
br label %up
fill:
%start64 = shl i64 %low, {PAGE_BITS}
%start = trunc i64 %start64 to i32
store i32 %start, ptr %entry{TABLE}
%pages0 = sub i64 %high, %low
%pages = add i64 %pages0, 1
%bytes = shl i64 %pages, {PAGE_BITS}
%length64 = sub i64 %bytes, {TAIL}
%length = trunc i64 %length64 to i32
%length.at = getelementptr i8, ptr %entry, i64 4
store i32 %length, ptr %length.at{TABLE}
%delta.at = getelementptr i8, ptr %entry, i64 8
store i64 %delta, ptr %delta.at{TABLE}
ret i64 %delta
fail:
%flags = and i32 %asked, {access.SINGLE}
%single = icmp ne i32 %flags, 0
%function.at = getelementptr ptr, ptr %table, i64 {PAGES}
%function = load ptr, ptr %function.at{TABLE}
%there = icmp ne ptr %function, null
%direct = and i1 %single, %there
br i1 %direct, label %device, label %none
device:
%answer = call preserve_allcc i64 @device(ptr %table, i32 %address, i32 %size, i64 %budget)
ret i64 %answer
none:
ret i64 0
}}"""
"""The host offset of ``size`` bytes, or 0 when they have none in common; fills the entry. Single accesses to
what the tables do not cover are offered to the function behind the table (Memory.set_direct).

It keeps all registers, so that units need not save any for a call that is hardly ever made.
"""

_DEVICE = f"""
define preserve_allcc i64 @device(ptr %table, i32 %address, i32 %size, i64 %budget) nounwind noinline {{
%function.at = getelementptr ptr, ptr %table, i64 {PAGES}
%function = load ptr, ptr %function.at
%context.at = getelementptr i64, ptr %table, i64 {PAGES + 1}
%context = load i64, ptr %context.at
%answer = call i64 %function(i64 %context, i32 %address, i32 %size, i64 %budget)
ret i64 %answer
}}"""
"""Apart from ``miss``: only here all registers have to be saved around a call of ordinary code."""


_REACH = f"""
define preserve_allcc i64 @reach(ptr %table, i64 %low, i64 %high, ptr %entry) nounwind {{
begin:
%below = icmp slt i64 %low, 0
%above = icmp sge i64 %high, {1 << 32}
%outside = or i1 %below, %above
br i1 %outside, label %fail, label %look
look:
%first = lshr i64 %low, {PAGE_BITS}
%last = lshr i64 %high, {PAGE_BITS}
%delta = call i64 @span(ptr %table, i64 %first, i64 %last)
%found = icmp ne i64 %delta, 0
br i1 %found, label %fill, label %fail
fill:
%address = trunc i64 %low to i32
%same = call preserve_allcc i64 @miss(ptr %table, i32 %address, i32 1, ptr %entry, i64 0)
ret i64 %delta
fail:
ret i64 0
}}"""
"""The host offset of all bytes from ``low`` to ``high``, or 0 where they have none in common; fills the
entry.
"""


class Helper:
    """A function ``i32 (ptr %s, i32 %n)`` under construction; stands in for a Frame."""

    def __init__(self, name: str, checks: Checks | None = None) -> None:
        self.em = Emitter(f"i32 @{name}(ptr noalias nonnull %s, i32 %n) nounwind")
        self.exact_pc = "0"
        self.checks = checks or Checks()
        if checks is not None:
            access.open_tables(self.em, checks)

    def exit_unless(self, condition: str, pc: str, reason: int) -> None:
        """Give 1 unless the i1 holds."""
        after, out = self.em.new_block("ok"), self.em.new_block("fault")
        self.em.fork(condition, after, out)
        self.em.enter(out)
        self.em.close("ret i32 1")
        self.em.enter(after)

    def entry(self, is_store: bool) -> str:
        """Helpers use the page tables."""
        return ""

    def budget_here(self) -> str:
        """Helpers access no devices."""
        return "0"

    def state(self, name: str) -> IrBits:
        """A 32-bit field."""
        at = self.em.value(f"getelementptr i8, ptr %s, i64 {OFFSETS[name]}")
        return IrBits.of(self.em, 32, 1, self.em.value(f"load i32, ptr {at}{STATE}"))

    def load_state(self, name: str, kind: str = "i32") -> str:
        """As Frame.load_state."""
        at = self.em.value(f"getelementptr i8, ptr %s, i64 {OFFSETS[name]}")
        return self.em.value(f"load {kind}, ptr {at}{STATE}")

    def set_state(self, name: str, value: IrBits) -> None:
        """Set a 32-bit field."""
        at = self.em.value(f"getelementptr i8, ptr %s, i64 {OFFSETS[name]}")
        self.em.line(f"store {value.typed}, ptr {at}{STATE}")

    def register(self, place: IrBits) -> str:
        """Address of physical register ``place`` modulo 64."""
        offset = ((place & 63).shl(2) + OFFSETS["ar"]).zext(64)
        return self.em.value(f"getelementptr i8, ptr %s, i64 {offset.name}")

    def read(self, place: IrBits) -> IrBits:
        """A physical register."""
        return IrBits.of(self.em, 32, 1, self.em.value(f"load i32, ptr {self.register(place)}{STATE}"))

    def write(self, place: IrBits, value: IrBits) -> None:
        """Set a physical register."""
        self.em.line(f"store {value.typed}, ptr {self.register(place)}{STATE}")

    def stretch(self, table: str, address: IrBits, size: int) -> IrBits:
        """Host address of ``size`` bytes of guest memory, 64 bits."""
        is_store = table == access.WRITE
        offset = entry_offset(0, 1, is_store)
        entry = self.em.value(f"getelementptr i8, ptr %engine, i64 {offset}")
        delta = access.stretch(self, table, entry, address, size, 0)
        return IrBits.of(self.em, 64, 1, delta) + address.zext(64)

    def words(self, table: str, address: IrBits, count: int) -> list[access.Place]:
        """``count`` words of guest memory from ``address`` on, checked."""
        if self.checks.bounds:
            return [access.find(self, table, 4, address + 4 * i) for i in range(count)]
        host = self.stretch(table, address, 4 * count)
        places = []
        for i in range(count):
            pointer = self.em.value(f"inttoptr i64 {(host + 4 * i).name} to ptr")
            places.append(access.Place(pointer, 1))
        return places

    def load(self, place: access.Place) -> IrBits:
        """A word of guest memory."""
        return access.get(self, place, 32)

    def give(self, value: int) -> None:
        """Return."""
        self.em.close(f"ret i32 {value}")


def _rotated(helper: Helper, base: IrBits) -> IrBits:
    starts = helper.state("WindowStart")
    return (starts | starts.shl(16)).lshr(base)


def _spill(checks: Checks) -> Helper:
    """Save every frame in the panes 1..n, nearest first."""
    helper = Helper("spill", checks)
    em = helper.em
    head, work, done = em.new_block("head"), em.new_block("work"), em.new_block("done")
    em.jump(head)
    em.enter(head)
    base = helper.state("WindowBase")
    n = IrBits.of(em, 32, 1, "%n", 0xFFFFFFE0)
    occupied = _rotated(helper, base) & (scalar(em, 32, 2).shl(n) - 2)
    em.fork(occupied.eq(0).name, done, work)
    em.enter(done)
    helper.give(0)
    em.enter(work)
    lowest = occupied & (scalar(em, 32, 0) - occupied)
    frame = (base + (scalar(em, 32, 31) - lowest.clz())) & 15
    starts = _rotated(helper, frame)
    cases = [em.new_block(f"panes{step}_") for step in (1, 2, 3)]
    _choose(em, [starts.bits(1, 1), starts.bits(2, 2)], cases)
    for step, block in enumerate(cases, 1):
        em.enter(block)
        _spill_frame(helper, frame.shl(2), step)
        kept = helper.state("WindowStart") & ~scalar(em, 32, 1).shl(frame)
        helper.set_state("WindowStart", kept)
        em.jump(head)
    return helper


def _choose(em: Emitter, tests: Sequence[IrBits], blocks: Sequence[object]) -> None:
    """Go to the block of the first test that holds, else to the last block."""
    for test, block in zip(tests, blocks, strict=False):
        rest = em.new_block("else")
        em.fork(test.name, block, rest)  # type: ignore[arg-type]
        em.enter(rest)
    em.jump(blocks[-1])  # type: ignore[arg-type]


def _spill_frame(helper: Helper, base: IrBits, step: int) -> None:
    """All accesses are checked before the first store: a helper does everything or nothing."""
    save = helper.read(base + (4 * step + 1)) - 16
    places = helper.words(access.WRITE, save, 4)
    registers = [helper.read(base + i) for i in range(4 * step)]
    if step > 1:
        above = helper.read(base + 1) - 12
        # The first store comes before this load; where they overlap the stepper does it.
        helper.exit_unless((~(above - save + 3).ult(7)).name, "0", 0)
        extra = helper.load(helper.words(access.READ, above, 1)[0])
        places += helper.words(access.WRITE, extra - 16 * step, 4 * step - 4)
        helper.write(base, extra)
    for place, register in zip(places, registers, strict=True):
        access.put(helper, place, register)


def _fill(checks: Checks) -> Helper:
    """Load the caller's frame, n panes below the current one."""
    helper = Helper("fill", checks)
    em = helper.em
    n = IrBits.of(em, 32, 1, "%n")
    frame = (helper.state("WindowBase") - n) & 15
    cases = [em.new_block(f"panes{step}_") for step in (1, 2, 3)]
    _choose(em, [n.eq(1), n.eq(2)], cases)
    for step, block in enumerate(cases, 1):
        em.enter(block)
        _fill_frame(helper, frame.shl(2), step)
        helper.set_state("WindowStart", helper.state("WindowStart") | scalar(em, 32, 1).shl(frame))
        helper.give(0)
    return helper


def _fill_frame(helper: Helper, base: IrBits, step: int) -> None:
    save = helper.read(base + (4 * step + 1)) - 16
    values = [helper.load(place) for place in helper.words(access.READ, save, 4)]
    if step > 1:
        extra = helper.load(helper.words(access.READ, values[1] - 12, 1)[0]) - 16 * step
        values += [helper.load(place) for place in helper.words(access.READ, extra, 4 * step - 4)]
    for i, value in enumerate(values):
        helper.write(base + i, value)


def _run() -> Helper:
    """Run units from PC on until one has a reason to stop."""
    helper = Helper("run")
    em = helper.em
    head, done = em.new_block("head"), em.new_block("done")
    em.jump(head)
    em.enter(head)
    function = look_up(helper, helper.state("PC"))
    reason = em.value(f"call i32 {function}(ptr %s, i32 %n)")
    again = em.value(f"icmp eq i32 {reason}, {int(ExitReason.RUNNING)}")
    em.fork(again, head, done)
    em.enter(done)
    em.close(f"ret i32 {reason}")
    return helper


def _finish() -> Helper:
    """What stands at the return address of a host call."""
    helper = Helper("finish")
    helper.give(int(ExitReason.RETURN))
    return helper


__all__ = ["NAMES", "Helper", "module"]
