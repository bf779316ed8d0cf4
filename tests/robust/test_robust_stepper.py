"""Random bytes as code on the reference stepper: a classified end within the budget, never another error."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.robust.machine import Machine, check_widths

EXCEPTIONS = ("built-in", "vectors")


@pytest.mark.parametrize("exceptions", EXCEPTIONS)
@pytest.mark.parametrize("chunk", range(4))
def test_random_programs(chunk: int, exceptions: str) -> None:
    machine = Machine("stepper", exceptions)
    ends: Counter[str] = Counter()
    for seed in range(500 * chunk, 500 * (chunk + 1)):
        ends[machine.run(seed).how] += 1
        check_widths(machine)
    assert len(ends) >= (3 if exceptions == "vectors" else 6), ends


def test_a_program_runs_the_same_again() -> None:
    machine, other = (Machine("stepper", "built-in") for _ in range(2))
    other.run(99)
    for seed in range(20):
        assert machine.run(seed) == other.run(seed)
