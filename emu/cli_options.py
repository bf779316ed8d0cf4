"""Options that several commands have."""

from __future__ import annotations

import click

TIER = click.option(
    "--tier",
    type=click.Choice(["translator", "stepper"]),
    default="translator",
    show_default=True,
    help="Translated to native code, or step by step.",
)
