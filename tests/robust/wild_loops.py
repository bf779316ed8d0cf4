"""Random loops of the kinds that have fast versions: in place, with a shifted index, with comparisons.

Each program is run with many arguments, which it reads from memory: pointers that are equal, overlap or are
aliases of each other, lie near an end, in read-only memory or in the program itself; indices near every wrap;
counts from 0 to more than the budget; data with and without NaNs.
``python -m tests.robust.wild_loops FIRST LAST``.
"""

from __future__ import annotations

import random
import struct
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from emu.cpu.translator.dispatch import PATIENCE
from emu.cpu.translator.library import Library
from emu.isa.encode import OperandError
from tests.translator.compare import Pair
from tests.translator.programs import TEXT, Program
from tests.translator.rig import CODE, CODE_SIZE, DATA, DATA_SIZE

RUNS = 6
"""Arguments that each program is run with."""
BUDGET = 1500
LIMIT = 1 << 32
ALIAS, READ_ONLY_ALIAS, CODE_AS_DATA = 0x3FD00000, 0x3FD10000, 0x3FD20000
"""Where the data can be seen a second time, where it can only be read, where the code is data."""
CONSTANTS = DATA + DATA_SIZE
"""A page behind the data that can only be read, in host memory of its own."""
BEFORE = DATA - 0x1000
"""A page in front of the data that is the data's first page again: neighbours that are none on the host."""
POINTERS, INDEX, STEP, COUNT = (2, 3, 4), 5, 6, 7
FREE = tuple(range(8, 14))
ARGUMENTS = 40
"""Bytes: six words, four floats."""
WIDTHS = (
    (1, "l8ui", "s8i"),
    (2, "l16ui", "s16i"),
    (2, "l16si", "s16i"),
    (4, "l32i", "s32i"),
    (4, "lsi", "ssi"),
)
COMPARISONS = ("oeq.s", "ole.s", "olt.s", "ueq.s", "ule.s", "ult.s", "un.s")
KINDS = ("in place", "shifted", "booleans", "mixed")
COUNTS = (0, 1, 2, 3, 4, 5, 7, 8, 9, 16, 17, 31, 33, 33, 64, 150, 0x7FFFFFFF, 0xFFFFFFFF)
INDICES = (
    0,
    1,
    7,
    100,
    -1,
    -7,
    -100,
    -3,
    0x7FFFFFF0,
    0x7FFFFFFC,
    0x80000005,
    0xFFFFFFF0,
    0x10000,
    0x40000000,
)
NEAR = (0, 0, 0, 1, 2, 3, 4, -4, 8, -8, 12, 16, -16, 20, 32, -1, 64, -64, 400)
VALUES = (0.0, -0.0, 1.0, -1.0, 1.5, 2.0, 2.0, -3.25, 100.0, 1e-40, 3e38, float("inf"), float("-inf"))
NANS = (0x7FC00000, 0xFFC12345, 0x7F800001)


