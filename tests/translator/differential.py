"""Every instruction, random encodings and dirty states, stepper against translator.

``python -m tests.translator.differential [--encodings N] [--states N] [--seed N] [mnemonic ...]`` runs a
campaign and prints a table; the tests run a small one.
"""

import argparse
import random
import sys
from collections import Counter
from dataclasses import dataclass, field

from emu.cpu.cache import default_folder
from emu.cpu.state import ExitReason, address_of
from emu.cpu.translator.discover import Reader, discover
from emu.cpu.translator.dispatch import _FUNCTION, choices_of
from emu.cpu.translator.engine_data import EngineData
from emu.cpu.translator.leave import REASON
from emu.cpu.translator.library import library
from emu.cpu.translator.lookup import JumpTable
from emu.cpu.translator.modes import Mode
from emu.cpu.translator.native import FULL, QUICK, Loader, object_code
from emu.cpu.translator.policy import stepper_reason
from emu.cpu.translator.unit import UnitTranslator, module_text
from emu.isa.disasm import text
from emu.isa.encode import OperandError, encode_word
from emu.isa.semantics import effects
from emu.isa.table import rows
from tests.coverage_log import CaseLog
from tests.translator.rig import (
    CODE,
    DATA_SIZE,
    Side,
    difference,
    options,
    random_bytes,
    random_permissions,
    random_state,
)

_DONE = (ExitReason.RETURN, ExitReason.RUNNING)
"""The unit went on to another address, or returned."""


@dataclass
class Tally:
    """What happened to the cases of one row."""

    cases: int = 0
    translated: int = 0
    exits: Counter = field(default_factory=Counter)
    aliasing: int = 0


class Campaign:
    """One seed; `run` checks a row."""

    def __init__(self, seed, changes=None, effort=QUICK):
        self.seed = seed
        self.effort = effort
        self.options = options(**(changes or {}))
        self.stepped, self.native = Side(self.options), Side(self.options)
        self.log = CaseLog(self.stepped.stepper)
        self.choices = choices_of(self.native)
        helpers = library(default_folder()).helpers(self.choices.checks)
        self.data = EngineData(helpers)
        self.table = JumpTable(helpers["finish"])
        self.loader = Loader()

    def run(self, row, encodings, states):
        """Check a row. Raises AssertionError with the whole case."""
        rng = random.Random(f"{self.seed} {row.key}")
        tally = Tally()
        cases = [self._encoding(row, rng) for _ in range(encodings)]
        functions = self._translate(row, cases)
        for (pc, word, begin), function in zip(cases, functions, strict=True):
            for _ in range(states):
                self._case(row, rng, pc, word, begin, function, tally)
        return tally

    def _encoding(self, row, rng):
        """(pc, word, loop begin or None) of a random encoding; equal registers are likely."""
        while True:
            pc = CODE + 0x1000 + 4 * rng.randrange(64) + rng.randrange(4)
            favourite = rng.randrange(16)
            values = {o.name: _operand(o.kind, rng, pc, favourite) for o in (*row.operands, *row.implicit)}
            try:
                word = encode_word(row, values, pc)
            except OperandError:
                continue
            begin = rng.choice([pc, CODE + 0x800]) if rng.random() < 0.5 else None
            return pc, word, begin

    def _translate(self, row, cases):
        texts, declarations = [], set()
        for number, (pc, word, begin) in enumerate(cases):
            for side in (self.stepped, self.native):  # code is memory too: a load may reach it
                self._put(side, row, pc, word)
            reader = Reader(self.native.memory, self.choices.readings["float_pair_coprocessor"])
            hints = frozenset() if begin is None else frozenset({(begin, pc + row.length)})
            code = discover(reader, pc, hints, True, limit=1)
            code.has_nans = number % 4 != 0
            self.data.allow(pc, 1 << 30)
            unit = UnitTranslator(code, _mode(), self.choices, f"unit{number}", self.effort)
            texts.append(unit.function_text())
            declarations |= unit.em.declarations
        names = [f"unit{i}" for i in range(len(cases))]
        found = self.loader.load_all(object_code(module_text(texts, declarations), self.effort), names)
        return [_FUNCTION(found[name]) for name in names]

    def _put(self, side, row, pc, word):
        side.memory.write(pc, word.to_bytes(row.length, "little"))

    def _case(self, row, rng, pc, word, begin, function, tally):
        start = random_state(rng, pc, pc + row.length, begin or CODE + 0x400)
        data, permissions = random_bytes(rng), random_permissions(rng)
        stepped, native = self.stepped, self.native
        for side in (stepped, native):
            side.load(address_of(start), data, permissions)
            self._put(side, row, pc, word)
        want = stepped.step_through(pc)
        reason, got = self._run(function, pc)
        tally.cases += 1
        tally.translated += reason in (*_DONE, ExitReason.BUDGET)
        tally.exits[ExitReason(reason).name] += 1
        self.log.case(row, word, start, reason in (*_DONE, ExitReason.BUDGET))
        if want != got or stepped.image() != native.image():
            raise AssertionError(self._describe(row, pc, word, start, want, got, reason))

    def _run(self, function, pc):
        state = self.native.state
        state.jump_cache = self.table.address
        state.engine_data = self.data.address
        total = state.instructions + state.budget
        reason = function(address_of(state), 5) & REASON
        while reason in _DONE and pc == state.PC and state.budget > 0:
            reason = function(address_of(state), 5) & REASON
        state.instructions = total - state.budget
        trap = None
        if reason in (ExitReason.STEP, ExitReason.JUMP):
            trap = self.native.step_through(pc)
        return reason, trap

    def _describe(self, row, pc, word, start, want, got, reason):
        from emu.isa.decode import decode

        shown = text(decode(word.to_bytes(row.length, "little"), pc))
        lines = [f"{shown} at {pc:#x}, word {word:#x}, seed {self.seed}, left with {ExitReason(reason).name}"]
        lines.append(f"trap: stepper {want}, translator {got}")
        lines.append(
            f"differences (stepper, translator): {difference(self.stepped.state, self.native.state)}"
        )
        lines.append(f"instructions {self.stepped.state.instructions} {self.native.state.instructions}")
        memory = [side.image()[2] for side in (self.stepped, self.native)]
        where = [i for i in range(DATA_SIZE) if memory[0][i] != memory[1][i]]
        lines.append(f"memory differs at offsets {where[:20]}")
        lines.append(f"before: {difference(start, self.stepped.state)}")
        return "\n".join(lines)


