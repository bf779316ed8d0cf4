"""``emu bench``: which suite, how often, where the figures go."""

from __future__ import annotations

from pathlib import Path

import rich_click as click

from emu.cli_errors import guarded
from emu.cli_options import QUIET

_FILE = click.Path(path_type=Path)
SUITES = ("engine", "kernels", "mirror", "verify")


@click.command()
@click.argument("suite", type=click.Choice([*SUITES, "models", "link", "all"]), default="all")
@click.option(
    "--elf", type=_FILE, help="Image for the suites kernels and verify; default: the bundled reference image."
)
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True, help="Interleaved rounds.")
@click.option(
    "--seconds",
    type=click.FloatRange(0, min_open=True),
    default=0.2,
    show_default=True,
    help="About how long a single measurement takes.",
)
@click.option("--examples", type=click.IntRange(1), default=200, show_default=True, help="Of each kernel.")
@click.option(
    "--kernel",
    "kernels",
    multiple=True,
    metavar="NAME",
    help="Only these, in kernels and verify; * and ? allowed.",
)
@click.option(
    "--json", "json_file", type=_FILE, help="Write the figures of every round as JSON; - for standard output."
)
@click.option("--markdown", "page", type=_FILE, help="Write the tables into this page (docs/performance.md).")
@click.option("--port", default="", metavar="URL", help="For link: the board.")
@click.option("--baud", "bauds", multiple=True, type=click.IntRange(9600, 5_000_000), help="For link.")
@QUIET
@guarded
def bench(
    suite: str,
    elf: Path | None,
    rounds: int,
    seconds: float,
    examples: int,
    kernels: tuple[str, ...],
    json_file: Path | None,
    page: Path | None,
    port: str,
    bauds: tuple[int, ...],
    quiet: bool,
) -> int:
    """Measure a suite, each figure beside a peer from outside; a peer that is missing is named.

    engine: programs on translator and stepper, QEMU, native. kernels: vector product and kernels against
    host code. mirror: the host's matrix product against others'. verify: cases a second, cold and warm.
    models: pictures and tokens against PyTorch and native C (not in all).
    """
    if suite == "link":
        if not port:
            raise click.UsageError("emu bench link wants --port")
        from emu.link.measure_command import measure_link

        return measure_link(port, bauds or (115_200, 921_600, 3_000_000))
    from emu.bench.command import run
    from emu.bench.settings import Settings

    chosen = SUITES if suite == "all" else (suite,)
    return run(chosen, Settings(elf, rounds, seconds, examples, kernels), json_file, page, quiet)