class Loops:
    """One program with one or two loops. ``places``: how far a pointer's accesses are from it, by index."""

    def __init__(self, seed: object) -> None:
        self.rng = random.Random(f"wild loops {seed}")
        self.program = Program()
        self.places: dict[int, Callable[[int], int]] = {}
        self.size, self.load, self.store = self.rng.choice(WIDTHS)
        self.parts = self.rng.choice((1, 1, 2))
        self.step = self.rng.choice((1, 1, 1, 2, 3, -1, -2, 7))
        self.program.place("main", 4)  # type: ignore[no-untyped-call]
        for part in range(self.parts):
            self._begin(part)
            self._loop()
        self.emit("ret")

    def emit(self, key: str, **values: object) -> None:
        """An instruction."""
        self.program.emit(key, **values)  # type: ignore[no-untyped-call]

    def _begin(self, part: int) -> None:
        self.emit("l32r", t=8, literal=CODE)
        for word, register in enumerate((*POINTERS, INDEX, STEP, COUNT)):
            self.emit("l32i", t=register, s=8, imm=ARGUMENTS * part + 4 * word)
        for number in range(4):
            self.emit("lsi", ft=number, s=8, imm=ARGUMENTS * part + 24 + 4 * number)

    # --- a loop -----------------------------------------------------------------------------------------
    def _loop(self) -> None:
        rng, program = self.rng, self.program
        begin, end = program.label(), program.label()  # type: ignore[no-untyped-call]
        kind = rng.choice(KINDS)
        closing = rng.choice(("hardware", "hardware", "bnez", "bltu", "blt", "bne"))
        if closing == "hardware":
            self.emit(rng.choice(("loopnez", "loopgtz", "loop")), s=COUNT, target=end)
        program.place(begin)  # type: ignore[no-untyped-call]
        moves = list(self._moves())
        early = [move for move in moves if rng.random() < 0.15]
        for key, values in early:
            self.emit(key, **values)
        self._body(kind, end)
        for key, values in moves:
            if (key, values) not in early:
                self.emit(key, **values)
        if closing == "bnez":
            self.emit("addi", t=COUNT, s=COUNT, imm=-1)
            self.emit("bnez", s=COUNT, target=begin)
        elif closing != "hardware":
            self.emit("addi", t=14, s=14, imm=rng.choice((1, 1, 2)))
            self.emit(closing, s=14, t=COUNT, target=begin)
        program.place(end)  # type: ignore[no-untyped-call]
        if rng.random() < 0.3:
            self.emit("rsr.br", t=rng.choice(FREE))

    def _moves(self) -> list[tuple[str, dict[str, object]]]:
        """How the pointers and the index go on."""
        rng = self.rng
        usual = self.size * rng.choice((1, 1, 1, 1, 2, -1, -1, 0, 3))
        found: list[tuple[str, dict[str, object]]] = []
        for pointer in POINTERS:
            if rng.random() < 0.1:
                found.append((rng.choice(("add", "sub")), {"r": pointer, "s": pointer, "t": STEP}))
            elif rng.random() < 0.9:
                by = usual if rng.random() < 0.85 else rng.choice((-4, -1, 1, 3, 4, 16))
                found.append(("addi", {"t": pointer, "s": pointer, "imm": by}))
        if rng.random() < 0.1:
            return [*found, ("add", {"r": INDEX, "s": INDEX, "t": STEP})]
        return [*found, ("addi", {"t": INDEX, "s": INDEX, "imm": self.step})]

    def _body(self, kind: str, end: str) -> None:
        rng = self.rng
        if rng.random() < 0.07:
            self.emit(rng.choice(("beqz", "bltz")), s=rng.choice(FREE), target=end)
        if kind == "mixed":
            for _ in range(rng.randint(2, 6)):
                rng.choice((self._in_place, self._shifted, self._boolean, self._vector, self._sum))()
            return
        item = {"in place": self._in_place, "shifted": self._shifted, "booleans": self._compared}[kind]
        for _ in range(rng.choice((1, 1, 2))):
            item()
        if rng.random() < 0.3:
            self._sum()

    # --- items ------------------------------------------------------------------------------------------
    def _access(self, is_store: bool, base: int) -> None:
        """A load or store, mostly of the program's width."""
        rng = self.rng
        size, load, store = (self.size, self.load, self.store) if rng.random() < 0.85 else rng.choice(WIDTHS)
        name, register = store if is_store else load, "ft" if load == "lsi" else "t"
        value = rng.randrange(4) if register == "ft" else rng.choice(FREE)
        self.emit(name, **{register: value}, s=base, imm=size * rng.choice((0, 0, 0, 0, 1, 1, 2, 3, 16, 200)))

    def _in_place(self) -> None:
        rng = self.rng
        base = rng.choice(POINTERS)
        for _ in range(rng.choice((1, 1, 2))):
            self._access(False, base if rng.random() < 0.7 else rng.choice(POINTERS))
        self._sum()
        self._access(True, base if rng.random() < 0.7 else rng.choice(POINTERS))

    def _shifted(self) -> None:
        """``pointer + (index >> by)`` and what looks like it."""
        rng, emit = self.rng, self.emit
        base, scale = rng.choice(POINTERS), rng.choice((0, 0, 1, 2))
        by, name = (
            rng.choice((0, 1, 1, 2, 2, 3, 5, 8, 13, 15, 16, 30, 31)),
            rng.choice(("srai", "srli", "extui")),
        )
        value = INDEX
        if rng.random() < 0.15:
            value = 15
            emit(rng.choice(("add", "sub", "addx2")), r=15, s=INDEX, t=rng.choice((STEP, COUNT, INDEX)))
        if name == "srai":
            emit("srai", r=15, t=value, sa=by)
        elif name == "srli" and by < 16:
            emit("srli", r=15, t=value, level=by)
        else:
            emit("extui", r=15, t=value, sh=by, len=rng.choice((1, 8, 16)))
        emit(("add", "addx2", "addx4")[scale], r=15, s=15, t=base)
        if rng.random() < 0.08:
            emit(rng.choice(("add", "sub")), r=15, s=base, t=15)
        self.places[base] = lambda index: (signed(index) if name == "srai" else index) >> by << scale
        for _ in range(rng.choice((1, 1, 2))):
            self._access(rng.random() < 0.35, 15)
        if rng.random() < 0.5:
            self._sum()
            self._access(True, rng.choice(POINTERS))

    def _compared(self) -> None:
        rng = self.rng
        self.emit("lsi", ft=0, s=rng.choice(POINTERS), imm=4 * rng.choice((0, 0, 1)))
        for _ in range(rng.randint(1, 4)):
            self._boolean()
        self.emit("ssi", ft=rng.randrange(4), s=rng.choice(POINTERS), imm=4 * rng.choice((0, 0, 1)))

    def _boolean(self) -> None:
        rng, emit = self.rng, self.emit
        which = rng.random()
        b = [rng.randrange(16) for _ in range(3)]
        f = [rng.randrange(4) for _ in range(3)]
        if which < 0.45:
            emit(rng.choice(COMPARISONS), br=b[0], fs=f[0], ft=f[1])
        elif which < 0.65:
            emit(rng.choice(("movf.s", "movt.s")), fr=f[0], fs=f[1], bt=b[0])
        elif which < 0.75:
            emit(rng.choice(("movf", "movt")), r=rng.choice(FREE), s=rng.choice(FREE), bt=b[0])
        elif which < 0.85:
            emit(rng.choice(("andb", "andbc", "orb", "xorb")), br=b[0], bs=b[1], bt=b[2])
        elif which < 0.92:
            emit(*rng.choice((("all4",), ("any4",))), bt=b[0], bs=4 * rng.randrange(4))
        elif which < 0.95:
            emit(rng.choice(("all8", "any8")), bt=b[0], bs=8 * rng.randrange(2))
        else:
            emit(rng.choice(("rsr.br", "rsr.br", "wsr.br", "xsr.br")), t=rng.choice(FREE))

    def _sum(self) -> None:
        rng, emit = self.rng, self.emit
        if rng.random() < (0.8 if self.load == "lsi" else 0.2):
            f = [rng.randrange(4) for _ in range(3)]
            emit(rng.choice(("add.s", "sub.s", "mul.s", "madd.s")), fr=f[0], fs=f[1], ft=f[2])
        elif rng.random() < 0.1:
            emit("float.s", fr=rng.randrange(4), s=rng.choice(FREE), imm=rng.randrange(4))
        else:
            a = [rng.choice(FREE) for _ in range(3)]
            emit(rng.choice(("add", "xor", "sub", "mull", "min", "max", "and")), r=a[0], s=a[1], t=a[2])

    def _vector(self) -> None:
        name, register = self.rng.choice((("ee.vld.128.ip", "qu"), ("ee.vst.128.ip", "qv")))
        values = {register: self.rng.randrange(3), "as": self.rng.choice(POINTERS)}
        self.emit(name, **values, imm16=self.rng.choice((0, 16, 16, -16, 32)))

    # --- arguments --------------------------------------------------------------------------------------
    def data(self, rng: random.Random) -> np.ndarray[Any, Any]:
        """Contents of memory: arguments for each loop, then numbers."""
        words = _numbers(rng)
        for part in range(self.parts):
            index, count = rng.choice(INDICES) % LIMIT, rng.choice(COUNTS)
            step = rng.choice((1, 2, 4, -1, -4, 0, 16, 0x80000000)) % LIMIT
            last = (index + self.step * (count - 1)) % LIMIT
            starts = [
                (spot - self.places.get(pointer, _nowhere)(rng.choice((index, index, last)))) % LIMIT
                for pointer, spot in zip(POINTERS, _spots(rng), strict=True)
            ]
            floats = struct.pack("<4f", *(rng.choice(VALUES) for _ in range(4)))
            table = struct.pack("<6I", *starts, index, step, count) + floats
            words[ARGUMENTS * part : ARGUMENTS * (part + 1)] = np.frombuffer(table, np.uint8)
        return words


