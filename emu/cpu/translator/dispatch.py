"""Runs translated code: makes units when they are first reached, steps what they leave, keeps the tables."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from emu.cpu.cache import default_folder
from emu.cpu.map import PAGE_BITS
from emu.cpu.state import ExitReason, address_of
from emu.cpu.translator.checks import Checks
from emu.cpu.translator.discover import LIMIT, Code, LoopEnd, Reader, discover
from emu.cpu.translator.engine_data import EngineData
from emu.cpu.translator.leave import REASON, Leave
from emu.cpu.translator.library import library, unit_key
from emu.cpu.translator.lookup import JumpTable
from emu.cpu.translator.machine import Choices
from emu.cpu.translator.modes import Mode
from emu.cpu.translator.native import FULL, QUICK, SCALAR
from emu.cpu.translator.unit import SYMBOL, translate
from emu.isa.decode import Insn

if TYPE_CHECKING:
    from emu.cpu.engine import Engine

DEPTH = 1000
"""Calls that may be nested on the host's stack; deeper ones go on from the dispatcher."""

PATIENCE = 20_000
"""Passes for each of its instructions after which a unit is worth full effort: about the time that this
takes.
"""

RESOLVER_DEPTH = 40
"""Resolvers (Python) that may be nested on the host's stack."""

_FUNCTION = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int32)


