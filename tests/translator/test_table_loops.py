"""Loops that look into tables whose index only the iteration knows; see versions.py."""

import random

import pytest

from emu.cpu.translator import versions
from tests.translator.programs import LITERALS, Program
from tests.translator.rig import DATA, DATA_SIZE


@pytest.fixture
def loose(monkeypatch):
    """Slacks of the accesses of the fast versions that are written."""
    seen = []
    original = versions.FastLoop.open

    def opened(self, *arguments):
        seen.extend(access.slack for access in self.body.accesses if access.slack)
        return original(self, *arguments)

    monkeypatch.setattr(versions.FastLoop, "open", opened)
    return seen


class TableLoop:
    """a2 walks over bytes, a3 is the table; it lies within the region, or reaches over its end."""

    def __init__(self, seed):
        self.rng = rng = random.Random(f"table {seed}")
        self.program = program = Program()
        self.scale, bits = rng.choice((0, 1, 2, 3)), rng.randint(1, 8)
        reach = ((1 << bits) - 1 << self.scale) + 8
        end = DATA + DATA_SIZE - rng.choice((reach, reach - 8, reach + 1, 4, 1000, 3000))
        self.words = (DATA + rng.choice((0, 5, 100)), rng.choice((end, DATA, DATA - 4, DATA + 4000)))
        program.place("main", 4)
        for register in (2, 3):
            program.emit("l32r", t=register, literal=LITERALS + 4 * (register - 2))
        program.emit("movi", t=7, imm=rng.choice((1, 2, 3, 5, 40)))
        program.emit("loopgtz", s=7, target="end")
        program.emit("l8ui", t=8, s=2, imm=0)
        if rng.random() < 0.5:
            program.emit("xor", r=8, s=8, t=9)
        self._narrow(bits)
        self._scale_up()
        for _ in range(rng.randint(1, 3)):
            self._access()
        program.emit("addi.n", r=2, s=2, imm=1)
        if rng.random() < 0.2:
            program.emit("addi", t=3, s=3, imm=rng.choice((1, 4, -4)))
        program.place("end")
        program.emit("ret")

    def _narrow(self, bits):
        if self.rng.random() < 0.7:
            shift = self.rng.choice((0, 0, 8 - bits))
            self.program.emit("extui", r=8, t=8, sh=shift, len=bits)

    def _scale_up(self):
        name = ("add", "addx2", "addx4", "addx8")[self.scale]
        self.program.emit(name, r=10, s=8, t=3)

    def _access(self):
        rng, emit = self.rng, self.program.emit
        name, size = rng.choice(
            (("l8ui", 1), ("l16si", 2), ("l32i", 4), ("s8i", 1), ("s32i", 4), ("s16i", 2))
        )
        emit(name, t=rng.randrange(8, 10) if name[0] == "s" else 9, s=10, imm=size * rng.choice((0, 1)))


@pytest.mark.parametrize("part", range(3))
def test_tables_near_the_edges_of_memory(pair, loose, part):
    for seed in range(60 * part, 60 * part + 60):
        loop = TableLoop(seed)
        budget = loop.rng.choice((30_000, 30_000, 60))
        pair.check(f"table {seed}", *loop.program.assemble(), False, loop.words, budget=budget)
    assert len(loose) > 30
    assert max(loose) == 255 * 8
    assert pair.outcomes["RETURN"] > 20
    assert pair.outcomes["UNMAPPED_LOAD"] + pair.outcomes["UNMAPPED_STORE"] > 3
