"""Random programs on both tiers; see programs.py."""

from pathlib import Path

import pytest

from emu.cpu.translator.dispatch import PATIENCE
from emu.cpu.translator.library import Library
from tests.translator.compare import Pair, run_straight, run_structured

BOUNDS = {"bounds": True, "check_init": True}


@pytest.fixture
def pair_of(tmp_path):
    def make(**changes):
        pair = Pair(changes)
        pair.translator._library = Library(Path(tmp_path))
        return pair

    return make


@pytest.mark.parametrize("part", range(4))
def test_straight_programs(pair_of, part):
    pair = pair_of()
    pair.translator.patience = PATIENCE if part % 2 else 0
    run_straight(pair, range(100 * part, 100 * part + 100))
    assert pair.outcomes["RETURN"] > 40, "most programs must reach their end to be worth anything"


@pytest.mark.parametrize("part", range(4))
def test_structured_programs(pair_of, part):
    pair = pair_of()
    run_structured(pair, range(100 * part, 100 * part + 100))
    assert pair.outcomes["RETURN"] > 40


def test_programs_under_the_permission_map(pair_of):
    run_straight(pair_of(**BOUNDS), range(1000, 1050))
    run_structured(pair_of(**BOUNDS), range(1000, 1050))


def test_programs_with_other_choices(pair_of):
    run_straight(pair_of(fused="two-roundings", track_fsr=False), range(2000, 2050))
    run_structured(pair_of(track_fsr=False), range(2000, 2050))


@pytest.mark.long
@pytest.mark.parametrize("part", range(100))
def test_long_a_hundred_thousand_programs(pair_of, part):
    seeds = range(100_000 + 500 * part, 100_000 + 500 * part + 500)
    run_straight(pair_of(), seeds)
    run_structured(pair_of(), seeds)


def test_programs_that_begin_quickly_and_become_busy(pair_of):
    """Units are left in the middle of loops and calls when they have run often enough."""
    pair = pair_of()
    pair.translator.patience = 1
    run_structured(pair, range(3000, 3060))
    run_straight(pair, range(3000, 3020))
    assert pair.outcomes["RETURN"] > 40
    assert len(pair.translator._busy) > 5
