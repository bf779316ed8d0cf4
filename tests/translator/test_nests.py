"""Rows of columns: loops in loops that get one fast version; see nests.py."""

import random

import pytest

from emu.cpu.translator import nests
from tests.translator.programs import LITERALS, Program
from tests.translator.rig import DATA, DATA_SIZE

VECTOR_STEPS = (-32, -16, 0, 16, 16, 32, 48)
SCALAR_STEPS = (-4, -1, 0, 1, 2, 4, 4, 8)


@pytest.fixture
def opened(monkeypatch):
    """Counts the fast versions that are written."""
    seen = []
    original = nests.FastNest.open
    monkeypatch.setattr(nests.FastNest, "open", lambda self, *a: seen.append(1) or original(self, *a))
    return seen


class NestProgram:
    """a2 walks through rows and columns, a3 is set anew for each row, a4 stores once a row."""

    def __init__(self, seed):
        self.rng = rng = random.Random(f"nest {seed}")
        self.program = program = Program()
        self.words = []
        rows, columns = rng.choice((1, 2, 3, 5, 9)), rng.choice((0, 1, 2, 3, 4, 5, 8, 13))
        self.is_vector = rng.random() < 0.6
        gap = rng.choice((0, 16, 64, -48, 4, 1))
        end, middle = DATA + DATA_SIZE - 16 * rng.randrange(1, 90), DATA + DATA_SIZE // 2
        edge = rng.choice((DATA, end, end, middle))
        program.place("main", 4)
        for register, value in (
            (2, edge + rng.choice((0, 0, 0, 5, 12))),
            (5, DATA + rng.choice((0, 64, 512, 515, 3000))),
            (4, DATA + rng.choice((4000, 4080, 8000, 0))),
            (6, rows),
            (7, columns),
            (8, gap),
        ):
            self.words.append(value & 0xFFFFFFFF)
            program.emit("l32r", t=register, literal=LITERALS + 4 * (len(self.words) - 1))
        program.place("rows")
        program.emit("mov.n", t=3, s=5)
        if rng.random() < 0.7:
            program.emit("ee.zero.accx")
        self._code(rng.randint(0, 3))
        program.emit(rng.choice(("loopnez", "loopnez", "loop", "loopgtz")), s=7, target="end")
        self._code(rng.randint(1, 4))
        program.place("end")
        self._code(rng.randint(0, 2))
        program.emit(rng.choice(("rur.accx_0", "rur.accx_0", "rur.accx_1")), r=9)
        program.emit("s32i", t=9, s=4, imm=0)
        program.emit("addi", t=4, s=4, imm=rng.choice((4, 4, 8, -4, 0)))
        program.emit("add", r=2, s=2, t=8)
        program.emit("addi", t=6, s=6, imm=-1)
        program.emit("bnez", s=6, target="rows")
        program.emit("ret")

    def _code(self, count):
        for _ in range(count):
            if self.is_vector and self.rng.random() < 0.85:
                self._vector()
            else:
                self._scalar()

    def _vector(self):
        rng, base = self.rng, self.rng.choice((2, 3))
        step = rng.choice(VECTOR_STEPS)
        choice = rng.random()
        registers = {"qx": rng.randrange(8), "qy": rng.randrange(8)}
        if choice < 0.4:
            key = rng.choice(
                ("ee.vmulas.s8.accx.ld.ip", "ee.vmulas.s8.accx.ld.ip", "ee.vmulas.s8.qacc.ld.ip")
            )
            self.program.emit(key, qu=rng.randrange(8), **{"as": base, "imm16": step}, **registers)
        elif choice < 0.6:
            self.program.emit("ee.vmulas.s8.accx", **registers)
        elif choice < 0.9:
            self.program.emit("ee.vld.128.ip", qu=rng.randrange(8), **{"as": base, "imm16": step})
        else:
            self.program.emit("ee.vst.128.ip", qv=rng.randrange(8), **{"as": base, "imm16": step})

    def _scalar(self):
        rng, base = self.rng, self.rng.choice((2, 3))
        key, size = rng.choice((("l8ui", 1), ("l32i", 4), ("l16si", 2), ("s8i", 1), ("s32i", 4)))
        self.program.emit(key, t=rng.randrange(9, 15), s=base, imm=size * rng.randrange(3))
        if rng.random() < 0.6:
            self.program.emit("addi", t=base, s=base, imm=rng.choice(SCALAR_STEPS))
        if rng.random() < 0.3:
            self.program.emit("add", r=rng.randrange(9, 15), s=rng.randrange(9, 15), t=rng.randrange(9, 15))


