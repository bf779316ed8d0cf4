"""What an instruction may touch of the contested facts holds whatever it really touched on the stepper."""

from __future__ import annotations

import random
from typing import Any

import pytest
from pie_bench import CODE, PIE_ROWS, Bench, random_case
from pie_contested_cases import CASES, Look, Setup

from emu.cpu.contested import facts_of, may_touch
from emu.cpu.readings import READINGS, choose
from emu.isa.decode import decode
from emu.isa.encode import assemble_one
from emu.isa.table import Row, rows

CASES_EACH, CASES_LONG = 15, 1000


def _insns(setup: Setup) -> list[Any]:
    return [decode(assemble_one(str(m), *map(int, ops), pc=CODE), CODE) for m, *ops in setup.program]


@pytest.mark.parametrize(("name", "setup", "look", "results"), CASES)
def test_every_example_of_a_fact_may_touch_it(
    name: str, setup: Setup, look: Look, results: tuple[Any, ...]
) -> None:
    for reading in READINGS[name].choices:
        assert any(name in facts_of(insn, choose({name: reading})) for insn in _insns(setup))


@pytest.mark.parametrize("row", PIE_ROWS, ids=lambda row: row.mnemonic)
def test_random_cases_touch_nothing_else(row: Row, request: pytest.FixtureRequest) -> None:
    bench, rng = Bench(), random.Random(row.index)
    for _ in range(CASES_LONG if request.config.getoption("--long") else CASES_EACH):
        case = random_case(row, rng)
        bench.diagnostics.clear()
        bench.step(case)
        insn = decode(bench.memory.read(CODE, 4), CODE)
        assert set(bench.diagnostics.contested) <= facts_of(insn), case


def test_all_facts_can_be_told_and_most_instructions_have_none() -> None:
    named = {name for _, setup, *_ in CASES for insn in _insns(setup) for name in facts_of(insn)}
    for text in (("ee.ldf.64.ip", 1, 2, 2, 8), ("ee.vzip.8", 1, 1)):
        named |= facts_of(decode(assemble_one(*text, pc=CODE), CODE))
    assert named == set(READINGS)
    rng = random.Random(1)
    plain = [row for row in rows() if row.group not in ("pie", "ur", "sr")]
    for row in rng.sample(plain, 100):
        word = row.match.to_bytes(row.length, "little")
        assert may_touch([decode(word, CODE)], choose()) == {}, row.key


def test_the_operand_decides() -> None:
    """sel2 of ee.srs.accx, and registers that are the same."""
    with_1, with_0 = (decode(assemble_one("ee.srs.accx", 4, 3, n, pc=CODE), CODE) for n in (1, 0))
    assert "accumulator_sel2" in facts_of(with_1)
    assert "accumulator_sel2" not in facts_of(with_0)
    apart = decode(assemble_one("ee.vzip.8", 1, 2, pc=CODE), CODE)
    assert facts_of(apart) == frozenset()
