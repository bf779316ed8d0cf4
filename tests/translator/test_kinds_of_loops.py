"""Loops with an index that is shifted right, that change memory in place, that compare; see versions.py."""

import random

import pytest

from tests.translator.fast_loops import count_fast_loops
from tests.translator.programs import LITERALS, Program
from tests.translator.rig import DATA, DATA_SIZE


@pytest.fixture
def written(monkeypatch):
    """Fast versions that are written: with a shifted index, one pointer for loads and stores, booleans."""
    return count_fast_loops(monkeypatch)


class ShiftedLoop:
    """a2 is an index that moves by a step, a3 near an end of memory; accesses at a3 + (a2 >> n)."""

    def __init__(self, seed):
        self.rng = rng = random.Random(f"shifted {seed}")
        self.program = program = Program()
        self.by, self.name = rng.choice((1, 2, 3, 5, 8, 15)), rng.choice(("srai", "srli"))
        index = rng.choice((0, 1, 5, 1000, -3, -40, 0x7FFFFFF0, 0x80000003, 0xFFFFFFF0)) & 0xFFFFFFFF
        times = rng.choice((1, 3, 5, 40, 300))
        step = rng.choice((1, 1, 2, 3, -1, -2, 7))
        shift = self._shifted(index), self._shifted(index + step * (times - 1))
        edge = rng.choice((DATA - min(shift), DATA + DATA_SIZE - 1 - max(shift), DATA + 2000 - shift[0]))
        self.words = (index, (edge + rng.choice((0, 0, 0, 1, -1, 4, -4))) & 0xFFFFFFFF)
        program.place("main", 4)
        for register in (2, 3):
            program.emit("l32r", t=register, literal=LITERALS + 4 * (register - 2))
        program.emit("movi", t=7, imm=times)
        program.emit("loopgtz", s=7, target="end")
        self._shift()
        program.emit("add", r=10, s=8, t=3)
        for _ in range(rng.randint(1, 3)):
            self._access()
        program.emit("add", r=9, s=9, t=8)
        program.emit("addi", t=2, s=2, imm=step)
        if rng.random() < 0.2:
            program.emit("addi", t=3, s=3, imm=rng.choice((1, 4, -4)))
        program.place("end")
        program.emit("ret")

    def _shifted(self, index):
        signed = (index + (1 << 31) & 0xFFFFFFFF) - (1 << 31) if self.name == "srai" else index & 0xFFFFFFFF
        return signed >> self.by

    def _shift(self):
        if self.name == "srai":
            self.program.emit("srai", r=8, t=2, sa=self.by)
        else:
            self.program.emit("srli", r=8, t=2, level=self.by)

    def _access(self):
        rng, emit = self.rng, self.program.emit
        name, size = rng.choice((("l8ui", 1), ("l8ui", 1), ("l16si", 2), ("s8i", 1)))
        emit(name, t=rng.randrange(8, 10) if name[0] == "s" else 9, s=10, imm=size * rng.choice((0, 0, 1)))


@pytest.mark.parametrize("part", range(3))
def test_shifted_indices_near_the_edges_of_memory(pair, written, part):
    for seed in range(80 * part, 80 * part + 80):
        loop = ShiftedLoop(seed)
        budget = loop.rng.choice((30_000, 30_000, 60))
        pair.check(f"shifted {seed}", *loop.program.assemble(), False, loop.words, budget=budget)
    assert written["shifted"] > 30
    assert pair.outcomes["RETURN"] > 20
    assert pair.outcomes["UNMAPPED_LOAD"] + pair.outcomes["UNMAPPED_STORE"] > 3


class InPlaceLoop:
    """Loads and stores through a2, a3, which overlap: the same words, or some that lie before or behind."""

    def __init__(self, seed):
        self.rng = rng = random.Random(f"in place {seed}")
        self.program = program = Program()
        start = DATA + rng.choice((0, 4, 64, DATA_SIZE - 160))
        self.words = (start, start + rng.choice((0, 0, 4, -4, 8, 16, 100, 2)))
        program.place("main", 4)
        for register in (2, 3):
            program.emit("l32r", t=register, literal=LITERALS + 4 * (register - 2))
        program.emit("movi", t=7, imm=rng.choice((3, 4, 5, 17, 40)))
        size, load, store = rng.choice(((4, "l32i", "s32i"), (2, "l16ui", "s16i"), (1, "l8ui", "s8i")))
        step = size * rng.choice((1, 1, 1, 2, -1))
        self.others = rng.choice((2, 2, 3))
        program.emit("loopgtz", s=7, target="end")
        program.emit(load, t=8, s=2, imm=size * rng.choice((0, 1, 2)))
        if rng.random() < 0.5:
            program.emit(load, t=9, s=self.others, imm=size * rng.choice((0, 1)))
        program.emit("addi", t=8, s=8, imm=3)
        program.emit("xor", r=8, s=8, t=9)
        program.emit(store, t=8, s=self.others, imm=size * rng.choice((0, 0, 1, 2)))
        program.emit("addi", t=2, s=2, imm=step)
        if self.others == 3:
            program.emit("addi", t=3, s=3, imm=step)
        program.place("end")
        program.emit("ret")


@pytest.mark.parametrize("part", range(2))
def test_loops_that_change_memory_in_place(pair, written, part):
    for seed in range(80 * part, 80 * part + 80):
        loop = InPlaceLoop(seed)
        budget = loop.rng.choice((30_000, 30_000, 60))
        pair.check(f"in place {seed}", *loop.program.assemble(), False, loop.words, budget=budget)
    assert written["shared"] > 30
    assert pair.outcomes["RETURN"] > 20


class BooleanLoop:
    """Comparisons into some boolean registers, moves that depend on any of them, before or behind."""

    def __init__(self, seed):
        self.rng = rng = random.Random(f"booleans {seed}")
        self.program = program = Program()
        self.words = (DATA, DATA + rng.choice((0, 0, 64, 1024)))
        program.place("main", 4)
        for register in (2, 3):
            program.emit("l32r", t=register, literal=LITERALS + 4 * (register - 2))
        program.emit("movi", t=7, imm=rng.choice((3, 4, 9, 40)))
        program.emit("loopgtz", s=7, target="end")
        program.emit("lsi", ft=0, s=2, imm=0)
        for _ in range(rng.randint(1, 4)):
            self._item()
        program.emit("ssi", ft=0, s=3, imm=0)
        program.emit("addi", t=2, s=2, imm=4)
        program.emit("addi", t=3, s=3, imm=4)
        program.place("end")
        program.emit("ret")

    def _item(self):
        rng, emit = self.rng, self.program.emit
        if rng.random() < 0.6:
            name = rng.choice(("olt.s", "ole.s", "ueq.s"))
            emit(name, br=rng.randrange(16), fs=rng.randrange(3), ft=rng.randrange(3))
        elif rng.random() < 0.7:
            name = rng.choice(("movf.s", "movt.s"))
            emit(name, fr=rng.randrange(3), fs=rng.randrange(3), bt=rng.randrange(16))
        else:
            emit("andb", br=rng.randrange(16), bs=rng.randrange(16), bt=rng.randrange(16))


def test_booleans_that_a_loop_writes(pair, written):
    for seed in range(80):
        loop = BooleanLoop(seed)
        budget = loop.rng.choice((30_000, 30_000, 60))
        pair.check(f"booleans {seed}", *loop.program.assemble(), False, loop.words, budget=budget)
    assert written["booleans"] > 20
    assert pair.outcomes["RETURN"] > 20
