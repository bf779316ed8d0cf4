"""The processor state inside a unit: cells, what is dirty, exits, stores before calls and loads behind
them.

Which cells must be stored at an exit depends on code that may be translated later (a loop), so exits,
stores and loads are written as placeholders and filled in by :meth:`Frame.finish`. Nodes are the vertices
of that analysis: pieces of straight code with one entry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from emu.cpu.state import OFFSETS
from emu.cpu.translator.accumulator import Accumulator
from emu.cpu.translator.affine import Linear
from emu.cpu.translator.cells import BUDGET, Cell, Key, make_cell
from emu.cpu.translator.checks import Checks
from emu.cpu.translator.emitter import RARELY, STATE, Block, Emitter
from emu.cpu.translator.engine_data import entry_offset
from emu.cpu.value_ir import IrBits, scalar

_SPARE_STORES = 4
_ACCX: Key = ("ACCX", 0)


@dataclass(eq=False)
class Node:
    """Straight code: cells written since its start or since its last flush; successors."""

    block: Block
    dirty: set[Key] = field(default_factory=set)
    is_flushed: bool = False
    successors: list[Node] = field(default_factory=list)
    dirty_at_start: set[Key] = field(default_factory=set)


@dataclass(eq=False)
class Point:
    """A place in a node; :meth:`dirty` is right once the analysis is done."""

    node: Node
    is_flushed: bool
    local: frozenset[Key]

    def dirty(self) -> frozenset[Key]:
        """Cells that may differ from the state in memory here."""
        return self.local if self.is_flushed else self.local | self.node.dirty_at_start


@dataclass(eq=False)
class Exit:
    """An edge out of the unit: LLVM names of pc and reason, instructions since the budget was written."""

    point: Point
    source: str
    pc: str
    reason: str
    pending: int
    label: str = ""


class Late:
    """A line that is made when the function is printed."""

    def __init__(self, make: Callable[[], str]) -> None:
        self._make = make

    def __str__(self) -> str:
        return self._make()


class Frame:
    """State of the unit under translation. The emitter's function is ``i32 (ptr %s, i32 %depth)``."""

    def __init__(self, em: Emitter, qacc_lane: int, checks: Checks, lazy: str) -> None:
        self.em = em
        self.accumulator = Accumulator(self, lazy) if lazy else None
        em.before_close = self.settle
        self.checks = checks
        self._qacc_lane = qacc_lane
        self.cells: dict[Key, Cell] = {}
        self.node = Node(em.entry)
        self._nodes = [self.node]
        self._values: dict[Key, IrBits] = {}
        self._exits: list[Exit] = []
        self.pending = 0
        """Instructions executed since the budget cell was written."""
        self.block_length = 0
        """Instructions of the current block of code."""
        self.exact_pc = "0"
        self.access_number = 0
        """Accesses of the current instruction so far."""
        self.base_register = 0
        """Address register that the current accesses go through."""
        self.unit = 0
        """Address of the unit."""

    # --- nodes ------------------------------------------------------------
    def new_node(self, hint: str) -> Node:
        """A node whose block is not yet entered."""
        node = Node(self.em.new_block(hint))
        self._nodes.append(node)
        return node

    def enter(self, node: Node) -> None:
        """Continue in ``node``; nothing is known of the cells there."""
        self.em.enter(node.block)
        self.node = node
        self._values = {}
        self.pending = 0
        if self.accumulator is not None:
            self.accumulator.is_open = False

    def goto(self, node: Node) -> None:
        """End the current block with a jump to ``node``."""
        self.link(node)
        self.em.jump(node.block)

    def link(self, node: Node) -> None:
        """Note that control may go from here to ``node``."""
        self.node.successors.append(node)

    def settle(self) -> None:
        """Cells are complete: the accumulator has nothing waiting."""
        if self.accumulator is not None:
            self.accumulator.settle()

    def point(self) -> Point:
        """This place."""
        return Point(self.node, self.node.is_flushed, frozenset(self.node.dirty))

    # --- cells ------------------------------------------------------------
    def cell(self, key: Key) -> Cell:
        """The cell of a key, made at its first use."""
        cell = self.cells.get(key)
        if cell is None:
            cell = self.cells[key] = make_cell(key, self._qacc_lane)
        return cell

    def read(self, key: Key) -> IrBits:
        """Current value of a cell."""
        if key == _ACCX and self.accumulator is not None:
            self.cell(key)
            return self.accumulator.read()
        value = self._values.get(key)
        if value is None:
            cell = self.cell(key)
            name = self.em.value(f"load {cell.type}, ptr {cell.name}")
            if cell.is_float:
                value = IrBits.of_float(self.em, name)
            else:
                value = IrBits(self.em, cell.width, 1, {cell.lane: name})
            self._values[key] = value
        return value

    def sum_of(self, linear: Linear) -> IrBits:
        """A sum of address registers as they are now, 32 bits; not forced to any alignment."""
        total = scalar(self.em, 32, linear.constant)
        for register, count in linear.terms.items():
            total = self.read(("ar", register)) * count + total
        return total

    def write(self, key: Key, value: IrBits) -> None:
        """New value of a cell, in effect at once."""
        cell = self.cell(key)
        if key == _ACCX and self.accumulator is not None:
            self.accumulator.write(value)
            self.node.dirty.add(key)
            return
        self.em.line(f"store {self._as_stored(cell, value)}, ptr {cell.name}")
        self._values[key] = value
        self.node.dirty.add(key)

    def touch(self, key: Key) -> None:
        """The accumulator has changed a part of the cell."""
        self.cell(key)
        self.node.dirty.add(key)

    def budget_left(self) -> IrBits:
        """Instructions that may still execute, 64 bits."""
        return self.read(BUDGET) - self.pending

    def budget_here(self) -> str:
        """As :meth:`budget_left`, for a block that nothing follows from: the value is not remembered."""
        name = self.em.value(f"load i64, ptr {self.cell(BUDGET).name}")
        return self.em.value(f"sub i64 {name}, {self.pending}") if self.pending else name

    def forget(self, keys: Iterable[Key] | None = None) -> None:
        """Values of cells are not what they were; all of them, or some."""
        if keys is None:
            self._values = {}
        else:
            for key in list(keys):
                self._values.pop(key, None)

    @staticmethod
    def _as_stored(cell: Cell, value: IrBits) -> str:
        return f"float {value.float_name()}" if cell.is_float else value.split(cell.lane).typed

    def entry(self, is_store: bool) -> str:
        """Address of the engine's entry for accesses through the current base register (engine_data.py)."""
        if self.checks.bounds:
            return ""
        offset = entry_offset(self.unit, self.base_register, is_store)
        return self.em.value(f"getelementptr i8, ptr %engine, i64 {offset}")

    # --- memory side ------------------------------------------------------------
    def field_pointer(self, offset: int) -> str:
        """Address of a field of the state."""
        return self.em.value(f"getelementptr i8, ptr %s, i64 {offset}")

    def load_state(self, name: str, kind: str = "i32") -> str:
        """A field of the state, by LLVM name."""
        return self.em.value(f"load {kind}, ptr {self.field_pointer(OFFSETS[name])}{STATE}")

    def store_state(self, name: str, typed: str) -> None:
        """Set a field of the state."""
        self.em.line(f"store {typed}, ptr {self.field_pointer(OFFSETS[name])}{STATE}")

    def late_load(self, test: Callable[[Cell], bool] = lambda cell: True, forget: bool = True) -> None:
        """Load every cell of the unit (that passes ``test``) from memory, here."""
        self.em.line(Late(lambda: self._loads(test)))
        if forget:
            self.forget()

    def late_store(self) -> None:
        """Store every cell that may be dirty here."""
        self.settle()
        point = self.point()
        self.em.line(Late(lambda: self._stores(point.dirty())))

    def flushed(self) -> None:
        """Nothing is dirty from here on."""
        self.node.is_flushed = True
        self.node.dirty = set()

    def _loads(self, test: Callable[[Cell], bool]) -> str:
        lines: list[str] = []
        for cell in self.cells.values():
            if test(cell):
                self._load(cell, lines)
        return "\n".join(lines)

    def _load(self, cell: Cell, lines: list[str]) -> None:
        pointer = self._pointer(cell, lines)
        if cell.key == _ACCX and self.accumulator is not None:
            self.accumulator.load_lines(pointer, lines)
            return
        field, name = self.em.fresh(), self.em.fresh()
        if cell.field_bits:
            lines.append(f"{field} = load i{cell.field_bits}, ptr {pointer}{STATE}")
            how = "bitcast" if cell.count > 1 else "trunc"
            if cell.field_bits == cell.width and cell.count == 1:
                name = field
            else:
                lines.append(f"{name} = {how} i{cell.field_bits} {field} to {cell.type}")
        else:
            lines.append(f"{name} = load {cell.type}, ptr {pointer}{STATE}")
        lines.append(f"store {cell.type} {name}, ptr {cell.name}")

    def _stores(self, keys: Iterable[Key]) -> str:
        lines: list[str] = []
        for key in sorted(keys):
            self._store(self.cells[key], lines)
        return "\n".join(lines)

    def _store(self, cell: Cell, lines: list[str]) -> None:
        pointer, name = self._pointer(cell, lines), self.em.fresh()
        if cell.key == _ACCX and self.accumulator is not None:
            self.accumulator.store_lines(pointer, lines)
            return
        lines.append(f"{name} = load {cell.type}, ptr {cell.name}")
        kind = cell.type
        if cell.field_bits and not (cell.field_bits == cell.width and cell.count == 1):
            kind, wide = f"i{cell.field_bits}", self.em.fresh()
            how = "bitcast" if cell.count > 1 else "zext"
            lines.append(f"{wide} = {how} {cell.type} {name} to {kind}")
            name = wide
        lines.append(f"store {kind} {name}, ptr {pointer}{STATE}")

    def _pointer(self, cell: Cell, lines: list[str]) -> str:
        name = self.em.fresh()
        if cell.is_window:
            quad = self.em.fresh()
            lines.append(f"{quad} = load ptr, ptr %quad{cell.key[1] >> 2}")
            lines.append(f"{name} = getelementptr i8, ptr {quad}, i64 {cell.offset}")
        else:
            lines.append(f"{name} = getelementptr i8, ptr %s, i64 {cell.offset}")
        return name

    # --- the window ------------------------------------------------------------
    def set_window(self, base: str) -> None:
        """Addresses of the four quads of the window at ``base`` (an i32 of 0..15)."""
        em = self.em
        for quad in range(4):
            pane = em.value(f"add i32 {base}, {quad}") if quad else base
            place = em.value(f"and i32 {pane}, 15")
            at = em.value(f"shl i32 {place}, 4")
            wide = em.value(f"zext i32 {at} to i64")
            file = self.field_pointer(OFFSETS["ar"])
            pointer = em.value(f"getelementptr i8, ptr {file}, i64 {wide}")
            em.line(f"store ptr {pointer}, ptr %quad{quad}")

    # --- leaving the unit ------------------------------------------------------------
    def exit_here(self, pc: str, reason: int, point: Point | None = None) -> None:
        """End the current block by leaving the unit; ``pc``: an i32 by LLVM name."""
        made = self._exit(pc, reason, point)
        self.em.close(Late(lambda: f"br label %{made.label}"))

    def exit_unless(self, condition: str, pc: str, reason: int) -> None:
        """Leave the unit unless the i1 holds; translation goes on where it does."""
        made = self._exit(pc, reason, None)
        after = self.em.new_block("ok")
        self.em.close(Late(lambda: f"br i1 {condition}, label %{after.label}, label %{made.label}{RARELY}"))
        self.em.enter(after)

    def _exit(self, pc: str, reason: int, point: Point | None) -> Exit:
        made = Exit(point or self.point(), self.em.current.label, pc, str(int(reason)), self.pending)
        self._exits.append(made)
        return made

    def settle_budget(self) -> None:
        """Take the instructions since the last time from the budget."""
        if self.pending:
            self.write(BUDGET, self.read(BUDGET) - self.pending)
            self.pending = 0

    # --- the end ------------------------------------------------------------
    def finish(self) -> None:
        """Solve the analysis, write the exits and the allocas."""
        self._settle_dirty()
        for dirty, exits in self._exit_groups().items():
            self._write_exit(dirty, exits)
        allocas = [f"{cell.name} = alloca {cell.type}" for cell in self.cells.values()]
        if self.accumulator is not None:
            allocas += self.accumulator.allocas()
        self.em.entry.lines[:0] = allocas + [f"%quad{i} = alloca ptr" for i in range(4)]

    def _exit_groups(self) -> dict[frozenset[Key], list[Exit]]:
        """Exits that share their stores. Storing a few clean cells too costs less than more code."""
        groups: dict[frozenset[Key], list[Exit]] = {}
        for made in sorted(self._exits, key=lambda made: -len(made.point.dirty())):
            dirty = made.point.dirty()
            larger = (kept for kept in groups if dirty <= kept and len(kept) - len(dirty) <= _SPARE_STORES)
            groups.setdefault(next(larger, dirty), []).append(made)
        return groups

    def _settle_dirty(self) -> None:
        waiting = list(self._nodes)
        while waiting:
            node = waiting.pop()
            out = node.dirty if node.is_flushed else node.dirty | node.dirty_at_start
            for following in node.successors:
                if not out <= following.dirty_at_start:
                    following.dirty_at_start |= out
                    waiting.append(following)

    def _write_exit(self, dirty: frozenset[Key], exits: list[Exit]) -> None:
        em = self.em
        em.enter(em.new_block("exit"))
        for made in exits:
            made.label = em.current.label
        pc = em.value("phi i32 " + _incoming(exits, [made.pc for made in exits]))
        reason = em.value("phi i32 " + _incoming(exits, [made.reason for made in exits]))
        pending = em.value("phi i64 " + _incoming(exits, [str(made.pending) for made in exits]))
        lines: list[str] = []
        for key in sorted(dirty - {BUDGET}):
            self._store(self.cells[key], lines)
        for line in lines:
            em.line(line)
        budget = em.value(f"load i64, ptr {self.cell(BUDGET).name}")
        left = em.value(f"sub i64 {budget}, {pending}")
        self.store_state("budget", f"i64 {left}")
        self.store_state("PC", f"i32 {pc}")
        em.close(f"ret i32 {reason}")


def _incoming(exits: list[Exit], values: list[str]) -> str:
    return ", ".join(f"[ {value}, %{made.source} ]" for made, value in zip(exits, values, strict=True))
