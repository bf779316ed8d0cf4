"""Float code that bets on numbers, when NaNs come: see numbers.py."""

import random
import struct
from pathlib import Path

import numpy as np
import pytest

from emu.cpu.translator import numbers
from emu.cpu.translator.library import Library
from tests.translator.compare import Pair
from tests.translator.programs import LITERALS, Program
from tests.translator.rig import DATA, DATA_SIZE

NANS = (0x7FC00000, 0xFFC00000, 0x7F800001, 0xFF812345, 0x7FFFFFFF, 0x7FC54321)
HUGE = (0x7F800000, 0xFF800000, 0x7F7FFFFF, 0xFF7FFFFF)
SUMS = ("add.s", "sub.s", "mul.s", "madd.s", "msub.s", "maddn.s")
COUNTS = (1, 2, 3, 4, 9, 30)


@pytest.fixture
def pair(tmp_path):
    made = Pair({"track_fsr": False})
    made.translator._library = Library(Path(tmp_path))
    return made


@pytest.fixture
def settled(monkeypatch):
    """Counts the fast loops that look once an iteration."""
    seen = []
    original = numbers.IterationNumbers.settle
    monkeypatch.setattr(numbers.IterationNumbers, "settle", lambda self: seen.append(1) or original(self))
    return seen


def _contents(rng, special):
    """The data region: usual numbers, with some words that are NaN or make one."""
    words = [struct.unpack("<I", struct.pack("<f", rng.uniform(-4, 4)))[0] for _ in range(DATA_SIZE // 4)]
    for _ in range(special):
        words[rng.randrange(len(words) // 8)] = rng.choice(NANS + HUGE)
    return np.array(words, np.uint32).view(np.uint8)


class FloatLoop:
    """A loop over floats: loads, arithmetic, stores at the end or anywhere, and values that it carries on."""

    def __init__(self, seed):
        self.rng = rng = random.Random(f"floats {seed}")
        self.program = program = Program()
        count = rng.choice(COUNTS)
        self.words = (DATA, DATA + rng.choice((0, 4, 64, 1024, 4096)))
        program.place("main", 4)
        for register in (2, 3):
            program.emit("l32r", t=register, literal=LITERALS + 4 * (register - 2))
        program.emit("movi", t=7, imm=count)
        is_hardware = rng.random() < 0.5
        if is_hardware:
            program.emit("loopgtz", s=7, target="end")
        else:
            program.place("again")
        late = []
        for _ in range(rng.randint(2, 9)):
            self._item(late, stores_at_once=rng.random() < 0.1)
        for register, where in late:
            program.emit("ssi", ft=register, s=3, imm=where)
        step = rng.choice((4, 8, 8, 12))
        program.emit("addi", t=2, s=2, imm=step)
        program.emit("addi", t=3, s=3, imm=rng.choice((step, 4, 0)))
        if not is_hardware:
            program.emit("addi", t=7, s=7, imm=-1)
            program.emit("bnez", s=7, target="again")
        program.place("end")
        program.emit("ret")

    def _item(self, late, stores_at_once):
        rng, emit = self.rng, self.program.emit
        kind = rng.random()
        if kind < 0.3:
            emit("lsi", ft=rng.randrange(8), s=2, imm=4 * rng.randrange(4))
        elif kind < 0.75:
            emit(rng.choice(SUMS), **{name: rng.randrange(8) for name in ("fr", "fs", "ft")})
        elif kind < 0.8:
            emit("rfr", r=rng.randrange(8, 12), fs=rng.randrange(8))
        elif kind < 0.85:
            emit("olt.s", br=rng.randrange(4), fs=rng.randrange(8), ft=rng.randrange(8))
        elif kind < 0.9:
            emit("trunc.s", r=rng.randrange(8, 12), fs=rng.randrange(8), imm=0)
        else:
            place = (rng.randrange(8), 4 * rng.randrange(4))
            if stores_at_once:
                emit("ssi", ft=place[0], s=3, imm=place[1])
            else:
                late.append(place)


@pytest.mark.parametrize("part", range(3))
def test_loops_that_meet_nans_at_any_iteration(pair, settled, part):
    for seed in range(60 * part, 60 * part + 60):
        loop = FloatLoop(seed)
        code, labels = loop.program.assemble()
        for special in (0, 3):
            contents = _contents(loop.rng, special)
            budget = loop.rng.choice((30_000, 30_000, 100))
            pair.check(f"{seed}", code, labels, False, loop.words, contents, budget=budget)
            pair.translator._nans.clear()
    assert pair.outcomes["RETURN"] > 60
    assert len(settled) > 30


def test_a_unit_that_has_met_a_nan_is_not_made_again_and_again(pair):
    program = Program()
    program.place("main", 4)
    program.emit("l32r", t=2, literal=LITERALS)
    program.emit("movi", t=7, imm=100)
    program.emit("movi", t=8, imm=0)
    program.emit("wfr", fr=2, s=8)
    program.emit("loopgtz", s=7, target="end")
    program.emit("lsi", ft=1, s=2, imm=0)
    program.emit("add.s", fr=2, fs=2, ft=1)
    program.emit("addi", t=2, s=2, imm=8)
    program.place("end")
    program.emit("ssi", ft=2, s=2, imm=0)
    program.emit("ret")
    code, labels = program.assemble()
    contents = np.zeros(DATA_SIZE // 4, np.uint32)
    contents[50] = 0xFF812345
    contents[70] = 0x7FC54321
    made = pair.translator._library
    for _ in range(2):
        pair.check("sum", code, labels, False, (DATA,), contents.view(np.uint8))
    last = made.made
    assert len(pair.translator._nans) == 1
    for _ in range(2):
        pair.check("sum", code, labels, False, (DATA,), contents.view(np.uint8))
    assert made.made == last
    assert pair.outcomes == {"RETURN": 4}
