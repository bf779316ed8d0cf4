"""Every contested fact: each reading gives its own result, and a run is flagged when it depends on one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pie_bench import CODE, DATA, Bench, Case
from pie_contested_cases import CASES, QUIET, SIGNED, Look, Setup, a, loaded, vector

from emu.cpu import readings
from emu.cpu.machine import Cause
from emu.cpu.readings import READINGS, ReadingError, choose, parse
from emu.cpu.traps import Trap, TrapKind
from emu.isa.encode import assemble_one
from emu.isa.semantics import registry
from emu.isa.table import by_key


def _bench(selected: dict[str, str] | None = None) -> Bench:
    bench = Bench(selected)
    bench.memory.add_ram("signed", SIGNED, 0x1000)
    return bench


def _ids(entry: Any) -> str | None:
    return entry if isinstance(entry, str) else None


@pytest.mark.parametrize(("name", "setup", "look", "results"), CASES, ids=_ids)
def test_each_reading_has_its_result(name: str, setup: Setup, look: Look, results: tuple[Any, ...]) -> None:
    assert len(set(results)) > 1, "an example on which the readings agree shows nothing"
    for reading, expected in zip(READINGS[name].choices, results, strict=True):
        bench = setup.on(_bench({name: reading}))
        assert look(bench) == expected, reading
        assert name in bench.diagnostics.contested
    assert look(setup.on(_bench())) == results[0]


@pytest.mark.parametrize("name", QUIET)
def test_a_run_that_does_not_depend_on_it_is_not_flagged(name: str) -> None:
    for setup in QUIET[name]:
        for reading in READINGS[name].choices:
            assert name not in setup.on(_bench({name: reading})).diagnostics.contested


DOUBLE: list[tuple[tuple[Any, ...], Look, Look]] = [
    (("ee.vadds.s8.ld.incp", 2, 2, 2, 0, 1), vector(2), loaded(0, 16)),
    (("ee.src.q.ld.ip", 2, 2, 16, 2, 1), vector(2), loaded(0, 16)),
    (("ee.ldf.64.ip", 1, 1, 2, 8), lambda bench: bench.state.f[1], loaded(4, 8)),
    (("ee.fft.ams.s16.st.incp", 3, 4, 2, 2, 0, 1, 5, 0), a(2), lambda bench: DATA + 16),
]
"""Instruction, what to look at, what wins: loaded data over arithmetic, the later word, the pointer last."""


@pytest.mark.parametrize(("instruction", "look", "winner"), DOUBLE)
def test_two_results_in_one_register(instruction: tuple[Any, ...], look: Look, winner: Look) -> None:
    bench = _bench()
    bench.state.set_a(2, DATA)
    bench.run(instruction)
    assert look(bench) == winner(bench)
    assert "same_destination" in bench.diagnostics.contested


def test_two_results_in_one_register_as_an_illegal_instruction() -> None:
    for instruction, _, _ in DOUBLE:
        bench = _bench({"same_destination": "illegal"})
        bench.stepper.use_vectors = True
        bench.state.set_a(2, DATA)
        bench.memory.write(CODE, assemble_one(*instruction))
        bench.state.PC = CODE
        bench.stepper.step()
        assert bench.state.PSEXCM == 1
        assert bench.state.EXCCAUSE == Cause.ILLEGAL_INSTRUCTION


@pytest.mark.parametrize("mnemonic", ["ee.vzip.8", "ee.vunzip.16", "ee.slci.2q", "ee.fft.r2bf.s16"])
def test_pairs_of_results_in_one_register_are_flagged(mnemonic: str) -> None:
    row = by_key()[mnemonic]
    bench = _bench()
    bench.step(Case(mnemonic, {operand.name: operand.kind.min for operand in row.operands}))
    assert "same_destination" in bench.diagnostics.contested


@pytest.mark.parametrize(("reading", "bit"), [("cp0", 0), ("cp3", 3)])
def test_enable_bit_of_float_pairs(reading: str, bit: int) -> None:
    for instruction in (("ee.ldf.128.ip", 3, 2, 1, 0, 2, 16), ("ee.stf.64.ip", 3, 2, 2, 8)):
        bench = _bench({"float_pair_coprocessor": reading})
        bench.state.set_a(2, DATA)
        bench.run(instruction)
        assert not bench.diagnostics.contested, "all coprocessors are enabled"
        bench.state.CPENABLE = 1 << bit
        bench.run(instruction)
        assert "float_pair_coprocessor" in bench.diagnostics.contested
        bench.state.CPENABLE = 0xFF & ~(1 << bit)
        with pytest.raises(Trap) as trap:
            bench.run(instruction)
        assert trap.value.kind == TrapKind.COPROCESSOR


# --- the table ----------------------------------------------------------------------------------------
APART = {"same_destination", "float_pair_coprocessor"}


def test_every_fact_has_an_example_of_each_kind() -> None:
    assert {name for name, *_ in CASES} == set(READINGS) - APART
    assert set(QUIET) == set(READINGS) - APART


def test_every_fact_is_used_by_the_semantics() -> None:
    source = "".join(path.read_text(encoding="utf-8") for path in Path(registry.__file__).parent.glob("*.py"))
    names = set(re.findall(r'"(\w+)"', source)) | {f"relu_count_{bits}" for bits in (16, 32)}
    assert set(READINGS) <= names


def test_the_page_is_the_table() -> None:
    page = Path(__file__).parents[3] / "docs" / "contested.md"
    assert page.read_text(encoding="utf-8") == readings.page()


def test_options_are_checked() -> None:
    assert parse(["vsr_count_33=sign"]) == {"vsr_count_33": "sign"}
    assert choose({"vsr_count_33": "sign"})["vsr_count_33"] == "sign"
    with pytest.raises(ReadingError, match="no contested fact is called 'vsr'"):
        parse(["vsr=sign"])
    with pytest.raises(ReadingError, match="choose one of zero, sign"):
        choose({"vsr_count_33": "round"})
    with pytest.raises(ReadingError, match="no reading ''"):
        parse(["vsr_count_33"])