def _mode():
    return Mode(excm=0, woe=1, rounding=0, coprocessors=0xFF)


def _operand(kind, rng, pc, favourite):
    if kind.is_register:
        choices = list(kind.values())
        return favourite if favourite in choices and rng.random() < 0.4 else rng.choice(choices)
    if kind.cls == "label":
        near = rng.randrange(8) if kind.max >= 0 else kind.mask_of_field - rng.randrange(256)
        value = kind.value(rng.getrandbits(kind.width) if rng.random() < 0.3 else near)
        return (kind.base(pc) + value) & 0xFFFFFFFF
    if kind.width and rng.random() < 0.2:
        return rng.choice((kind.min, kind.max))
    return kind.value(rng.getrandbits(kind.width)) if kind.width else kind.offset


def known_rows():
    """Rows that have an effect, in table order."""
    return [row for row in rows() if row.mnemonic in effects()]


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--encodings", type=int, default=40)
    parser.add_argument("--states", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep-going", action="store_true")
    parser.add_argument("--bounds", action="store_true", help="with the permission map")
    parser.add_argument("--effort", choices=(QUICK, FULL), default=QUICK)
    parser.add_argument("mnemonics", nargs="*")
    given = parser.parse_args(arguments)
    changes = {"bounds": True, "check_init": True} if given.bounds else {}
    campaign = Campaign(given.seed, changes, given.effort)
    chosen = [row for row in known_rows() if not given.mnemonics or row.mnemonic in given.mnemonics]
    failed = 0
    for row in chosen:
        try:
            tally = campaign.run(row, given.encodings, given.states)
        except Exception as error:
            failed += 1
            print(f"FAILED {row.mnemonic}: {type(error).__name__} {error}\n", flush=True)
            if not given.keep_going:
                return 1
            continue
        note = stepper_reason(row)
        print(
            f"{row.mnemonic:28} {tally.cases:6} {tally.translated:6} {dict(tally.exits)} {note}", flush=True
        )
    print(f"{len(chosen)} rows, {failed} failed")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