def signed(word: int) -> int:
    """A word with its sign."""
    return word - LIMIT if word >> 31 else word


def _numbers(rng: random.Random) -> np.ndarray[Any, Any]:
    """The data region: floats, few or many of them NaN, or anything."""
    if rng.random() < 0.3:
        return np.frombuffer(rng.randbytes(256) * (DATA_SIZE // 256), np.uint8).copy()
    nans = rng.choice((0.0, 0.0, 0.005, 0.3))
    numbers = np.array(VALUES, "<f4").view("<u4").tolist()
    shares = [(1 - nans) / len(numbers)] * len(numbers) + [nans / len(NANS)] * len(NANS)
    words = rng.choices((*numbers, *NANS), shares, k=DATA_SIZE // 4)
    return np.array(words, "<u4").view(np.uint8).copy()


def _nowhere(index: int) -> int:
    """What the index adds to a pointer that it does not belong to."""
    return 0


def _spots(rng: random.Random) -> list[int]:
    """Where the three streams start: near each other, or one of them anywhere, or all of them."""
    wild = rng.choice(((), (), (), (0,), (1,), (0, 1, 2)))
    middle = (
        _address(rng) if len(wild) > 1 else DATA + 1500 + 4 * rng.randrange(1200) + rng.choice((0, 0, 1, 2))
    )
    near = [middle + rng.choice(NEAR) for _ in POINTERS]
    return [_address(rng) if wild == (place,) else spot for place, spot in enumerate(near)]


def _address(rng: random.Random) -> int:
    """Anywhere, mostly where something changes."""
    where = rng.random()
    if where < 0.5:
        edge = rng.choice((BEFORE, DATA, DATA, DATA + 0x1000, CONSTANTS, CONSTANTS, CONSTANTS + 0x1000))
        return edge + rng.choice((0, -1, -3, -4, -12, -12, -16, -40, -40, -100, -400, 4, 40))
    if where < 0.86:
        return rng.choice((ALIAS, ALIAS, READ_ONLY_ALIAS)) + rng.randrange(0, DATA_SIZE, 4)
    if where < 0.93:
        return rng.choice((CODE, CODE_AS_DATA)) + 0x8000 + rng.randrange(0, 0x1000, 4)
    if where < 0.97:
        return rng.choice((TEXT, CODE_AS_DATA + TEXT - CODE)) + rng.randrange(0, 512, 4)
    return rng.choice((0, 4, LIMIT - 64, LIMIT - 4))


def new_pair(folder: Path, **changes: object) -> Pair:
    """Two tiers whose memory has aliases and a read-only page; ``folder``: of the cache."""
    pair = Pair(changes)  # type: ignore[no-untyped-call]
    for side in pair.sides:
        memory = side.memory
        buffers = {region.start: region.buffer for region in memory.regions}
        data, code = buffers[DATA], buffers[CODE]
        memory.add_ram("alias", ALIAS, DATA_SIZE, "rw", data)
        memory.add_ram("read-only alias", READ_ONLY_ALIAS, DATA_SIZE, "r", data)
        memory.add_ram("before", BEFORE, 0x1000, "rw", data)
        memory.add_ram("code as data", CODE_AS_DATA, CODE_SIZE, "rw", code)
        region = memory.add_ram("constants", CONSTANTS, 0x1000, "r")
        memory.view(region.start, region.size)[:] = np.frombuffer(
            b"\x00\x00\x80\x3f\x01\x02\x03\x40" * 512, np.uint8
        )
    pair.translator._library = Library(folder)
    return pair


class Pairs:
    """The tiers with FSR's flags and without, which real images do not read; see ``run``."""

    def __init__(self, folder: Path) -> None:
        self.with_flags = new_pair(folder / "flags", track_fsr=True)
        self.plain = new_pair(folder / "plain", track_fsr=False)

    @property
    def outcomes(self) -> Counter[str]:
        """How the runs ended."""
        return Counter(self.with_flags.outcomes) + Counter(self.plain.outcomes)

    def run(self, seeds: range, runs: int = RUNS) -> None:
        """Compare the tiers on each program, with each of its arguments."""
        for seed in seeds:
            pair = self.plain if seed % 5 else self.with_flags
            pair.translator.patience = {3: 1, 7: PATIENCE}.get(seed % 11, 0)
            loops, code, labels = program(seed)
            for number in range(runs):
                rng = random.Random(f"arguments {seed} {number}")
                budget = rng.randrange(10, 600) if rng.random() < 0.25 else BUDGET
                name = f"wild loops {seed}, arguments {number}"
                pair.check(name, code, labels, False, (DATA,), loops.data(rng), budget=budget)  # type: ignore[no-untyped-call]


def program(seed: int) -> tuple[Loops, bytes, dict[str, int]]:
    """The program of a seed, and its code."""
    for attempt in range(100):
        try:
            loops = Loops(f"{seed} {attempt}")
            return loops, *loops.program.assemble()  # type: ignore[no-untyped-call]
        except OperandError:
            continue
    raise AssertionError("no program fits")


def main(first: int, last: int) -> None:
    """Run programs FIRST .. LAST - 1."""
    with tempfile.TemporaryDirectory() as folder:
        pairs = Pairs(Path(folder))
        for seed in range(first, last):
            print(f"seed {seed}", flush=True)
            pairs.run(range(seed, seed + 1))
        print(pairs.outcomes)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
