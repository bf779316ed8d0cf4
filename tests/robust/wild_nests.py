"""Random vector kernels: rows of columns in every shape that assembler code has, and in some that it has not.

Accumulators are read, stored and cleared anywhere in the loops, stores hit what later loads read, pointers
alias and step by anything, blocks are skipped by branches, inner loops have any count and may be left early.
``python -m tests.robust.wild_nests FIRST LAST``.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections import Counter
from pathlib import Path

from emu.cpu.translator.library import Library
from tests.translator.compare import Pair
from tests.translator.programs import LITERALS, Writer
from tests.translator.rig import DATA, DATA_SIZE

BUDGET = 6000
ACCUMULATE = ("accx", "qacc")
STEPS = (-64, -33, -16, -1, 0, 0, 1, 3, 16, 16, 16, 32, 48)


class Nest(Writer):
    """One program. a2, a3: pointers; a4: a step; a5, a6: counts; a7..a15: free."""

    def __init__(self, seed: int) -> None:
        super().__init__(f"wild nest {seed}")  # type: ignore[no-untyped-call]
        rng = self.rng
        vector = self._by_group["pie"]
        self.sums = [row for row in vector if any(word in row.mnemonic for word in ACCUMULATE)]
        self.moves = [
            row for row in vector if any(word in row.mnemonic for word in ("vld", "vst", "ld.", "st."))
        ]
        middle = DATA + DATA_SIZE // 2
        self.words = [
            middle + rng.randint(-900, 900),
            middle + rng.randint(-900, 900),
            rng.choice(STEPS) & 0xFFFFFFFF,
        ]
        program = self.program
        program.place("main", 4)
        for register, word in ((2, 0), (3, 1), (4, 2)):
            program.emit("l32r", t=register, literal=LITERALS + 4 * word)
        program.emit("movi", t=6, imm=rng.choice((1, 1, 2, 3, 5, 9)))
        program.place("rows")
        self.some(3)
        if rng.random() < 0.4:
            program.emit(rng.choice(("ee.zero.accx", "ee.zero.qacc")))
        for _ in range(rng.choice((1, 1, 1, 2))):
            self.columns()
            self.some(3)
        program.emit("addi", t=6, s=6, imm=-1)
        program.emit(rng.choice(("bnez", "bgez")), s=6, target="rows")
        program.emit("ret")

    def some(self, most: int) -> None:
        """A few instructions, mostly of the vector unit."""
        for _ in range(self.rng.randint(0, most)):
            self.one()

    def one(self) -> None:
        """One instruction: a sum, a load or store, anything."""
        kind = self.rng.random()
        if kind < 0.45:
            self.pick(self.sums)
        elif kind < 0.7:
            self.pick(self.moves)
        elif kind < 0.8:
            base = self.rng.choice((2, 3))
            self.program.emit("addi", t=base, s=base, imm=self.rng.choice(STEPS))
        else:
            self.calm(("pie", "pie", "base", "fp"))  # type: ignore[no-untyped-call]

    def pick(self, rows: list) -> None:  # type: ignore[type-arg]
        """One of these rows, with operands of its own."""
        while True:
            row = self.rng.choice(rows)
            values = {o.name: self._value(row, o) for o in row.operands}  # type: ignore[no-untyped-call]
            if None not in values.values():
                self.program.emit(row.key, **values)
                return

    def columns(self) -> None:
        """An inner loop, closed by the hardware or by a branch."""
        rng, program = self.rng, self.program
        begin, end = program.label(), program.label()  # type: ignore[no-untyped-call]
        program.emit("movi", t=5, imm=rng.choice((0, 1, 2, 3, 4, 7, 8, 16, 33)))
        is_hardware = rng.random() < 0.7
        if is_hardware:
            program.emit(rng.choice(("loopnez", "loopgtz", "loopnez")), s=5, target=end)
        program.place(begin)
        for _ in range(rng.randint(1, 6)):
            self.one()
        if rng.random() < 0.25:
            skip = program.label()  # type: ignore[no-untyped-call]
            program.emit(
                rng.choice(("bbci", "bbsi")), s=rng.choice((5, 6, 8)), bit=rng.randrange(4), target=skip
            )
            self.one()
            program.place(skip)
            self.one()
        if not is_hardware:
            program.emit("addi", t=5, s=5, imm=-1)
            program.emit(rng.choice(("bgez", "bnez")), s=5, target=begin)
        program.place(end)


def run(pair: Pair, seeds: range) -> None:
    """Compare the tiers on each program."""
    for seed in seeds:
        nest = Nest(seed)
        budget = random.Random(seed).choice((BUDGET, BUDGET, BUDGET, 100, 333))
        pair.check(f"wild nest {seed}", *nest.program.assemble(), False, nest.words, budget=budget)  # type: ignore[no-untyped-call]


def main(first: int, last: int) -> None:
    """Run programs FIRST .. LAST - 1."""
    pair = Pair()  # type: ignore[no-untyped-call]
    with tempfile.TemporaryDirectory() as folder:
        pair.translator._library = Library(Path(folder))
        for seed in range(first, last):
            print(f"seed {seed}", flush=True)
            run(pair, range(seed, seed + 1))
    print(Counter(pair.outcomes))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
