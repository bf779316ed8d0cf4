"""Loops that get a fast version, at the edges of what its checks allow; see versions.py."""

import random

import pytest

from emu.cpu.translator import versions
from tests.translator.programs import LITERALS, Program
from tests.translator.rig import DATA, DATA_SIZE

COUNTS = (1, 2, 3, 4, 5, 7, 8, 9, 17, 40, 130)
STEPS = (-33, -32, -16, -4, -1, 0, 1, 2, 3, 4, 8, 16, 32, 48)
SCALAR = (("l8ui", 1), ("l16ui", 2), ("l16si", 2), ("l32i", 4), ("s8i", 1), ("s16i", 2), ("s32i", 4))
VECTOR = ("ee.vld.128.ip", "ee.vst.128.ip", "ee.vld.l.64.ip", "ee.vst.h.64.ip", "ee.vldbc.16.ip")
FUSED = (
    "ee.vmulas.s8.accx.ld.ip",
    "ee.vmulas.u8.accx.ld.ip",
    "ee.vmulas.s8.qacc.ld.ip",
    "ee.vadds.s8.ld.incp",
)


CLOSERS = (
    *[("bnez", {"s": 7})] * 4,
    *[("bne", {"s": 7, "t": 6})] * 3,
    ("bne", {"s": 6, "t": 7}),
    ("bnei", {"s": 7, "imm": 256}),
    *[(key, {"s": 7, "t": 6}) for key in ("blt", "bltu", "bge", "bgeu")],
    *[(key, {"s": 6, "t": 7}) for key in ("blt", "bltu", "bge", "bgeu")],
    ("bgez", {"s": 7}),
    ("bltz", {"s": 7}),
    ("bltui", {"s": 7, "imm": 256}),
    ("bgei", {"s": 7, "imm": 1}),
    ("beqz", {"s": 7}),
)
"""Branches back; a7 moves."""


@pytest.fixture
def opened(monkeypatch):
    """Counts the fast versions that are written."""
    seen = []
    original = versions.FastLoop.open
    monkeypatch.setattr(versions.FastLoop, "open", lambda self, *a: seen.append(1) or original(self, *a))
    return seen


class Loop:
    """A random loop of one block over streams of memory, with its pointers near an edge of the region."""

    def __init__(self, seed, is_branch=False):
        self.rng = rng = random.Random(f"{seed} {is_branch}")
        self.program = program = Program()
        self.count = rng.choice(COUNTS)
        self.words = []
        program.place("main", 4)
        steps = [self._pointer(register) for register in (2, 3)]
        program.emit("l32r", t=4, literal=LITERALS + 8)
        self.words.append(rng.choice(STEPS) & 0xFFFFFFFF)
        close = self._open_branch_loop() if is_branch else self._open_hardware_loop()
        for _ in range(rng.randint(1, 4)):
            self._access()
        for register, step in zip((2, 3), steps, strict=True):
            self._move(register, step)
        close()
        program.emit("ret")

    def _open_hardware_loop(self):
        kind = self.rng.choice(("loop", "loopnez", "loopgtz"))
        self.program.emit("movi", t=7, imm=self.count)
        self.program.emit(kind, s=7, target="end")
        return lambda: self.program.place("end")

    def _open_branch_loop(self):
        """The counter a7 goes from one literal to another, or just misses it."""
        rng, program = self.rng, self.program
        step = rng.choice((-1, -1, -2, -4, 1, 1, 3, 4))
        first = rng.choice((0, 0, 5, 1000, 0x7FFFFFF0, 0x80000010, 0xFFFFFFF8, rng.getrandbits(32)))
        last = first + step * (self.count - rng.choice((0, 0, 0, 1))) + rng.choice((0, 0, 0, 1, -1))
        small = rng.choice((0, 0, 1, 4, 256))
        for register, value in ((7, small if rng.random() < 0.4 else first), (6, last)):
            self.words.append(value - step * self.count if value == small and register == 7 else value)
            program.emit("l32r", t=register, literal=LITERALS + 4 * (len(self.words) - 1))
        self.words = [word & 0xFFFFFFFF for word in self.words]
        program.place("again")

        def close():
            program.emit("addi", t=7, s=7, imm=step)
            key, values = rng.choice(CLOSERS)
            program.emit(key, **values, target="again")

        return close

    def _pointer(self, register):
        """A pointer whose last access lies near one end of the region, or anywhere."""
        rng = self.rng
        step = rng.choice(STEPS)
        edge = rng.choice((DATA, DATA + DATA_SIZE, DATA + 0x1000, DATA + rng.randrange(DATA_SIZE)))
        where = edge - rng.choice((0, 1)) * step * self.count + rng.randint(-40, 40)
        self.words.append((where & (-16 if rng.random() < 0.5 else -1)) & 0xFFFFFFFF)
        self.program.emit("l32r", t=register, literal=LITERALS + 4 * (register - 2))
        return step

    def _access(self):
        rng, base = self.rng, self.rng.choice((2, 3))
        kind = rng.random()
        if kind < 0.5:
            name, size = rng.choice(SCALAR)
            self.program.emit(name, t=rng.randrange(8, 14), s=base, imm=size * rng.choice((0, 0, 1, 3)))
        elif kind < 0.8:
            name = rng.choice(VECTOR)
            immediate = {"ee.vldbc.16.ip": ("imm2", 2)}.get(
                name, ("imm16", 16) if "128" in name else ("imm8", 8)
            )
            register = "qv" if "vst" in name else "qu"
            values = {
                immediate[0]: immediate[1] * rng.choice((0, 1, 2)),
                register: rng.randrange(8),
                "as": base,
            }
            self.program.emit(name, **values)
        else:
            name = rng.choice(FUSED)
            values = {"qu": rng.randrange(4), "qx": rng.randrange(8), "qy": rng.randrange(8), "as": base}
            values |= {"imm16": 16} if ".ip" in name else {"qa": rng.randrange(4, 8)}
            self.program.emit(name, **values)

    def _move(self, register, step):
        if self.rng.random() < 0.3:
            self.program.emit("add", r=register, s=register, t=4)
        elif step:
            self.program.emit("addi", t=register, s=register, imm=step)


