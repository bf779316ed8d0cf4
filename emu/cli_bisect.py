"""``emu bisect``: options, and nothing that takes time to import."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import rich_click as click

from emu.cli_errors import guarded
from emu.cli_options import FUSED, QUIET, TIER

_FILE = click.Path(path_type=Path)


@click.group()
def bisect() -> None:
    """From "it differs" to the stage, the kernel, the smallest input, the instruction, the commit."""


def _common(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        QUIET,
        click.option("--fresh", is_flag=True, help="Do not use what an earlier run found."),
        click.option(
            "--json", "json_file", type=_FILE, help="Write the answer as JSON; - for standard output."
        ),
        click.option("--out", type=_FILE, help="Folder for what is found; default: in the cache folder."),
        FUSED,
        click.option(
            "--good",
            default="",
            metavar="ELF|none",
            help="An image that is right, to compare instructions with; default: the bundled one.",
        ),
        click.option("--elf", type=_FILE, required=True, help="The image that differs."),
    ):
        command = option(command)
    return command


def _shared(options: dict[str, Any]) -> Any:
    from emu.bisect.command import Common

    names = ("elf", "good", "fused", "out", "json_file", "fresh", "quiet")
    return Common(**{name: options[name] for name in names})


@bisect.command("model")
@click.argument("kind", type=click.Choice(["t2i", "ternary", "tinylm"]))
@_common
@click.option(
    "--weights", multiple=True, metavar="FILE|random:SEED", help="Default: random:1, then extreme:1."
)
@click.option(
    "--text", help="Prompt of t2i, text of ternary; default: a few small runs, one after the other."
)
@click.option("--tokens", default="", metavar="N,N...", help="Tokens of tinylm or t2i.")
@click.option("--steps", type=click.IntRange(1, 64), default=1, show_default=True, help="Of t2i.")
@click.option(
    "--golden",
    type=click.Choice(["mirror", "good"]),
    default="mirror",
    show_default=True,
    help="Where right stages come from.",
)
@TIER
@guarded
def model_command(kind: str, **options: Any) -> int:
    """One of the example models on an image: first wrong stage, then inwards."""
    from emu.bisect.command import ModelRequest, bisect_model
    from emu.models.modelfile.kinds import Kind

    request = ModelRequest(
        _shared(options),
        Kind.of(kind),
        options["weights"],
        options["text"],
        options["tokens"],
        options["steps"],
        options["golden"],
        options["tier"],
    )
    return bisect_model(request)


@bisect.command("kernel")
@click.argument("symbol")
@_common
@click.option("--spec", type=_FILE, help="Python file that describes your kernels. It is executed: trust it.")
@click.option("--replay", type=_FILE, help="The case that differs; default: examples are tried in turn.")
@click.option(
    "--examples",
    type=click.IntRange(1),
    default=200,
    show_default=True,
    help="Drawn ones, where no case is named.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the drawn examples.")
@guarded
def kernel_command(symbol: str, **options: Any) -> int:
    """One kernel of an image, your own with --spec: smallest input, then the first wrong instruction."""
    from emu.bisect.command import KernelRequest, bisect_one_kernel

    names = ("spec", "replay", "examples", "seed")
    request = KernelRequest(_shared(options), symbol, **{name: options[name] for name in names})
    return bisect_one_kernel(request)


@bisect.command("spec")
@click.argument("spec", type=_FILE)
@_common
@click.option("--kernels", type=_FILE, help="Spec of the kernels that the model calls. It is executed too.")
@click.option(
    "--examples", type=click.IntRange(1), default=20, show_default=True, help="Inputs that are tried."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the inputs.")
@click.option("--example", type=click.IntRange(0), help="Only this example.")
@guarded
def spec_command(spec: Path, **options: Any) -> int:
    """A model of yours (docs/your-models.md): first wrong stage, then inwards where kernels are described.

    SPEC is Python that is executed: trust it.
    """
    from emu.bisect.command import SpecRequest, bisect_spec

    names = ("kernels", "examples", "seed", "example")
    return bisect_spec(SpecRequest(_shared(options), spec, **{name: options[name] for name in names}))


@bisect.command("commits")
@click.argument("good")
@click.argument("bad")
@click.option("--kernel", default="", help="The kernel that differs.")
@click.option("--model", default="", metavar="KIND", help="The example model that differs.")
@click.option("--spec", type=_FILE, help="Python file that describes your kernels. It is executed: trust it.")
@click.option(
    "--repo", "repository", type=_FILE, default=Path(), help="The git repository; default: this folder."
)
@click.option("--build", default="", metavar="COMMAND", help="Builds an image in a checkout of yours.")
@click.option("--product", default="", metavar="PATH", help="The ELF file that --build leaves.")
@click.option("--out", type=_FILE, help="Folder for what is found; default: in the cache folder.")
@click.option("--json", "json_file", type=_FILE, help="Write the answer as JSON; - for standard output.")
@QUIET
@guarded
def commits_command(good: str, bad: str, **options: Any) -> int:
    """The first commit behind GOOD, up to BAD, that differs, and the lines that its instruction came from.

    Commits are taken from git into the cache folder; your checkout is left alone. Every build is kept.
    """
    from emu.bisect.command_commits import CommitsRequest, bisect_commits

    if options["model"] and options["model"] not in ("t2i", "ternary", "tinylm"):
        raise click.BadParameter("one of t2i, ternary, tinylm", param_hint="--model")
    return bisect_commits(CommitsRequest(good, bad, **options))
