"""Frames on the stack that units check once; see stack.py."""

import random

import pytest

from emu.cpu.translator import stack
from tests.translator.programs import LITERALS, TEXT, Program
from tests.translator.rig import CODE, CODE_SIZE, DATA, DATA_SIZE, STOP

ACCESSES = (
    *(("l8ui", "t", 1), ("s8i", "t", 1), ("l16ui", "t", 2), ("l16si", "t", 2), ("s16i", "t", 2)),
    *(
        ("l32i", "t", 4),
        ("s32i", "t", 4),
        ("l32i.n", "t", 4),
        ("s32i.n", "t", 4),
        ("lsi", "ft", 4),
        ("ssi", "ft", 4),
    ),
)
PLACES = (
    *(DATA + DATA_SIZE - k for k in (0, 1, 4, 20, 40, 60, 64, 80, 100)),
    *(DATA, DATA + 16, DATA + 0x1000 - 20, DATA + 0xFF8, DATA + 3, DATA - 8, CODE + CODE_SIZE - 30, STOP),
)


@pytest.fixture
def checked(monkeypatch):
    """Sizes of the frames that are checked."""
    seen = []
    original = stack.StackFrame.check

    def check(self, pc):
        seen.append(self.size)
        return original(self, pc)

    monkeypatch.setattr(stack.StackFrame, "check", check)
    return seen


def _body(program, rng, count):
    for _ in range(count):
        if rng.random() < 0.25:
            program.emit("add.n", r=rng.randrange(8, 12), s=rng.randrange(8, 12), t=rng.randrange(8, 12))
        name, register, size = rng.choice(ACCESSES)
        program.emit(name, s=1, imm=size * rng.randrange(12), **{register: rng.randrange(8, 12)})
        if rng.random() < 0.15:
            program.emit("s32i", t=rng.randrange(8, 12), s=2, imm=4 * rng.randrange(4))


def _leaf(rng):
    """Accesses through a1, some of them in a loop, and stores through a2, which may point to the same."""
    program = Program()
    program.place("main", 4)
    program.emit("l32r", t=2, literal=LITERALS)
    _body(program, rng, rng.randint(2, 8))
    if rng.random() < 0.5:
        program.emit("movi", t=7, imm=5)
        program.place("again")
        _body(program, rng, 3)
        program.emit("addi", t=7, s=7, imm=-1)
        program.emit("bnez", s=7, target="again")
    program.emit("ret")
    return program.assemble()


def _caller(rng):
    """Windowed functions with frames of their own, below each other."""
    program = Program()
    for name in ("main", "inner"):
        program.place(name, 4)
        program.emit("entry", s=1, imm=rng.choice((32, 48, 64)))
        program.emit("l32r", t=2, literal=LITERALS)
        _body(program, rng, rng.randint(3, 8))
        if name == "main":
            program.emit("call8", target="inner")
            _body(program, rng, 3)
        program.emit("retw")
    return program.assemble()


@pytest.mark.parametrize("make", [_leaf, _caller])
@pytest.mark.parametrize("part", range(2))
def test_frames_anywhere(pair, checked, monkeypatch, make, part):
    for seed in range(50 * part, 50 * part + 50):
        rng = random.Random(f"frame {seed}")
        code, labels = make(rng)
        place = rng.choice((*PLACES, *(DATA + 4096 + 4 * rng.randrange(512),) * 6))
        monkeypatch.setattr("tests.translator.programs.STACK", place & -16 if make is _caller else place)
        words = (place - rng.choice((0, 0, 4, 16, 2000)) & 0xFFFFFFFF,)
        pair.check(f"frame {seed}", code, labels, make is _caller, words)
    assert max(checked) >= 20
    assert pair.outcomes["RETURN"] > 15
    assert sum(pair.outcomes.values()) - pair.outcomes["RETURN"] > 3


def test_a_frame_in_a_page_with_code(pair, monkeypatch):
    """Stores there go to the stepper, because they may change code; loads are fast."""
    code, labels = _leaf(random.Random("frame in code"))
    monkeypatch.setattr("tests.translator.programs.STACK", TEXT + 0x400)
    for number in range(3):
        pair.check(f"frame in code {number}", code, labels, False, (DATA,))
    assert pair.outcomes == {"RETURN": 3}
