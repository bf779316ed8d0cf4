"""``emu profile``: options, and little else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rich_click as click

from emu.cli_errors import guarded

_FILE = click.Path(path_type=Path)


@click.command()
@click.argument("what", metavar="t2i|ternary|tinylm|KERNEL", default="t2i")
@click.option("--steps", type=click.IntRange(1, 64), default=8, show_default=True, help="Of a picture.")
@click.option("--tokens", type=click.IntRange(1, 256), default=16, show_default=True, help="Of tinylm.")
@click.option("--size", "sizes", multiple=True, metavar="NAME=N", help="Of a kernel, as rows=64.")
@click.option(
    "--model", "source", default="random:0", show_default=True, metavar="FILE|random:SEED",
    help="Model file, or weights from a seed.",
)  # fmt: skip
@click.option("--elf", type=_FILE, help="Firmware image; default: the bundled reference image.")
@click.option(
    "--samples", type=click.IntRange(1), default=600, show_default=True, help="Instructions looked at."
)
@click.option("--limit", type=click.IntRange(1), default=25, show_default=True, help="Rows of each table.")
@click.option("-o", "--output", type=_FILE, help="Also write a .html page, a .svg flame graph or .json.")
@guarded
def profile(elf: Path | None, **options: Any) -> int:
    """Count the instructions of a model or a kernel by stage and function; estimate the time of a chip."""
    from emu.profile.command import ProfileRequest, run
    from emu.verify.reference import reference_elf

    return run(ProfileRequest(elf=elf or reference_elf(), **options))
