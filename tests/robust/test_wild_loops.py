"""Random loops with fast versions on both tiers; see wild_loops.py."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.robust.wild_loops import Pairs
from tests.translator.fast_loops import count_fast_loops
from tests.translator.programs import LITERALS, Program
from tests.translator.rig import DATA


@pytest.fixture
def pairs(tmp_path: Path) -> Pairs:
    return Pairs(tmp_path)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Fast versions that are written: with a shifted index, with booleans, with a pointer that is shared."""
    return count_fast_loops(monkeypatch)


@pytest.mark.parametrize("part", range(2))
def test_wild_loops(pairs: Pairs, written: Counter[str], part: int) -> None:
    pairs.run(range(20 * part, 20 * part + 20))
    assert min(written[kind] for kind in ("booleans", "shifted", "shared")) > 0, written
    assert pairs.outcomes["RETURN"] > 8


@pytest.mark.parametrize(("loaded", "stored"), [(0, 64), (64, 0)])
def test_neighbours_that_are_none_on_the_host_do_not_share_a_pointer(
    pairs: Pairs, written: Counter[str], loaded: int, stored: int
) -> None:
    program = Program()
    program.place("main", 4)  # type: ignore[no-untyped-call]
    for key, values in (
        ("l32r", {"t": 2, "literal": LITERALS}),
        ("movi", {"t": 7, "imm": 4}),
        ("loopgtz", {"s": 7, "target": "end"}),
        ("l32i", {"t": 9, "s": 2, "imm": loaded}),
        ("addi", {"t": 9, "s": 9, "imm": 1}),
        ("s32i", {"t": 9, "s": 2, "imm": stored}),
        ("addi", {"t": 2, "s": 2, "imm": 4}),
    ):
        program.emit(key, **values)  # type: ignore[no-untyped-call]
    program.place("end")  # type: ignore[no-untyped-call]
    program.emit("ret")  # type: ignore[no-untyped-call]
    code, labels = program.assemble()  # type: ignore[no-untyped-call]
    for start in (DATA - 16, DATA + 16):
        pairs.plain.check(f"neighbours {start:x}", code, labels, False, (start,))  # type: ignore[no-untyped-call]
    assert written["shared"]
    assert pairs.outcomes == {"RETURN": 2}


@pytest.mark.long
@pytest.mark.parametrize("part", range(40))
def test_long_two_thousand_wild_loops(pairs: Pairs, part: int) -> None:
    pairs.run(range(10_000 + 50 * part, 10_050 + 50 * part))
