"""`emu bench engine`: speed of the scalar suite on translator and stepper, against QEMU and native code."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from emu.bench.engine_subjects import Subject, Suite
from emu.bench.measure import Values, geometric_mean, interleaved
from emu.bench.report import Absent, Bound, Cell, Report, Table
from emu.bench.settings import Settings
from emu.bench.translation import measure_translation
from emu.verify.words import number

SCALAR_BOUND, MEMBER_BOUND, RECURSION_BOUND = 5.0, 1.0, 10.0
ABOUT = """Guest instructions a second of processor time (million). The *scalar suite* is, as defined before
it was measured, the C kernels and the classic programs.

*C kernels*: every kernel of the firmware that QEMU's core can run, which is every one without vector code
and high products in all that it calls; none is left out. All have the same sizes by the names of their
dimensions: those of the models (64 tokens of 192 channels, products of 576, tensors of 64 x 192, 6 heads of
32); contents are everyday numbers. A function of the guest (`firmware/bench/rounds`) repeats the call and
puts back what it changes; the time of as many rounds without the kernel is taken off.

*Classic programs* are CRC, sort, matrix, FFT in float, string search and recursion; the *other programs*
are of kinds that public benchmark sets have: random numbers, products of bytes, softmax, an interpreter,
SHA-256, bodies that attract each other, a sieve, Huffman coding, queens on a board, formatting and reading
of text (`firmware/bench/`, written for this project and chosen before they were measured). They run many
rounds; the time of one round, start and calls included, is taken off.

Translator and QEMU execute the same object code; the native compiler gets the programs' source and is rated
by the guest's instruction count, so its figure is the speed that an engine would need to be as fast. The
stepper runs a smaller size, and no kernels. Results are compared before and while they are timed: checksums
of programs, all bytes of a kernel's buffers. Measured is the steady state: units get full effort at their
first call, and a measurement of the translator in which a unit was still made (a loop may be left and
entered at a new place) is made again. Each time is the least of three. What translating costs is in the
table of its own."""

Found = dict[Subject, dict[str, Values]]
"""What was measured of each subject, in guest instructions a second, by contestant."""


def run(settings: Settings) -> Report:
    """Measure; see ABOUT."""
    report = Report("engine", settings.command("engine"), ABOUT)
    with tempfile.TemporaryDirectory(prefix="emu-bench-") as folder, ExitStack() as stack:
        suite = Suite(settings, Path(folder), stack)
        found = {subject: _measured(subject, settings) for subject in suite.subjects()}
        report.missing = suite.missing
    report.tables.append(_speeds(found))
    report.tables.append(_ratios(found))
    if "qemu" not in report.missing:
        report.bounds += _bounds(found)
        report.notes += _ceiling(found)
    measure_translation(settings, report)
    return report


def _measured(subject: Subject, settings: Settings) -> dict[str, Values]:
    settings.tell(f"engine: {subject.name}")
    return interleaved(subject.contestants(settings.seconds), settings.rounds)


def _ceiling(found: Found) -> Iterator[str]:
    """What the ratios to QEMU would be for an engine as fast as native code."""
    ratios = {s: v["native"].over(v["qemu"]).median for s, v in found.items() if "native" in v}
    classic = [ratio for subject, ratio in ratios.items() if subject.group == "classic"]
    if classic:
        mean, lowest = number(geometric_mean(list(ratios.values()))), number(min(ratios.values()))
        yield (
            f"native / qemu, all programs: geometric mean {mean}, lowest {lowest}; "
            f"classic ones: {number(geometric_mean(classic))}"
        )


def _speeds(found: Found) -> Table:
    columns = ("translator", "stepper", "qemu", "native")
    table = Table("Million guest instructions a second", columns)
    for subject, values in found.items():
        table.add(subject.name, *(_cell(values.get(name), 1e-6) for name in columns))
    return table


def _cell(values: Values | None, scale: float) -> Cell | Absent:
    return Absent("missing") if values is None else Cell(Values(tuple(scale * v for v in values.each)))


_PAIRS = (("translator", "qemu"), ("translator", "native"), ("stepper", "qemu"), ("native", "qemu"))


def _ratios(found: Found) -> Table:
    table = Table("Ratios", tuple(f"{a} / {b}" for a, b in _PAIRS))
    for subject, values in found.items():
        cells = (
            Cell(values[a].over(values[b])) if a in values and b in values else Absent("missing")
            for a, b in _PAIRS
        )
        table.add(subject.name, *cells)
    return table


def _bounds(found: Found) -> Iterator[Bound]:
    ratios = {s: v["translator"].over(v["qemu"]).median for s, v in found.items()}
    groups = {
        "scalar suite (C kernels and classic programs)": [s for s in ratios if s.group != "other"],
        "C kernels": [s for s in ratios if s.group == "kernel"],
        "classic programs": [s for s in ratios if s.group == "classic"],
        "other programs": [s for s in ratios if s.group == "other"],
    }
    groups = {name: members for name, members in groups.items() if members}
    for name, members in groups.items():
        mean = geometric_mean([ratios[s] for s in members])
        yield Bound(
            f"{name}, {len(members)}: translator / qemu, geometric mean", mean, "at least", SCALAR_BOUND
        )
    for name, members in groups.items():
        worst = min(members, key=ratios.__getitem__)
        yield Bound(
            f"worst of {name} ({worst.name}), translator / qemu", ratios[worst], "at least", MEMBER_BOUND
        )
    recursion = [ratio for s, ratio in ratios.items() if s.is_recursion]
    if recursion:
        mean = geometric_mean(recursion)
        yield Bound(
            "windowed recursion, translator / qemu, geometric mean", mean, "at least", RECURSION_BOUND
        )
