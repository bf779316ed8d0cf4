#!/usr/bin/env python3
"""Write docs/isa-coverage.md: how often the tests executed each instruction, in which manner.

    python tools/isa_coverage.py                 # run the campaigns (a quarter of an hour) and write the page
    python tools/isa_coverage.py --encodings 4 --states 10 --out page.md      # a quick look
    python tools/isa_coverage.py --logs DIR      # no campaign: add up what tests left in EMU_COVERAGE_DIR

Where a row was not executed in a manner, the reason stands in its place. A row with neither a count nor a
reason, or with both, is an error: exit code 1.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "isa" / "semantics")]

import qemu_cases  # noqa: E402

from emu.bench.reach import lacking  # noqa: E402
from emu.cpu.translator.policy import stepper_reason  # noqa: E402
from emu.isa.table import Row, by_key, rows  # noqa: E402
from tests import coverage_log  # noqa: E402
from tests.translator.test_instructions import ALWAYS_LEFT  # noqa: E402

PAGE = ROOT / "docs" / "isa-coverage.md"
COLUMNS = ("reference", "translated", "aliasing", "extremes", "alignment", "QEMU")
OFFSETS = 16
QEMU_TESTS = (
    "tests/isa/semantics/test_qemu.py",
    "tests/isa/semantics/test_qemu_loop_registers.py",
    "tests/programs",
)
MORE_SEEDS = 8
"""Seeds that are tried for rows in which the first one left a cell empty."""
Counts = Mapping[tuple[str, str], int]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SEQUENCE_STEPS = _words("div0.s sqrt0.s nexp01.s mksadj.s mkdadj.s addexp.s addexpm.s maddn.s divn.s")
_PRIVILEGED = _words("l32e s32e rfwo rfwu rotw")
_LOADS_AND_STORES = _words(
    "l8ui l16si l16ui l32i l32i.n l32r l32e l32ai s8i s16i s32i s32i.n s32e s32nb s32ri s32c1i lddec ldinc "
    "lsi lsip lsx lsxp ssi ssip ssx ssxp ld.qr st.qr ee.ldxq.32 ee.stxq.32"
)
_IN_NAME = _words("ld st ldf stf vld vst ldqa ldbc vldbc vldhbc lddec ldinc")
_ALWAYS_LEFT = ALWAYS_LEFT - _words("break break.n rfde")
"""These three depend on the state."""
_EXECUTED_AFTER_ALL = (
    "in the structured programs",
    "would start a loop",
    "stores like",
    "its literal",
    "carries",
    "as wur",
    "QEMU drops",
)
"""Reasons of the harness for rows that random straight code leaves out, and that are executed elsewhere."""


def uses_memory(row: Row) -> bool:
    """The instruction itself reads or writes memory (spilled windows are the engine's accesses)."""
    return row.mnemonic in _LOADS_AND_STORES or bool(_IN_NAME & set(row.mnemonic.split(".")[1:]))


# --- reasons: why a cell has no count -------------------------------------------------------------------
def reason(row: Row, column: str) -> str:
    """Why nothing is executed in this manner; empty when something must be."""
    return _reasons(row.key)[column]


@cache
def _reasons(key: str) -> dict[str, str]:
    row = by_key()[key]
    return {
        "reference": "",
        "translated": _not_translated(row),
        "aliasing": _no_alias(row),
        "extremes": _no_extreme(row),
        "alignment": "" if uses_memory(row) else "no memory access",
        "QEMU": _not_on_qemu(row),
    }


def _not_translated(row: Row) -> str:
    why = stepper_reason(row)
    if why:
        return f"stepper's: {why}"
    return "stepper's: always an exception or a service" if row.mnemonic in _ALWAYS_LEFT else ""


def _no_extreme(row: Row) -> str:
    if row.mnemonic == "rsr.vecbase":
        return "the campaign's vectors stay where they are"
    return "" if any(coverage_log.inputs(row)) else "reads no value"


def _no_alias(row: Row) -> str:
    registers = coverage_log.registers(row)
    places = [
        {(o.kind.cls, first + i) for first in o.kind.values() for i in range(o.kind.regs)} for o in registers
    ]
    if any(a & b for n, a in enumerate(places) for b in places[:n]):
        return ""
    classes = [o.kind.cls for o in registers]
    if len(classes) < 2:
        return "one register" if classes else "no register"
    return "registers of different files" if len(set(classes)) == len(classes) else "disjoint registers"


def _not_on_qemu(row: Row) -> str:
    if row.mnemonic in _SEQUENCE_STEPS:
        return "QEMU replaces the whole sequence; its end is compared"
    if row.key == "nop/4" or row.group == "pie":
        return "no QEMU core has the vector unit"
    if row.mnemonic in _PRIVILEGED:
        return "not available to a user program"
    return lacking(row) or _left_out(row)


def _left_out(row: Row) -> str:
    """Reasons of the harness, except where it or the programs execute the row after all."""
    why = qemu_cases.REASONS.get(row.mnemonic, "")
    return "" if why.startswith(_EXECUTED_AFTER_ALL) else why


# --- the page ---------------------------------------------------------------------------------------------
def cell(row: Row, column: str, counts: Counts) -> str:
    """A count, or the reason why there is none; empty when there is neither."""
    why = reason(row, column)
    if why:
        return why
    found = count(row, column, counts)
    if column == "alignment" and found:
        offsets = sum(counts.get((row.key, f"alignment:{i}"), 0) > 0 for i in range(OFFSETS))
        return f"{found} at {offsets} of 16"
    return str(found) if found else ""


def count(row: Row, column: str, counts: Counts) -> int:
    """Cases of a row in a manner."""
    if column == "alignment":
        return sum(counts.get((row.key, f"alignment:{i}"), 0) for i in range(OFFSETS))
    return counts.get((row.key, "qemu" if column == "QEMU" else column), 0)


def contradictions(counts: Counts) -> list[tuple[Row, str]]:
    """Cells whose reason is wrong: there are cases. QEMU executes the steps of sequences in its own way."""
    return [
        (row, column)
        for row in rows()
        for column in COLUMNS
        if reason(row, column) and count(row, column, counts) and row.mnemonic not in _SEQUENCE_STEPS
    ]


def empty_cells(counts: Counts, columns: Sequence[str] = COLUMNS) -> list[tuple[Row, str]]:
    """Cells without a count and without a reason."""
    return [(row, column) for row in rows() for column in columns if not cell(row, column, counts)]


def page(counts: Counts, command: str) -> str:
    """The whole page."""
    return "\n".join([*_head(counts, command), *_table(counts), ""])


_ABOUT = """# Instruction coverage

Every row of the instruction table, and how many generated cases of the tests executed it. Written by
`{command}`; a test compares its structure.

- **reference**: cases on the reference stepper (random encodings, dirty states).
- **translated**: of these, cases that translated code executed itself, with every register, state and byte
  of memory equal to the stepper's; the others were left to the stepper at run time (an exception, a window,
  a loop end that is not known). "stepper's": the translator always leaves the row to the stepper.
- **aliasing**: cases in which two operands name the same register.
- **extremes**: cases with a source register at an end of its range (0, 1, -1, largest, smallest; float: zero,
  subnormal, infinity, NaN; vectors: a lane at an end, or all bytes equal) or an immediate at an end of its
  range; in rows without either, a state that is read and is all zeros or all ones.
- **alignment**: cases that reached memory, and at how many of the 16 offsets modulo 16 (before the vector
  unit drops low bits).
- **QEMU**: executions in programs whose registers and memory agree with `qemu-xtensa -cpu de233_fpu`
  (`tests/isa/semantics/test_qemu*.py`, `tests/programs`).

Where there is no count, the reason stands in its place.
"""


def _head(counts: Counts, command: str) -> Iterator[str]:
    yield _ABOUT.format(command=command)
    yield "| | rows with cases | cases | rows with a reason |"
    yield "|---|---|---|---|"
    for column in COLUMNS:
        executed = [row for row in rows() if not reason(row, column)]
        name = "qemu" if column == "QEMU" else column
        total = sum(n for (_, how), n in counts.items() if how.partition(":")[0] == name)
        yield f"| {column} | {len(executed)} | {total:,} | {len(rows()) - len(executed)} |"
    yield ""


def _table(counts: Counts) -> Iterator[str]:
    yield f"| instruction | group | {' | '.join(COLUMNS)} |"
    yield f"|---|---|{'---|' * len(COLUMNS)}"
    for row in rows():
        cells = " | ".join(cell(row, column, counts) for column in COLUMNS)
        yield f"| `{row.key}` | {row.group} | {cells} |"


# --- running ----------------------------------------------------------------------------------------------
def run_campaigns(folder: Path, encodings: int, states: int) -> None:
    """Execute everything that the page reports; records go to ``folder``. Raises CalledProcessError."""
    environment = {**os.environ, coverage_log.VARIABLE: str(folder), "PYTHONPATH": str(ROOT)}
    differential = [sys.executable, "-m", "tests.translator.differential"]
    sizes = ["--encodings", str(encodings), "--states", str(states)]
    subprocess.run([*differential, *sizes], cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    for seed in range(2, 2 + MORE_SEEDS):
        missing = sorted({row.mnemonic for row, _ in empty_cells(coverage_log.read(folder), COLUMNS[:-1])})
        if missing:
            again = [*differential, *sizes, "--seed", str(seed), *missing]
            subprocess.run(again, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    tests = [sys.executable, "-m", "pytest", "-q", *QEMU_TESTS]
    subprocess.run(tests, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)


def main(arguments: Sequence[str]) -> int:
    """See the module's docstring; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--encodings", type=int, default=40)
    parser.add_argument("--states", type=int, default=25)
    parser.add_argument("--out", type=Path, default=PAGE)
    parser.add_argument("--logs", type=Path, help="folder with records of earlier runs")
    given = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="emu-coverage-") as scratch:
        folder = given.logs or Path(scratch)
        if not given.logs:
            run_campaigns(folder, given.encodings, given.states)
        counts: Counter[tuple[str, str]] = coverage_log.read(folder)
    missing = empty_cells(counts)
    for row, column in missing:
        print(f"{row.key}: no case for {column}, and no reason", file=sys.stderr)
    wrong = contradictions(counts)
    for row, column in wrong:
        print(f"{row.key}: has cases for {column}, but also a reason for none", file=sys.stderr)
    command = f"python tools/isa_coverage.py --encodings {given.encodings} --states {given.states}"
    given.out.write_text(page(counts, command), encoding="utf-8")
    print(f"{given.out}: {len(rows())} rows, {len(missing)} empty cells")
    return bool(missing or wrong)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
