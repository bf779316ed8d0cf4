"""B063: each of the 754 rows is executed or stops for a reason; none is unknown, none is skipped."""

from __future__ import annotations

import random

import pytest

from emu.cpu import state_tools
from emu.cpu.engine import Engine
from emu.cpu.traps import Trap, TrapKind
from emu.isa.table import Row, rows
from tests.cpu.images import engine_of
from tests.cpu.lab import CODE, DATA
from tests.robust.machine import random_row_word


@pytest.fixture(scope="module")
def engine() -> Engine:
    return engine_of("f: entry a1, 32\n .word 0, 0", tier="stepper")


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.key)
def test_b063_no_row_is_unknown(engine: Engine, row: Row) -> None:
    """An instruction alone, with pointers into memory: it counts as executed exactly when it was."""
    rng = random.Random(row.index)
    for _ in range(3):
        state_tools.dirty(engine.state, row.index)
        state_tools.prepare_call(engine.state)
        engine.state.InOCDMode = 1
        for i in range(16):
            engine.state.set_a(i, DATA + 64 * i + 1024)
        engine.memory.write(CODE, random_row_word(row, rng))
        engine.state.PC, engine.state.budget = CODE, 1
        engine.stepper.begin()
        before = engine.state.instructions
        ended = "done"
        try:
            engine.stepper.step()
        except Trap as trap:
            ended = trap.kind.name
        executed = engine.state.instructions - before
        assert ended != TrapKind.UNIMPLEMENTED.name
        assert executed == (ended in ("done", "DEVICE")) or engine.state.PC == CODE, ended
