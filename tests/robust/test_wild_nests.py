"""Random vector kernels on both tiers; see wild_nests.py."""

from __future__ import annotations

from pathlib import Path

import pytest

from emu.cpu.translator.library import Library
from tests.robust import wild_nests
from tests.translator.compare import Pair


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    made = Pair()
    made.translator._library = Library(tmp_path)
    return made


@pytest.mark.parametrize("part", range(2))
def test_wild_nests(pair: Pair, part: int) -> None:
    wild_nests.run(pair, range(25 * part, 25 * part + 25))
    assert pair.outcomes["RETURN"] > 8


def test_wild_nests_that_become_busy(pair: Pair) -> None:
    """Units are left in the middle of loops for better ones."""
    pair.translator.patience = 1
    wild_nests.run(pair, range(100, 130))
    assert pair.outcomes["RETURN"] > 8


@pytest.mark.long
@pytest.mark.parametrize("part", range(40))
def test_long_ten_thousand_wild_nests(pair: Pair, part: int) -> None:
    wild_nests.run(pair, range(10_000 + 250 * part, 10_250 + 250 * part))
