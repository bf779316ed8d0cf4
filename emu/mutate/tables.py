"""The tables of a campaign, on the terminal and as a page of the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from rich.table import Table

from emu.mutate.result import Result, Status, reasons
from emu.mutate.score import Score, by_generator, by_kernel, by_rule, grouped, score, share
from emu.terminal import Terminal

_HEAD = (
    "killed",
    "survived",
    "equivalent",
    "killed of faults",
    "s to kill",
    "right kernel",
    "right place",
    "input",
)
_EXPLAINED = """\
*Killed*: one of the default examples of a kernel that can execute the change differs from the mirror or
traps. *Equivalent*: the same code, proven by a rule about its instructions, or explained by somebody who has
read the code and not refuted by a long check. *Faults* are the mutants that are not equivalent. *s to kill*:
median, without building. *Right kernel*: the kernel named can execute the change, one that cannot is still
equal. *Right place*: lockstep with the good image names the changed statement's line or the very instruction.
*Input*: median of the shrunk case's elements that are not neutral.
"""


def rows(scores: Mapping[str, Score]) -> Iterator[tuple[str, ...]]:
    """A row for each group and a last one for all."""
    for name, s in scores.items():
        yield (
            name,
            str(s.killed),
            str(s.survived),
            str(s.equivalent),
            share(s.killed, s.faults),
            f"{s.seconds:.2f}" if s.killed else "-",
            share(s.kernels, s.killed),
            share(s.places, s.killed),
            f"{s.weight:g}" if s.killed else "-",
        )


def print_campaign(terminal: Terminal, results: Iterable[Result]) -> None:
    """Tables by generator and kernel, the survivors, and one line with the verdict."""
    every, console = list(results), terminal.usual
    for title, key in (("generator", by_generator), ("kernel", by_kernel)):
        table = Table(box=None, pad_edge=False, header_style="bold")
        table.add_column(title, no_wrap=True)
        for name in _HEAD:
            table.add_column(name, justify="right")
        for row in rows({**grouped(every, key), "all": score(every)}):
            table.add_row(*row)
        console.print(table)
        console.print()
    for line in survivor_lines(every):
        terminal.wrong.print(line, markup=False, highlight=False)
    console.print(summary(every), markup=False, highlight=False, soft_wrap=True)


def survivor_lines(results: Iterable[Result]) -> Iterator[str]:
    """One line for each survivor and each error."""
    for r in results:
        if r.status in (Status.SURVIVED, Status.ERROR):
            reason = f": {r.reason}" if r.reason else ""
            kernels = ", ".join(r.kernels[:3])
            yield f"{r.status} {r.mutant.ident} {r.mutant.where}: {r.mutant.what} [{kernels}]{reason}"


def summary(results: Iterable[Result]) -> str:
    """All of it in a line."""
    s = score(results)
    return (
        f"{s.faults} faults: {s.killed} killed ({share(s.killed, s.faults)}), {s.survived} survived; "
        f"{s.equivalent} equivalent, {s.unbuilt} not built or not reached"
        + (f", {s.errors} tool errors" if s.errors else "")
        + f"; right kernel {share(s.kernels, s.killed)}, right place {share(s.places, s.killed)}, "
        f"median input {s.weight:g}"
    )


def page(results: Iterable[Result], command: str, wanted: int) -> str:
    """The page of the documentation: what was run, tables, survivors and equivalent mutants with reasons."""
    every = list(results)
    parts = [
        "# Fault-finding score\n",
        f"Written by `{command}`; do not edit. How it works: see the end.\n",
        *([f"Not complete: {len(every)} of {wanted} mutants.\n"] if len(every) < wanted else []),
        summary(every) + ".\n",
        _EXPLAINED,
        *_section("By generator", grouped(every, by_generator), every),
        *_section("By rule", grouped(every, by_rule), every),
        *_section("By kernel", grouped(every, by_kernel), every),
        "## Survivors\n",
        *_listed([r for r in every if r.status is Status.SURVIVED]),
        "## Equivalent mutants\n",
        *_listed([r for r in every if r.status is Status.EQUIVALENT and r.reason != "the same code"]),
        "## Places that were not named\n",
        *(f"- {r.mutant.where}, {r.mutant.what}: named {r.good or 'nothing'}" for r in _unplaced(every)),
        "",
        _HOW,
    ]
    return "\n".join(parts)


def _unplaced(results: Iterable[Result]) -> Iterator[Result]:
    return (r for r in results if r.status is Status.KILLED and not r.right_place)


def _section(title: str, scores: Mapping[str, Score], every: list[Result]) -> Iterator[str]:
    yield f"## {title}\n"
    yield "| | " + " | ".join(_HEAD) + " |"
    yield "|---|" + "---:|" * len(_HEAD)
    for row in rows({**scores, "all": score(every)}):
        yield "| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |"
    yield ""


def _listed(results: list[Result]) -> Iterator[str]:
    if not results:
        yield "None."
    for r in results:
        why = r.reason or f"{reasons().get(r.mutant.ident, 'open')} (no long look yet)"
        yield f"- `{r.mutant.ident}` {r.mutant.where} ({r.mutant.rule}): `{r.mutant.what}`: {why}"
    yield ""


_HOW = """\
## How it works

Mutants of C come from the syntax tree (tree-sitter): operators, comparison edges, constants, missing clamps,
conversions of another sign or width, neighbouring elements, strides, exchanged operands and arguments,
removed statements, conditions, loop bounds, signs and statuses. Mutants of assembly: operand registers,
immediates, another lane width, sign, saturation or condition, exchanged and removed instructions, moved ends
of loops. Binary mutants replace one instruction of the image by a legal one of the same length.

Only the sources that include a changed file are compiled again. The kernels that can execute a change are
found by comparing the instructions of every function of both images and following calls and addresses of
functions. Each of them runs its default examples until one differs. The failing case is shrunk and run in
lockstep on both images; for C both are compiled once more without optimisation, so that each statement has
instructions of its own.

A survivor is equivalent when a rule says so: two instructions that do not depend on each other have changed
places, a base register that nobody reads any more moves on by another step, an operation of a register with
itself. Else it gets a long look, as many examples of the nearest kernel as the list says (100,000 unless told
otherwise) and a fiftieth of each other one, and it is judged equivalent only when somebody has also written
down why no legal input can show it (emu/mutate/reasons.json). No result stays when the examples that it rests
on are drawn in another way.
"""
