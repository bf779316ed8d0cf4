"""Random programs on both tiers, in a process of its own: ``python -m tests.robust.child FIRST COUNT``.

Each program runs on the stepper too, and both must end in the same way, in the same state. The seed of the
program that is running is always the last line of the output, so whoever started the process knows which one
brought it down.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.robust.machine import Machine, check_widths

EXCEPTIONS = ("built-in", "vectors")


def main(first: int, count: int) -> None:
    """Run programs FIRST .. FIRST + COUNT - 1; the last lines are their ends."""
    for how, times in sorted(compare_tiers(first, count).items()):
        print(f"end {how} {times}")
    print("done", flush=True)


def compare_tiers(first: int, count: int) -> Counter[str]:
    """Run programs on both tiers; how they ended. AssertionError when the tiers do not agree."""
    ends: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as cache:
        pairs = [
            (Machine("translator", how, Path(cache)), Machine("stepper", how, Path(cache)))
            for how in EXCEPTIONS
        ]
        for seed in range(first, first + count):
            print(f"seed {seed}", flush=True)
            translated, stepped = pairs[seed % 2]
            ends[_compare(translated, stepped, seed)] += 1
            check_widths(translated)
    return ends


def _compare(translated: Machine, stepped: Machine, seed: int) -> str:
    """How the program ended; AssertionError when the tiers do not agree."""
    here, there = translated.run(seed), stepped.run(seed)
    assert here.how == there.how, f"{here.how} on the translator, {there.how} on the stepper"
    assert here.instructions == there.instructions, (
        f"{here.instructions} instructions, not {there.instructions}"
    )
    different = {n: (hex(v), hex(there.values[n])) for n, v in here.values.items() if v != there.values[n]}
    assert not different, f"translator and stepper differ: {different}"
    assert here.memory == there.memory, "translator and stepper leave different memory"
    return here.how


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