class Translator:
    """The translator tier of one engine."""

    CHECKS_BOUNDS = True
    """Translated code obeys the permission map."""

    def __init__(self, engine: Engine) -> None:
        self.state = engine.state
        self.memory = engine.memory
        self.stepper = engine.stepper
        self.choices = choices_of(engine)
        self.return_address = engine.stepper.return_address
        self._unsteady: set[int] = set()
        """Pages on which code or its literals have changed."""
        unsteady = None if self.choices.checks.bounds else self._unsteady
        float_pair = self.choices.readings["float_pair_coprocessor"]
        self._reader = Reader(self.memory, float_pair, engine.stepper.hooks, unsteady)
        self._resolver = _FUNCTION(self._resolve)
        self._library = library(engine.options.cache_dir or default_folder())
        helpers = self._library.helpers(self.choices.checks)
        self._finish = helpers["finish"]
        self._run_native = _FUNCTION(helpers["run"])
        self._data = EngineData(helpers)
        self._layout = -1
        self._tables: dict[Mode, JumpTable] = {}
        self._mode: Mode | None = None
        self._mode_key: tuple[int, int, int, int, bool] | None = None
        self._table_address = 0
        self._hints: dict[int, frozenset[LoopEnd]] = {}
        self._careful: set[int] = set()
        self._nans: set[int] = set()
        """Addresses of instructions whose results have been NaN."""
        self._busy: set[int] = set()
        """Units that have run so often that they get full effort."""
        self.patience = PATIENCE
        self._units: dict[int, Code] = {}
        self._pages: dict[int, set[int]] = {}
        self.unit_limit = LIMIT
        """Instructions of a unit at most: 1 makes translated code comparable after every instruction."""
        self._nested = 0
        self._trouble: BaseException | None = None
        self.memory.add_code_hook(self._code_changes)

    def limit_units(self, limit: int = LIMIT) -> None:
        """From now on make units of at most ``limit`` instructions; those made so far are not used any
        more.
        """
        self.unit_limit = limit
        self._tables.clear()
        self._units.clear()
        self._mode = self._mode_key = None

    @property
    def objects_made(self) -> int:
        """Pieces of native code that this process had to make, for all engines with this cache folder."""
        return self._library.made

    def instructions(self) -> Iterator[Insn]:
        """Every instruction of the units that there are now."""
        for code in self._units.values():
            for block in code.blocks.values():
                yield from (step.insn for step in block.steps)

    # --- running ------------------------------------------------------------
    def run(self) -> ExitReason:
        """Run from PC to the return address (RETURN) or until the budget is used up (BUDGET). Raises Trap."""
        state, stepper, end = self.state, self.stepper, self.return_address
        state.engine_data = self._data.address
        self._step_out_of_block()
        while end != state.PC:
            left = self._run_units()
            reason = left & REASON
            if reason == ExitReason.RETURN:
                break
            if reason == ExitReason.BUDGET:
                return stepper.run()
            if reason == ExitReason.JUMP and self._learn(left):
                continue
            if state.budget <= 0:
                return ExitReason.BUDGET
            stepper.step()
        return ExitReason.RETURN

    def _step_out_of_block(self) -> None:
        """Where a slice ended inside a block of a unit, step to the block's end: another unit for every place
        in which a timer may interrupt the code would cost far more.
        """
        state = self.state
        while state.budget > 0 and self._is_inside_block(state.PC):
            self.stepper.step()

    def _is_inside_block(self, pc: int) -> bool:
        """True when units know the instruction at ``pc``, but none of them has it as the start of a block."""
        entries = self._pages.get(pc >> PAGE_BITS, ())
        units = [self._units[entry] for entry in entries if entry in self._units]
        return not any(pc in unit.blocks for unit in units) and any(unit.covers(pc) for unit in units)

    def _run_units(self) -> int:
        """Units count the budget down; instructions follow from it."""
        state = self.state
        self._enter_mode()
        self._follow_layout()
        total = state.instructions + state.budget
        reason: int = self._run_native(address_of(state), DEPTH)
        state.instructions = total - state.budget
        if self._trouble is not None:
            trouble, self._trouble = self._trouble, None
            raise trouble
        return reason

    def _follow_layout(self) -> None:
        """Forget what is known of guest memory when the page tables have changed."""
        if self._layout != self.memory.layout_version:
            self._layout = self.memory.layout_version
            self._data.forget()

    def _enter_mode(self) -> None:
        """Let units of the state's mode run."""
        key = Mode.key_of(self.state)
        if key != self._mode_key:
            self._change_mode(Mode(*key))
            self._mode_key = key
        self.state.jump_cache = self._table_address

    def _change_mode(self, mode: Mode) -> None:
        table = self._tables.get(mode)
        if table is None:
            table = self._tables[mode] = JumpTable(ctypes.cast(self._resolver, ctypes.c_void_p).value or 0)
            table.set(self.return_address, self._finish)
        self._mode, self._table_address = mode, table.address

    def _learn(self, left: int) -> bool:
        """Remember why a unit was left; False when nothing new was learnt: then the stepper has to help."""
        state = self.state
        if left == Leave.EXACT:
            return Mode.of(state) != self._mode
        if left == Leave.BUSY:
            entry = state.exit_detail[0]
            self._busy.add(entry)
            self._drop(lambda unit: unit.entry == entry)
            return True
        if left == Leave.CAREFUL:
            return self._remake(self._careful)
        if left == Leave.NAN:
            return self._remake(self._nans)
        known = self._hints.get(state.PC, frozenset())
        loop = (state.LBEG, state.LEND)
        self._hints[state.PC] = known | {loop}
        self._drop(lambda unit: unit.entry == state.PC)
        return loop not in known

    def _remake(self, places: set[int]) -> bool:
        """Units with the instruction at PC are made again, knowing of it; False when it was known."""
        pc = self.state.PC
        is_new = pc not in places
        places.add(pc)
        self._step_out_of_block()
        self._drop(lambda unit: unit.covers(pc))
        return is_new

    def _drop(self, test: Callable[[Code], bool]) -> None:
        """Forget the units that pass the test."""
        for entry in [entry for entry, code in self._units.items() if test(code)]:
            del self._units[entry]
            for table in self._tables.values():
                table.remove(entry)

    # --- making units ------------------------------------------------------------
    def _resolve(self, state_address: int, depth: int) -> int:
        """Called by native code for an address that has no unit yet.

        Nothing can be raised through native code: it is kept, and the units on the way are left.
        """
        try:
            return self._resolved(state_address, depth)
        except BaseException as trouble:
            self._trouble = trouble
            return int(ExitReason.EXCEPTION)

    def _resolved(self, state_address: int, depth: int) -> int:
        """Make the unit and run it."""
        if self._nested >= RESOLVER_DEPTH:
            return int(ExitReason.RUNNING)
        function = self._unit(self.state.PC)
        if function is None:
            return int(ExitReason.STEP)
        self._nested += 1
        try:
            return int(_FUNCTION(function)(state_address, depth))
        finally:
            self._nested -= 1

    def _unit(self, pc: int) -> int | None:
        """The native code for ``pc`` in the current mode; None when no instruction can run there."""
        mode = self._mode
        assert mode is not None
        hints, around = self._hints.get(pc, frozenset()), self._around(pc)
        code = discover(self._reader, pc, hints, mode.has_loops, self.unit_limit, around)
        if code is None:
            return None
        code.careful = frozenset(at for at in self._careful if code.covers(at))
        code.has_nans = any(code.covers(at) for at in self._nans)
        function = self._native(code, mode)
        self._tables[mode].set(pc, function)
        self._units[pc] = code
        self._watch(code)
        self._follow_layout()
        return function

    def _around(self, pc: int) -> int | None:
        """Entry of the largest unit that has ``pc`` as the start of a block; None when there is none."""
        entries = self._pages.get(pc >> PAGE_BITS, ())
        units = [self._units[entry] for entry in entries if entry in self._units and entry != pc]
        sizes = {unit.entry: len(unit.steps) for unit in units if pc in unit.blocks}
        return max(sizes, key=lambda entry: sizes[entry]) if sizes else None

    def _native(self, code: Code, mode: Mode) -> int:
        """The best native code that there is; else made with the effort that the unit has earned."""
        library, choices = self._library, self.choices
        key = unit_key(code, mode, choices, FULL)
        function = library.known_unit(key, SYMBOL)
        if function is not None:
            return function
        if code.entry in self._busy or self.patience <= 0:
            effort = FULL if _has_vectors(code) else SCALAR
            return library.unit(key, SYMBOL, lambda: translate(code, mode, choices, FULL), effort)
        self._data.allow(code.entry, self.patience * len(code.steps) // _haste(code))
        key = unit_key(code, mode, choices, QUICK)
        return library.unit(key, SYMBOL, lambda: translate(code, mode, choices, QUICK), QUICK)

    def _watch(self, code: Code) -> None:
        spans = [*((start, len(data)) for start, data in code.ranges()), *((at, 4) for at in code.literals)]
        for start, size in spans:
            for page in range(start >> PAGE_BITS, ((start + size - 1) >> PAGE_BITS) + 1):
                self._pages.setdefault(page, set()).add(code.entry)
                if not self.memory.is_watched(page):
                    self.memory.watch_code(page)

    def _code_changes(self, address: int, size: int) -> None:
        """Bytes on a page with translated code are about to change."""
        for page in range(address >> PAGE_BITS, ((address + size - 1) >> PAGE_BITS) + 1):
            for alias in self.memory.aliases(page):
                self._unsteady.add(alias)
                changed = self._pages.pop(alias, set())
                self._drop(lambda unit, gone=changed: unit.entry in gone)  # type: ignore[misc]
                self.memory.unwatch_code(alias)


def _haste(code: Code) -> int:
    """How much more than other code the unit gains by full effort: vector code gains most."""
    vectors = sum(step.insn.row.group == "pie" for step in code.steps)
    return 8 if 4 * vectors > len(code.steps) else 1


def _has_vectors(code: Code) -> bool:
    return any(step.insn.row.group == "pie" for step in code.steps)


def choices_of(engine: Engine) -> Choices:
    """What of the engine's options changes the code."""
    options = engine.options
    return Choices(
        fused=options.fused == "fused",
        track_fsr=engine.track_fsr,
        vectors=options.exceptions == "vectors",
        checks=Checks(options.bounds, options.bounds and options.check_init),
        readings=engine.readings,
    )
