"""Every PIE instruction on the stepper against the second formulation, on generated contents."""

from __future__ import annotations

import random
import zlib
from collections import Counter

import pytest
from pie_bench import PIE_ROWS, Bench, random_case

from emu.isa.table import Row

CASES, LONG_CASES = 60, 1500


def _generator(row: Row) -> random.Random:
    return random.Random(zlib.crc32(row.mnemonic.encode()))


@pytest.mark.parametrize("row", PIE_ROWS, ids=lambda row: row.mnemonic)
def test_agrees_with_second_formulation(row: Row, request: pytest.FixtureRequest) -> None:
    rng = _generator(row)
    bench = Bench(seed=rng.getrandbits(32))
    for _ in range(LONG_CASES if request.config.getoption("--long") else CASES):
        bench.check(random_case(row, rng))


CLAMPING = ("vadds", "vsubs", "vmulas", "vsmulas", "srcmb", "srs")
ALIASES = [("qu", "qs1"), ("qa", "qx"), ("qz", "qx"), ("qz", "qy"), ("qv", "qa"), ("qu", "qx"), ("qa", "qs")]
ALIASES += [("as", "ad"), ("ax", "ay"), ("qx", "qy"), ("qx", "qm"), ("au", "as"), ("qv", "qz")]


def test_the_cases_reach_what_they_are_for() -> None:
    """Every clamp clamps and sometimes does not; every legal pair of operands meets in one register."""
    met: Counter[tuple[str, str]] = Counter()
    for row in PIE_ROWS:
        rng, bench = _generator(row), Bench()
        seen: Counter[str] = Counter()
        for case in [random_case(row, rng) for _ in range(CASES)]:
            names = case.operands
            met.update(pair for pair in ALIASES if names.get(pair[0], -1) == names.get(pair[1]))
            bench.diagnostics.clear()
            bench.step(case)
            noticed = bench.diagnostics
            seen.update(saturated=bool(noticed.saturated), misaligned=bool(noticed.misaligned))
        if row.mnemonic.split(".")[1] in CLAMPING:
            assert 0 < seen["saturated"] < CASES, row.mnemonic
        if row.mnemonic.endswith(("incp", "decp")) and "ldbc.incp" not in row.mnemonic:
            assert 0 < seen["misaligned"] < CASES, row.mnemonic
    assert min(met[pair] for pair in ALIASES) >= 10, met
