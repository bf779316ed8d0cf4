"""Translates the code of a unit to the text of an LLVM module.

The function is ``i32 unit(ptr state, i32 depth)``: it runs from the unit's entry until it returns, and
gives back an ExitReason with the whole state in memory; RUNNING means "go on at PC". ``depth`` counts down
the host stack. See docs/engine.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from emu.cpu.plan import Plan
from emu.cpu.state import OFFSETS, ExitReason
from emu.cpu.translator import access, calls
from emu.cpu.translator.accumulator import lazy_kind
from emu.cpu.translator.blocks import BLOCKS
from emu.cpu.translator.cells import BUDGET, qacc_lane_of
from emu.cpu.translator.discover import Code, CodeBlock, settle_window_levels, ways_to_check
from emu.cpu.translator.emitter import METADATA, RARELY, SELDOM, STATE, TABLE, Emitter
from emu.cpu.translator.engine_data import counter_offset
from emu.cpu.translator.frame import Frame, Node
from emu.cpu.translator.grouped import GroupedPlaces
from emu.cpu.translator.groups import find_groups
from emu.cpu.translator.leave import Leave
from emu.cpu.translator.machine import Choices, IrMachine, IrOperands, LeaveToStepper, Places, apply_write
from emu.cpu.translator.modes import Mode
from emu.cpu.translator.native import FULL, QUICK, module_header
from emu.cpu.translator.nests import FastNest, Nest, find_nest
from emu.cpu.translator.numbers import CheckedNumbers
from emu.cpu.translator.policy import stepper_reason
from emu.cpu.translator.scout import Body, scout
from emu.cpu.translator.stack import StackFrame, StackPlaces
from emu.cpu.translator.versions import FastLoop
from emu.cpu.translator.windows import check_panes, is_plain_return, refill
from emu.cpu.value_ir import IrBits

SYMBOL = "unit"
_RETURNS = frozenset({"ret", "ret.n", "retw", "retw.n"})
_WINDOWED = frozenset({"retw", "retw.n"})
_RETURN_PC = "%return.pc"


def translate(code: Code, mode: Mode, choices: Choices, effort: str = FULL) -> str:
    """LLVM text of a module with the unit as function SYMBOL."""
    unit = UnitTranslator(code, mode, choices, SYMBOL, effort)
    return module_text([unit.function_text()], unit.em.declarations)


def module_text(functions: list[str], declarations: set[str]) -> str:
    """A module of functions."""
    return "\n".join([module_header(), *functions, *sorted(declarations), METADATA])


class UnitTranslator:
    """Writes one unit."""

    def __init__(
        self,
        code: Code,
        mode: Mode,
        choices: Choices,
        symbol: str,
        effort: str = FULL,
    ) -> None:
        """``effort``: QUICK units have no fast loops, and count how often they run."""
        self.code = code
        self.mode = mode
        self.choices = choices
        self.is_quick = effort == QUICK
        self.em = Emitter(f"i32 @{symbol}(ptr noalias nonnull %s, i32 %depth) nounwind")
        settle_window_levels(code)
        mnemonics = [step.insn.mnemonic for step in code.steps]
        lazy = "" if mode.exact_accx else lazy_kind(mnemonics)
        self.frame = Frame(self.em, qacc_lane_of(mnemonics), choices.checks, lazy)
        self.frame.unit = code.entry
        self.stack = StackFrame(self.frame, code, choices.checks.bounds)
        self.machine = IrMachine(self.frame, mode, choices, BLOCKS)
        self.operands = IrOperands(self.machine)
        self.nodes: dict[int, Node] = {}
        self.checked: dict[int, Node] = {}
        """Ordinary versions of the loops that have a fast one."""
        self.bodies = self._bodies()
        self.nests = self._nests()
        self.around = {(nest.behind.start, start) for start, nest in self.nests.items()}
        """Edges (from block, to block) that go around a nest of loops."""
        self.return_node: Node | None = None
        self.return_plan: Plan | None = None
        self.level = 0
        self.block_start = -1
        self.ways = ways_to_check(code)

    def function_text(self) -> str:
        """The function."""
        self.nodes = {start: self.frame.new_node("code") for start in sorted(self.code.blocks)}
        self.checked = {start: self.frame.new_node("checked") for start in (*self.bodies, *self.nests)}
        self._prologue()
        for start in sorted(self.code.blocks):
            self._block(self.code.blocks[start])
        for start, body in sorted(self.bodies.items()):
            self._fast_loop(self.code.blocks[start], body)
        for _, nest in sorted(self.nests.items()):
            self._fast_nest(nest)
        self._returns()
        self.frame.finish()
        return self.em.text()

    # --- entry ------------------------------------------------------------
    def _prologue(self) -> None:
        frame, em = self.frame, self.em
        access.open_tables(em, self.choices.checks)
        frame.cell(BUDGET)
        frame.set_window(frame.load_state("WindowBase"))
        frame.late_load()
        self._guard_loops(self.code.entry)
        if not self.code.blocks[self.code.entry].plans[0].is_entry:
            self.stack.check(self.code.entry)
        if not self.code.blocks[self.code.entry].is_loop_head:
            self._check_budget(self.code.entry)
        frame.goto(self.nodes[self.code.entry])

    def _guard_loops(self, pc: int) -> None:
        """Leave when a hardware loop that the unit does not know may end in it."""
        if not self.mode.has_loops:
            return
        frame = self.frame
        steps = self.code.steps
        low, high = steps[0].insn.pc, steps[-1].insn.next_pc
        end = frame.read(("LEND", 0))
        inside = (end - low).ult(high - low + 1)
        for known in sorted({known for _, known in self.code.loop_ends}):
            inside = inside & end.ne(known)
        stranger = inside & frame.read(("LCOUNT", 0)).ne(0)
        frame.exit_unless((~stranger).name, str(pc), Leave.LOOP)

    def _check_budget(self, pc: int) -> None:
        """Leave while there is still enough for the longest way to the next check."""
        frame = self.frame
        enough = ~frame.read(BUDGET).slt(self._way(pc))
        frame.exit_unless(enough.name, str(pc), ExitReason.BUDGET)
        if self.is_quick:
            self._count_pass(pc)

    def _way(self, pc: int) -> int:
        """The most instructions from ``pc`` to the next check; other units check for themselves."""
        return self.ways.get(pc, 0)

    def _way_behind(self, block: CodeBlock) -> int:
        """The same for what is behind a loop."""
        behind = self.code.blocks.get(block.end)
        return 0 if behind is None or behind.is_loop_head else self._way(block.end)

    def _count_pass(self, pc: int) -> None:
        """Leave when the unit has run so often that more effort would pay."""
        frame, em = self.frame, self.em
        place = em.value(f"getelementptr i8, ptr %engine, i64 {counter_offset(self.code.entry)}")
        left = em.value(f"load i32, ptr {place}{TABLE}")
        less = em.value(f"sub i32 {left}, 1")
        em.line(f"store i32 {less}, ptr {place}{TABLE}")
        busy, fine = em.new_block("busy"), em.new_block("ok")
        em.fork(em.value(f"icmp slt i32 {less}, 0"), busy, fine, SELDOM)
        em.enter(busy)
        frame.store_state("exit_detail", f"i32 {self.code.entry}")
        frame.exit_here(str(pc), Leave.BUSY)
        em.enter(fine)

    # --- fast versions of loops ------------------------------------------------------------------------
    def _bodies(self) -> dict[int, Body]:
        """Loops of one block that get a fast version, by their start."""
        if self.choices.checks.bounds or self.is_quick:
            return {}
        found = {}
        for start, block in self.code.blocks.items():
            is_hardware_loop = (start, block.end) in self.code.loop_ends
            if is_hardware_loop or start in block.last.following:
                body = scout(block, self.mode, self.choices, is_hardware_loop)
                if body is not None and self._is_lazy_body(body) and not self.stack.serves_all(body):
                    found[start] = body
        return found

    def _nests(self) -> dict[int, Nest]:
        """Pairs of loops that get a fast version, by the start of a row."""
        found = {}
        for start in self.code.blocks if self.bodies else ():
            nest = find_nest(self.code, start, self.bodies, self.mode, self.choices)
            if nest is not None and self._is_lazy_body(nest):
                found[start] = nest
        return found

    def _is_lazy_body(self, body: Body | Nest) -> bool:
        """A fast version may not look at ACCX in order to change it: it could have to leave the unit."""
        accumulator = self.frame.accumulator
        return accumulator is None or accumulator.takes(body.accx_writers)

    def _fast_nest(self, nest: Nest) -> None:
        start, machine = nest.before.start, self.machine
        self.block_start = -1
        version = FastNest(self.frame, nest, self.nodes[start], self.checked[start])
        version.open(self.mode.has_windows, self._way_behind(nest.behind))
        machine.places, machine.numbers = version, None
        for plans in version.pieces():
            self._write_fast(plans)
        machine.places = None
        self._go(nest.behind.end)

    def _write_fast(self, plans: Sequence[Plan]) -> None:
        """Instructions without checks, and without where they go."""
        for plan in plans:
            assert plan.effect is not None
            self.machine.begin(plan)
            plan.effect(self.machine, self.operands)
            self._write()

    def _fast_loop(self, block: CodeBlock, body: Body) -> None:
        frame, machine = self.frame, self.machine
        self.block_start = -1
        loop = FastLoop(frame, block, body, self.nodes[block.start], self.checked[block.start])
        loop.open(self.mode.has_windows, self._way_behind(block))
        machine.places = loop
        for copies in loop.bodies(self.code.has_nans):
            machine.numbers = loop.numbers
            self._write_fast(body.straight * copies)
        machine.places = machine.numbers = None
        self._go(block.end)

    # --- returns: one for all, they are long -------------------------------------------------------------
    def _return_later(self, plan: Plan) -> None:
        """Go to the unit's one windowed return."""
        if self.return_node is None:
            self.return_node = self.frame.new_node("return")
            self.return_plan = plan
            self.em.entry.lines.insert(0, f"{_RETURN_PC} = alloca i32")
        self.frame.settle_budget()
        self.em.line(f"store i32 {plan.insn.pc}, ptr {_RETURN_PC}")
        self.frame.goto(self.return_node)

    def _returns(self) -> None:
        """``retw``; nothing in it depends on its address but the exits.

        Mostly the caller's frame is in the registers and where it should be; one comparison tells.
        """
        if self.return_node is None:
            return
        frame, em = self.frame, self.em
        frame.enter(self.return_node)
        pc = em.value(f"load i32, ptr {_RETURN_PC}")
        frame.exact_pc = pc
        if self.mode.has_windows:
            plain, slow = em.new_block("plain"), em.new_block("slow")
            em.fork(is_plain_return(frame).name, plain, slow, RARELY)
            kept = frame.pending
            em.enter(plain)
            self._return_windowed(pc, is_plain=True)
            em.enter(slow)
            frame.pending = kept
            frame.forget()
        self._return_windowed(pc, is_plain=False)

    def _return_windowed(self, pc: str, is_plain: bool) -> None:
        plan, machine = self.return_plan, self.machine
        assert plan is not None
        assert plan.effect is not None
        machine.begin(plan)
        self.frame.exact_pc = pc
        machine.raises_nothing = is_plain
        if not is_plain and self.mode.has_windows and self.choices.has_helpers:
            refill(self.frame)
        try:
            plan.effect(machine, self.operands)
            self._after()
        except LeaveToStepper:
            self._leave()
        machine.raises_nothing = False

    # --- blocks ------------------------------------------------------------
    def _block(self, block: CodeBlock) -> None:
        self.frame.enter(self.checked.get(block.start, self.nodes[block.start]))
        self.level = block.window_level
        self.block_start = block.start
        self.frame.block_length = len(block.plans)
        if block.is_loop_head:
            self._check_budget(block.start)
        self.machine.places = self._grouped(block)
        self.machine.numbers = None if self.code.has_nans else CheckedNumbers(self.frame)
        for plan in block.plans:
            self.machine.begin(plan)
            try:
                self._instruction()
            except LeaveToStepper:
                self._leave()
                return
        if not self.em.current.is_closed:
            self._go(block.end)

    def _grouped(self, block: CodeBlock) -> Places | None:
        if self.choices.checks.bounds:
            return None
        members = find_groups(block, self.mode, self.choices, self.code.careful, self.stack.serves)
        places = None
        if members:
            places = GroupedPlaces(self.frame, members)
            places.check_early(block.start)
        return StackPlaces(self.stack, self.machine, places) if self.stack.size else places

    def _leave(self) -> None:
        if self.machine.effects.has_stored:
            raise AssertionError("left to the stepper after a store")
        self.frame.exit_here(self.frame.exact_pc, ExitReason.STEP)

    def _instruction(self) -> None:
        plan = self.machine.plan
        assert plan is not None
        if plan.effect is None or stepper_reason(plan.insn.row):
            raise LeaveToStepper
        if plan.insn.mnemonic in _WINDOWED:
            self._return_later(plan)
            return
        self._before(plan)
        plan.effect(self.machine, self.operands)
        self._after()
        if plan.is_entry:
            self.stack.check(plan.next_pc)

    def _before(self, plan: Plan) -> None:
        """Checks that belong to the engine: occupied panes, coprocessors."""
        if self.mode.has_windows:
            self.level = check_panes(self.frame, plan, self.level, self.choices.has_helpers)
        if plan.coprocessor is not None and not self.mode.coprocessors >> plan.coprocessor & 1:
            raise LeaveToStepper

    def _after(self) -> None:
        """Writes, then control."""
        effects, frame = self.machine.effects, self.frame
        plan = self.machine.plan
        assert plan is not None
        moved = dict(effects.writes).get(("WindowBase", 0))
        is_return = plan.insn.mnemonic in _RETURNS
        if moved is not None and not is_return:
            self._move_window(moved)
        self._write()
        frame.pending += 1
        if is_return:
            self._return(moved)
        elif plan.insn.row.flow == "call":
            self._call(plan.next_pc)
        elif effects.jump is not None:
            self._jump(effects.jump, plan)
        elif effects.branch is not None:
            self._branch(*effects.branch, plan.next_pc)
        elif self._ends_loop(plan.next_pc):
            self._fall(plan.next_pc)

    def _write(self) -> None:
        """The deferred writes; those of the window are made where it moves."""
        for action in self.machine.effects.actions:
            action()
        for key, value in self.machine.effects.writes:
            if key[0] not in ("WindowBase", "WindowStart"):
                apply_write(self.frame, key, value)

    def _move_window(self, base: IrBits) -> None:
        """``entry``: the registers of the old window go to memory, those of the new one come from there."""
        frame, em = self.frame, self.em
        frame.late_store()
        for window, index, value in self.machine.effects.foreign:
            pane = (window.zext(32) + (index >> 2)) & 15
            place = (pane.shl(4) + 4 * (index & 3) + OFFSETS["ar"]).zext(64)
            pointer = em.value(f"getelementptr i8, ptr %s, i64 {place.name}")
            em.line(f"store {value.typed}, ptr {pointer}{STATE}")
        self._store_window()
        frame.set_window(base.zext(32).name)
        frame.flushed()
        frame.late_load()
        self.level = 0

    def _store_window(self) -> None:
        """WindowBase and WindowStart are never dirty."""
        for key, value in self.machine.effects.writes:
            if key[0] in ("WindowBase", "WindowStart"):
                self.frame.store_state(key[0], value.zext(32).typed)

    # --- control ------------------------------------------------------------
    def _return(self, base: IrBits | None) -> None:
        frame = self.frame
        target = self.machine.effects.jump
        assert target is not None
        frame.settle_budget()
        frame.late_store()
        if base is not None:
            self._store_window()
        frame.store_state("PC", target.typed)
        self.em.close(f"ret i32 {int(ExitReason.RUNNING)}")

    def _call(self, back: int) -> None:
        target = self.machine.effects.jump
        assert target is not None
        calls.call(self.frame, target, back)
        self.level = 0
        self._guard_loops(back)
        self.stack.check(back)
        # The callee may have left less than the way from here to the next check needs.
        self._check_budget(back)

    def _jump(self, target: IrBits, plan: Plan) -> None:
        if target.value is not None:
            self._go(target.value)
            return
        known = [pc for pc in self.code.indirect.get(plan.insn.pc, ()) if pc in self.nodes]
        if known:
            self._switch(target, known)
        calls.tail_jump(self.frame, target)

    def _switch(self, target: IrBits, known: list[int]) -> None:
        """Go to the likely targets inside the unit; goes on where it is none of them."""
        frame = self.frame
        frame.settle_budget()
        other = frame.new_node("other")
        frame.link(other)
        cases = []
        for pc in known:
            node = self._node(pc)
            assert node is not None
            frame.link(node)
            cases.append(f"i32 {pc}, label %{node.block.label}")
        self.em.close(f"switch {target.typed}, label %{other.block.label} [ {' '.join(cases)} ]")
        frame.enter(other)

    def _branch(self, condition: IrBits, target: IrBits, following: int) -> None:
        frame = self.frame
        assert target.value is not None
        if condition.value is not None:
            if condition.value:
                self._go(target.value)
            else:
                self._fall(following)
            return
        frame.settle_budget()
        taken, straight = self._edge(target.value), frame.new_node("straight")
        frame.link(taken[0])
        frame.link(straight)
        self.em.fork(condition.name, taken[0].block, straight.block)
        if taken[1]:
            self._leave_to(taken[0], target.value)
        frame.enter(straight)
        self._fall(following)

    def _edge(self, pc: int) -> tuple[Node, bool]:
        """The node for ``pc``, or a new one that has to leave the unit."""
        node = self._node(pc)
        return (self.frame.new_node("out"), True) if node is None else (node, False)

    def _node(self, pc: int) -> Node | None:
        """Where to go on at ``pc``. A loop that goes around stays in the version that it is in."""
        node = self.nodes.get(pc)
        stays = pc == self.block_start or (self.block_start, pc) in self.around
        return self.checked.get(pc, node) if stays else node

    def _leave_to(self, node: Node, pc: int) -> None:
        self.frame.enter(node)
        calls.tail_jump(self.frame, self.machine.const(32, pc))

    def _go(self, pc: int) -> None:
        """Continue at ``pc``: in the unit, or in another one."""
        self.frame.settle_budget()
        node = self._node(pc)
        if node is not None:
            self.frame.goto(node)
        else:
            calls.tail_jump(self.frame, self.machine.const(32, pc))

    def _fall(self, following: int) -> None:
        """Continue behind an instruction, or around a hardware loop that ends there."""
        if self._ends_loop(following):
            self._loop_back(following)
        self._go(following)

    def _ends_loop(self, pc: int) -> bool:
        return any(end == pc for _, end in self.code.loop_ends)

    def _loop_back(self, end: int) -> None:
        frame, em = self.frame, self.em
        frame.settle_budget()
        count = frame.read(("LCOUNT", 0))
        again = count.ne(0) & frame.read(("LEND", 0)).eq(end)
        back, leave = frame.new_node("back"), frame.new_node("leave")
        frame.link(back)
        frame.link(leave)
        em.fork(again.name, back.block, leave.block)
        frame.enter(back)
        frame.write(("LCOUNT", 0), count - 1)
        self._go_back(sorted(begin for begin, known in self.code.loop_ends if known == end))
        frame.enter(leave)

    def _go_back(self, begins: list[int]) -> None:
        frame, em = self.frame, self.em
        where = frame.read(("LBEG", 0))
        for begin in begins:
            node = self._node(begin)
            if node is None:
                continue
            other = frame.new_node("other")
            frame.link(node)
            frame.link(other)
            em.fork(where.eq(begin).name, node.block, other.block, RARELY)
            frame.enter(other)
            where = frame.read(("LBEG", 0))
        calls.tail_jump(frame, where)
