"""Options that several commands have."""

from __future__ import annotations

import click

QUIET = click.option("-q", "--quiet", is_flag=True, help="Print only what is not as it should be.")
TIER = click.option(
    "--tier",
    type=click.Choice(["translator", "stepper"]),
    default="translator",
    show_default=True,
    help="Translated to native code, or step by step.",
)
FUSED = click.option(
    "--fused",
    type=click.Choice(["fused", "two-roundings"]),
    default="fused",
    show_default=True,
    help="How madd.s and msub.s round.",
)
