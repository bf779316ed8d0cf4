"""``emu mutate``: options, and nothing that takes time to import."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import rich_click as click

from emu.cli_errors import guarded
from emu.cli_options import QUIET

_FILE = click.Path(path_type=Path)
_GENERATORS = ("c", "assembly", "binary")
_STATUSES = ("killed", "survived", "equivalent", "tool error", "unbuilt", "unreached")


@click.command()
@click.option("--sample", type=click.IntRange(0), default=400, show_default=True, help="Mutants; 0: all.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the choice.")
@click.option("--kernel", "kernels", multiple=True, metavar="NAME", help="What these can execute; * and ?.")
@click.option(
    "--generator",
    "generators",
    multiple=True,
    type=click.Choice(_GENERATORS),
    help="Where faults are planted; default: everywhere.",
)
@click.option("--examples", type=click.IntRange(1), default=200, show_default=True, help="Of each kernel.")
@click.option(
    "--long-examples",
    type=click.IntRange(0),
    default=100_000,
    show_default=True,
    help="For survivors, of the nearest kernel; 0: none.",
)
@click.option(
    "--shrink-seconds",
    type=click.FloatRange(0),
    default=4.0,
    show_default=True,
    help="For each failing case.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(0),
    default=math.inf,
    help="Begin no mutant after so long; go on later.",
)
@click.option("--jobs", type=click.IntRange(1, 64), default=None, help="Workers; default: processors.")
@click.option(
    "--folder", type=_FILE, default=Path("emu-mutate"), show_default=True, help="For results and objects."
)
@click.option(
    "--again", multiple=True, type=click.Choice(_STATUSES), help="Judge mutants with this result once more."
)
@click.option("--only", multiple=True, metavar="ID", help="Of the sample these alone, by name.")
@click.option("--page", type=_FILE, help="Write the tables as a page (docs/mutation.md).")
@click.option("--list", "dry_run", is_flag=True, help="Only name the mutants.")
@click.option("--json", "json_file", type=_FILE, help="Write all results as JSON; - for standard output.")
@QUIET
@guarded
def mutate(**options: Any) -> int:
    """Plant small faults in the firmware, one at a time, and count how many are found.

    An interrupted campaign goes on with the same command. Exit code: 0 every fault was found, 1 some
    survived, 2 wrong use, 5 trouble of our own, 130 interrupted.
    """
    from emu.mutate.command import MutateRequest, run

    options["generators"] = options["generators"] or _GENERATORS
    return run(MutateRequest(**options))
