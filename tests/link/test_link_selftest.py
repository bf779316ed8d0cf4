"""The self-test: boards that follow other readings are found out, and boards that follow none."""

from __future__ import annotations

import pytest

from emu.cpu.readings import READINGS
from emu.image import Image, load_image
from emu.link.probes import OUT_BYTES, PROBES, STATE_BYTES, State, states
from emu.link.selftest import EngineBoard, Report, selftest
from emu.verify.reference import agent_elf

OTHER = {"xq_index": "signed", "st_accx_sign": "sign_extended", "r2bf_sum_width": "wrap16"}


@pytest.fixture(scope="module")
def image() -> Image:
    return load_image(agent_elf())


def test_every_contested_fact_has_a_probe() -> None:
    assert {fact for probe in PROBES for fact in probe.facts} == set(READINGS)


def test_inputs_are_always_the_same() -> None:
    for number in (0, 20, 40):
        first, again = (list(states(PROBES[number], number)) for _ in range(2))
        assert first == again
        assert all(len(state.pack()) == STATE_BYTES for state in first)


def test_other_readings_are_found(image: Image) -> None:
    report = selftest(EngineBoard(image, OTHER).run, image, only=OTHER)
    assert {name: report.readings[name] for name in OTHER} == OTHER
    assert report.clean


def test_a_board_that_follows_no_reading_is_strange(image: Image) -> None:
    engine = EngineBoard(image, {})

    def run(number: int, state: State) -> bytes | str:
        outcome = engine.run(number, state)
        return outcome if isinstance(outcome, str) else bytes([outcome[0] ^ 1]) + outcome[1:]

    report = selftest(run, image, only=("xq_index",))
    assert report.facts["xq_index"].consistent == set()
    assert "ee.ldxq.32" in report.facts["xq_index"].first_strange
    assert not report.clean
    assert report.readings == {}


def test_an_exception_is_an_outcome(image: Image) -> None:
    engine = EngineBoard(image, {})
    number = next(i for i, probe in enumerate(PROBES) if probe.group == "cpenable")
    assert engine.run(number, State(cpenable=0)) in ("exception 32", "exception 35")
    after = engine.run(number, State())
    assert isinstance(after, bytes)
    assert len(after) == OUT_BYTES


@pytest.mark.long
def test_all_facts_are_settled_by_the_inputs(image: Image) -> None:
    report: Report = selftest(EngineBoard(image, {}).run, image)
    assert report.readings == {name: reading.chosen for name, reading in READINGS.items()}
    assert report.clean