@pytest.mark.parametrize("part", range(3))
def test_loops_near_the_edges_of_memory(pair, opened, part):
    for seed in range(60 * part, 60 * part + 60):
        loop = Loop(seed)
        budget = loop.rng.choice((30_000, 30_000, 40, 100, 333))
        pair.check(f"loop {seed}", *loop.program.assemble(), False, loop.words, budget=budget)
    assert len(opened) > 50
    assert pair.outcomes["RETURN"] > 15
    assert pair.outcomes["BUDGET"] > 0
    assert pair.outcomes["UNMAPPED_LOAD"] + pair.outcomes["UNMAPPED_STORE"] > 10


@pytest.mark.parametrize("part", range(3))
def test_loops_that_a_branch_closes(pair, opened, part):
    for seed in range(60 * part, 60 * part + 60):
        loop = Loop(seed, is_branch=True)
        budget = loop.rng.choice((2000, 2000, 2000, 40, 100))
        pair.check(f"branch loop {seed}", *loop.program.assemble(), False, loop.words, budget=budget)
    assert len(opened) > 20
    assert pair.outcomes["RETURN"] > 10
    assert pair.outcomes["BUDGET"] > 0


def _copy_loop(count):
    """Moves bytes from a2 to a3."""
    program = Program()
    program.place("main", 4)
    for register in (2, 3):
        program.emit("l32r", t=register, literal=LITERALS + 4 * (register - 2))
    program.emit("movi", t=7, imm=count)
    program.emit("loop", s=7, target="end")
    program.emit("l8ui", t=8, s=2, imm=0)
    program.emit("s8i", t=8, s=3, imm=0)
    program.emit("addi.n", r=2, s=2, imm=1)
    program.emit("addi.n", r=3, s=3, imm=1)
    program.place("end")
    program.emit("ret")
    return program.assemble()


@pytest.mark.parametrize("distance", [-40, -17, -16, -3, -1, 0, 1, 2, 15, 16, 31, 40, 500])
def test_streams_that_overlap_keep_the_order_of_the_accesses(pair, distance):
    words = (DATA + 1000, DATA + 1000 + distance)
    pair.check(f"overlap {distance}", *_copy_loop(200), False, words)
    assert pair.outcomes == {"RETURN": 1}


def test_a_loop_that_writes_its_own_code_sees_it(pair):
    code, labels = _copy_loop(4)
    body = labels["end"] - 6
    # The loop copies the literal 'addi a3, a3, 2' style bytes over its own last instruction.
    target = labels["end"] - 2
    words = (DATA + 64, target - 2)
    for seed in range(3):
        pair.check(f"own code {seed}", code, labels, False, words)
    assert body < target
