"""``emu verify``: options, and nothing that takes time to import."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rich_click as click
from click import Context, Parameter, get_current_context

from emu.cli_errors import guarded
from emu.cli_options import FUSED, QUIET, TIER

_FILE = click.Path(path_type=Path)


@click.command()
@click.option("--elf", type=_FILE, help="Firmware image; default: the bundled reference image.")
@click.option("--watch", type=_FILE, metavar="ELF", help="As --elf, again for every new build, until Ctrl-C.")
@click.option("--spec", type=_FILE, help="Python file that describes your kernels. It is executed: trust it.")
@click.option("--kernel", "kernels", multiple=True, metavar="NAME", help="Only these; * and ? allowed.")
@click.option("--models", is_flag=True, help="Every stage of the three models, not kernels.")
@click.option("--examples", type=click.IntRange(1), default=200, show_default=True, help="For each kernel.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the whole campaign.")
@click.option("--example", type=click.IntRange(0), help="Only this example of one kernel, as drawn.")
@click.option("--replay", type=_FILE, help="Only the case of this file.")
@click.option("--exhaustive", is_flag=True, help="Every input pattern of the elementwise kernels.")
@click.option("--slice", "part", metavar="I/N", default="0/1", help="Every n-th block of an exhaustive run.")
@click.option(
    "--target", type=click.Choice(["image", "mirror", "board"]), help="Default: image; board with --port."
)
@click.option(
    "--port", default="", metavar="URL", help="Board: /dev/ttyACM0, COM3, socket://..., rfc2217://..."
)
@click.option(
    "--readings", type=_FILE, help="Result file of emu selftest: how the board reads contested facts."
)
@click.option(
    "--baud", type=click.IntRange(9600, 5_000_000), help="Speed of the board's line, if it can change."
)
@TIER
@FUSED
@click.option(
    "--bounds/--no-bounds",
    default=None,
    help="Trap on any access outside the buffers; default: on for one small example in eight.",
)
@click.option(
    "--check",
    is_flag=True,
    help="Also run some short examples with every diagnostic of the engine and tell what it noticed.",
)
@click.option("--budget", type=click.IntRange(1), default=50_000_000, help="Guest instructions per call.")
@click.option(
    "--mirror-seconds",
    type=click.FloatRange(0.1),
    default=120.0,
    show_default=True,
    help="A call of a mirror that takes longer is a tool error.",
)
@click.option(
    "--jobs", type=click.IntRange(1, 64), default=None, help="Worker processes; default: processors."
)
@click.option("--json", "json_file", type=_FILE, help="Write the report as JSON; - for standard output.")
@click.option("--junit", "junit_file", type=_FILE, help="Write the report as JUnit XML.")
@click.option("--html", "html_file", type=_FILE, help="Write the report as one HTML page.")
@click.option("--out", type=_FILE, help="Folder for case files and partial results; default: emu-verify.")
@click.option("--resume", is_flag=True, help="Go on where an interrupted or killed run of the same stopped.")
@QUIET
@click.option("--memory/--no-memory", default=True, help="Try failing cases of earlier runs first.")
@guarded
def verify(**options: Any) -> int:
    """Run kernels of a firmware image against their mirrors and compare every bit.

    Exit code: 0 equal, 1 mismatch, 2 wrong use, 4 the firmware trapped, 5 trouble of our own, 130
    interrupted.
    """
    watched = options.pop("watch")
    if watched is not None:
        return _watch(watched, options["spec"])
    options["target"] = options["target"] or ("board" if options["port"] else "image")
    if options.pop("models"):
        from emu.verify.bundled_models import ModelsRequest, run_models
        from emu.verify.errors import UsageProblem

        if options["check"]:
            raise UsageProblem("--check looks at examples of kernels: not with --models")
        wanted = ("elf", "tier", "fused", "json_file", "html_file", "port", "baud", "resume", "quiet")
        return run_models(ModelsRequest(**{n: options[n] for n in wanted}))
    from emu.verify.command import VerifyRequest, run

    return run(VerifyRequest(**options))


def _watch(elf: Path, spec: Path | None) -> int:
    """Hand the other options on to one process for each build."""
    from emu.verify.errors import UsageProblem
    from emu.verify.watch import watch

    context = get_current_context()
    given = {p.name for p in context.command.params if _is_given(context, p.name)}
    if "elf" in given:
        raise UsageProblem("--watch names the ELF file: leave --elf away")
    arguments = ["--elf", str(elf)]
    for parameter in context.command.params:
        if parameter.name in given - {"watch"}:
            arguments += _as_typed(parameter, context.params[parameter.name])
    return watch(elf, [spec] if spec is not None else [], arguments, click.echo)


def _is_given(context: Context, name: str | None) -> bool:
    source = context.get_parameter_source(name or "")
    return source is not None and source.name != "DEFAULT"


def _as_typed(parameter: Parameter, value: Any) -> list[str]:
    """An option with its value as on a command line."""
    if getattr(parameter, "is_flag", False):
        flags = parameter.opts if value else parameter.secondary_opts
        return flags[:1]
    values = value if parameter.multiple else [value]
    return [text for v in values for text in (parameter.opts[0], str(v))]
