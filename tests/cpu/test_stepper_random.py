"""Random bytes as code: a classified end within the budget, never another error."""

from __future__ import annotations

import random

import pytest

from emu.cpu import state_tools
from emu.cpu.state import ExitReason
from emu.cpu.traps import Trap
from emu.isa.encode import encode_word
from emu.isa.table import Row, rows
from tests.cpu.lab import CODE, DATA, END, STACK_TOP, Bench
from tests.cpu.test_windows import VECTOR_BASE, VECTORS

BUDGET = 200
SIZE = 96


def random_row_word(row: Row, rng: random.Random) -> bytes:
    """An instruction of a row with random fields; labels go somewhere near."""
    values = {}
    for operand in row.operands:
        kind = operand.kind
        value = kind.value(rng.randrange(1 << kind.width))
        values[operand.name] = (CODE + value) & 0xFFFFFFFF if kind.cls == "label" else value
    word = encode_word(row, values, CODE) | rng.getrandbits(8 * row.length) & row.ignored
    return word.to_bytes(row.length, "little")


def program(rng: random.Random) -> bytes:
    kind = rng.randrange(3)
    if kind == 0:
        return rng.randbytes(SIZE)
    table = rows()
    code = b"".join(random_row_word(rng.choice(table), rng) for _ in range(SIZE // 3))
    if kind == 1:
        return code
    flipped = bytearray(code)
    for _ in range(4):
        flipped[rng.randrange(len(flipped))] ^= 1 << rng.randrange(8)
    return bytes(flipped)


def bench_with_handlers(use_vectors: bool) -> Bench:
    """Window handlers as usual; every other exception ends the run."""
    bench = Bench(use_vectors=use_vectors)
    bench.put(VECTORS, VECTOR_BASE)
    for offset in (0x280, 0x300, 0x340, 0x3C0):
        bench.put("l32r a0, end\n jx a0", VECTOR_BASE + offset, end=VECTOR_BASE - 4)
    bench.memory.write(VECTOR_BASE - 4, END.to_bytes(4, "little"))
    return bench


def run_one(bench: Bench, rng: random.Random) -> str:
    """Run a random program in a random state; the name of how it ended."""
    state = bench.state
    state_tools.reset(state)
    state_tools.dirty(state, rng.getrandbits(32))
    state_tools.prepare_call(state)
    for i in range(16):
        if rng.random() < 0.5:
            state.set_a(i, rng.choice((DATA + rng.randrange(4096), STACK_TOP - 64, rng.randrange(64), CODE)))
    state.WindowStart = rng.choice((1, 1, 1 | rng.getrandbits(16)))
    state.LCOUNT = rng.choice((0, 0, 3))
    state.LBEG, state.LEND = CODE, CODE + rng.randrange(SIZE)
    state.PC = CODE
    state.VECBASE = VECTOR_BASE >> 10
    bench.memory.write(CODE, program(rng))
    before = state.instructions
    try:
        reason = bench.run(BUDGET)
    except Trap as trap:
        text = str(trap)
        assert text.strip()
        assert "0x" in text
        return trap.kind.name
    assert state.instructions - before <= BUDGET
    assert reason in (ExitReason.RETURN, ExitReason.BUDGET)
    return reason.name


def check_state(bench: Bench) -> None:
    """Every value lies within its width: whatever ran, the state is one that a chip could have."""
    for name, value in state_tools.values(bench.state).items():
        width = state_tools.STATES.get(name)
        assert width is None or value < 1 << width, name
    for name in ("QACC_H", "QACC_L"):
        assert not any(bytes(getattr(bench.state, name))[20:])


@pytest.mark.parametrize("use_vectors", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_random_programs(seed: int, use_vectors: bool) -> None:
    rng = random.Random(seed)
    bench = bench_with_handlers(use_vectors)
    ends = set()
    for _ in range(250):
        ends.add(run_one(bench, rng))
        check_state(bench)
    assert len(ends) >= (2 if use_vectors else 4)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1000, 1050))
def test_a_million_random_programs(seed: int) -> None:
    rng = random.Random(seed)
    bench = bench_with_handlers(bool(seed % 2))
    for i in range(20_000):
        run_one(bench, rng)
        if i % 100 == 0:
            check_state(bench)