@pytest.mark.parametrize("part", range(4))
def test_random_nests(pair, opened, part):
    for seed in range(30 * part, 30 * part + 30):
        nest = NestProgram(seed)
        budget = nest.rng.choice((20_000, 20_000, 20_000, 30, 100, 500))
        states = {"budget": budget, "ACCX": nest.rng.choice((0, 5, 1 << 38, (1 << 40) - 7))}
        pair.check(f"nest {seed}", *nest.program.assemble(), False, nest.words, **states)
    assert len(opened) > 12
    assert pair.outcomes["RETURN"] > 8


def test_the_inner_loop_may_not_change_the_count_of_the_next_row(pair, opened):
    """The columns shrink from row to row: such a nest has no fast version."""
    program = Program()
    program.place("main", 4)
    for register in (2, 3):
        program.emit("l32r", t=register, literal=LITERALS + 4 * (register - 2))
    program.emit("movi", t=6, imm=5)
    program.emit("movi", t=7, imm=6)
    program.place("rows")
    program.emit("loopnez", s=7, target="end")
    program.emit("l8ui", t=8, s=2, imm=0)
    program.emit("s8i", t=8, s=3, imm=0)
    program.emit("addi.n", r=2, s=2, imm=1)
    program.place("end")
    program.emit("addi", t=3, s=3, imm=1)
    program.emit("addi", t=7, s=7, imm=-1)
    program.emit("addi", t=6, s=6, imm=-1)
    program.emit("bnez", s=6, target="rows")
    program.emit("ret")
    pair.check("shrinks", *program.assemble(), False, (DATA + 100, DATA + 600))
    assert pair.outcomes == {"RETURN": 1}
    assert not opened


@pytest.mark.parametrize("low_bits", [0, 1, 7, 15])
def test_forced_and_plain_accesses_through_one_pointer(pair, opened, low_bits):
    """The vector load drops the low bits of an address that the byte load keeps."""
    program = Program()
    program.place("main", 4)
    for register in (2, 4):
        program.emit("l32r", t=register, literal=LITERALS + 2 * (register - 2))
    program.emit("movi", t=6, imm=4)
    program.emit("movi", t=7, imm=5)
    program.place("rows")
    program.emit("ee.zero.accx")
    program.emit("ee.vld.128.ip", qu=0, **{"as": 2, "imm16": 16})
    program.emit("l8ui", t=8, s=2, imm=3)
    program.emit("loopnez", s=7, target="end")
    program.emit("ee.vmulas.s8.accx.ld.ip", qu=1, **{"as": 2, "imm16": 16}, qx=0, qy=1)
    program.emit("l8ui", t=9, s=2, imm=1)
    program.emit("add", r=10, s=10, t=9)
    program.place("end")
    program.emit("rur.accx_0", r=9)
    program.emit("s32i", t=9, s=4, imm=0)
    program.emit("addi", t=4, s=4, imm=4)
    program.emit("addi", t=6, s=6, imm=-1)
    program.emit("bnez", s=6, target="rows")
    program.emit("ret")
    pair.check(f"forced {low_bits}", *program.assemble(), False, (DATA + 512 + low_bits, DATA + 4096))
    assert pair.outcomes == {"RETURN": 1}
    assert opened
