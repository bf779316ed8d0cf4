"""The long campaigns, cut into chunks that can be run in any order: what CI runs a little of, in full.

``run_chunk(name, number)`` runs one chunk in this process and returns how its cases ended. The seed of the
case that is running is always the last line of the output, so whoever started the process knows which one
brought it down. ``tests/robust/campaign.py`` runs chunks in processes of their own and keeps the record.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from emu.cpu.translator.dispatch import PATIENCE
from emu.cpu.translator.library import Library
from emu.isa.table import rows
from tests.robust import elf_campaign, wild_loops, wild_nests
from tests.robust.child import compare_tiers
from tests.robust.machine import Machine, check_widths
from tests.translator.compare import Pair, run_straight, run_structured
from tests.translator.differential import Campaign as Rows

EXCEPTIONS = ("built-in", "vectors")
ENCODINGS, STATES = 40, 25
Ends = Counter[str]


@dataclass(frozen=True)
class Campaign:
    """``title``: what it does, for people. ``chunks``: how many; ``size``: cases in each (the last one of
    "rows" has fewer). ``seeds``: the seeds of a chunk, for people. ``run``: a chunk by its number.
    """

    title: str
    chunks: int
    size: int
    seeds: Callable[[int], str]
    run: Callable[[int], Ends]
    is_translated: bool = True
    """Depends on the translator, so that a change of it outdates the record."""

    @property
    def total(self) -> int:
        """Cases of the whole campaign."""
        return self.chunks * self.size if self.size != ROWS_CASES else len(rows()) * ENCODINGS * STATES


def _tell(seed: int) -> None:
    print(f"seed {seed}", flush=True)


# --- random bytes and instructions as code ------------------------------------------------------------------
STEPPED, TRANSLATED = 10_000, 200


def stepper(number: int) -> Ends:
    """Random bytes on the stepper: a classified end, a state that a chip could have."""
    machine = Machine("stepper", EXCEPTIONS[number % 2])
    ends: Ends = Counter()
    first = 1_000_000 + STEPPED * number
    for seed in range(first, first + STEPPED):
        if seed % 100 == 0:
            _tell(seed)
            check_widths(machine)
        ends[machine.run(seed).how] += 1
    return ends


def translator(number: int) -> Ends:
    """Random bytes on both tiers, which must agree in everything."""
    first = 1_000_000 + TRANSLATED * number
    return compare_tiers(first, TRANSLATED)


# --- generated programs -------------------------------------------------------------------------------------
PROGRAMS = 500
FULL_EVERY = 4
"""Each so many programs, one gets full effort at once; the others as in use."""


def _programs(run: Callable[[Pair, range], None], number: int) -> Ends:
    pair = Pair()
    first = 100_000 + PROGRAMS * number
    with tempfile.TemporaryDirectory() as folder:
        pair.translator._library = Library(Path(folder))
        for seed in range(first, first + PROGRAMS):
            _tell(seed)
            pair.translator.patience = PATIENCE if seed % FULL_EVERY else 0
            run(pair, range(seed, seed + 1))
    return Counter(pair.outcomes)


def straight(number: int) -> Ends:
    """50 instructions in a row on both tiers."""
    return _programs(run_straight, number)


def structured(number: int) -> Ends:
    """Loops, calls and windows on both tiers."""
    return _programs(run_structured, number)


NESTS = 250


def nests(number: int) -> Ends:
    """Random vector kernels on both tiers."""
    pair = Pair()
    first = 10_000 + NESTS * number
    with tempfile.TemporaryDirectory() as folder:
        pair.translator._library = Library(Path(folder))
        for seed in range(first, first + NESTS):
            _tell(seed)
            wild_nests.run(pair, range(seed, seed + 1))
    return Counter(pair.outcomes)


LOOPS = 50
"""Programs; each is run with several arguments."""


def loops(number: int) -> Ends:
    """Random loops that have fast versions on both tiers."""
    first = 10_000 + LOOPS * number
    with tempfile.TemporaryDirectory() as folder:
        pairs = wild_loops.Pairs(Path(folder))
        for seed in range(first, first + LOOPS):
            _tell(seed)
            pairs.run(range(seed, seed + 1))
    return pairs.outcomes


# --- each row of the table ----------------------------------------------------------------------------------
ROWS = 26
ROWS_CASES = ROWS * ENCODINGS * STATES


def each_row(number: int) -> Ends:
    """40 encodings x 25 states of each of 26 rows through both tiers."""
    campaign = Rows(1)
    ends: Ends = Counter()
    for row in rows()[ROWS * number : ROWS * (number + 1)]:
        print(f"seed 1, row {row.key}", flush=True)
        tally = campaign.run(row, ENCODINGS, STATES)
        ends.update(tally.exits)
    return ends


# --- damaged files ------------------------------------------------------------------------------------------
FILES = 500


def files(number: int) -> Ends:
    """Damaged ELF files, loaded between protected pages and entered."""
    ends: Ends = Counter()
    first = 100_000 + FILES * number
    for seed in range(first, first + FILES):
        _tell(seed)
        ends[elf_campaign.run(random.Random(seed), seed)] += 1
    return ends


def _span(first: int, size: int) -> Callable[[int], str]:
    return lambda number: f"{first + size * number}..{first + size * (number + 1) - 1}"


CAMPAIGNS = {
    "stepper": Campaign(
        "random byte strings as code on the stepper", 100, STEPPED, _span(1_000_000, STEPPED), stepper, False
    ),
    "rows": Campaign(
        f"each row of the table, {ENCODINGS} encodings x {STATES} states, on both tiers",
        -(-len(rows()) // ROWS),
        ROWS_CASES,
        lambda number: f"1, rows {ROWS * number}..{min(len(rows()), ROWS * (number + 1)) - 1}",
        each_row,
    ),
    "files": Campaign(
        "damaged ELF files, loaded and entered on an engine between protected pages",
        20,
        FILES,
        _span(100_000, FILES),
        files,
    ),
    "translator": Campaign(
        "random byte strings as code, translator against stepper",
        100,
        TRANSLATED,
        _span(1_000_000, TRANSLATED),
        translator,
    ),
    "straight": Campaign(
        "random programs of 50 instructions in a row, translator against stepper",
        100,
        PROGRAMS,
        _span(100_000, PROGRAMS),
        straight,
    ),
    "structured": Campaign(
        "random programs with loops, calls and windows, translator against stepper",
        100,
        PROGRAMS,
        _span(100_000, PROGRAMS),
        structured,
    ),
    "nests": Campaign(
        "random vector kernels, rows of columns, translator against stepper",
        40,
        NESTS,
        _span(10_000, NESTS),
        nests,
    ),
    "loops": Campaign(
        "random loops in place, with shifted indices, with comparisons, translator against stepper",
        40,
        LOOPS * wild_loops.RUNS,
        _span(10_000, LOOPS),
        loops,
    ),
}
"""In the order in which they are run. All run with guest memory between pages that cannot be touched, except
"rows", "straight", "structured", "nests" and "loops", which compare every byte of the two memories."""


def run_chunk(name: str, number: int) -> Ends:
    """Run a chunk; how its cases ended. Raises AssertionError with the case that went wrong."""
    return CAMPAIGNS[name].run(number)
