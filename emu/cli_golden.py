"""``emu golden``: record, check, accept, prune, list. Options, and little else."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rich_click as click

from emu.cli_errors import guarded
from emu.cli_options import QUIET

_PATH = click.Path(path_type=Path)
_FOLDER = click.option("--folder", type=_PATH, help="Where the goldens are; default: golden/models.")
_ELF = click.option("--elf", type=_PATH, help="Firmware image; default: the bundled reference image.")


def _machine(command: Callable[..., Any]) -> Callable[..., Any]:
    """--gemm and --cpu: the mirrors as on another machine."""
    command = click.option(
        "--gemm", metavar="VARIANT", help="Matrix product of the mirror: amx, vnni, avx2 or plain."
    )(command)
    return click.option(
        "--cpu",
        metavar="NAME",
        help="Mirrors compiled for this processor of LLVM's: x86-64, x86-64-v3, generic, ...",
    )(command)


def _choose_machine(gemm: str | None, cpu: str | None) -> None:
    """Both are read when the mirrors are imported, which is later.

    The matrix product for a lesser processor is the plain one, unless another is asked for.
    """
    if cpu:
        os.environ |= {"NUMBA_CPU_NAME": cpu, "NUMBA_CPU_FEATURES": ""}
    if gemm or cpu:
        os.environ["EMU_GEMM"] = gemm or "plain"


_NAMES = click.argument("names", nargs=-1)


def _folder(folder: Path | None) -> Path:
    from emu.goldens.places import default_folder

    return folder or default_folder()


@click.group()
def golden() -> None:
    """Recorded stages of model runs: record, compare, review a change, tidy."""


@golden.command()
@_NAMES
@click.option("--kind", type=click.Choice(["t2i", "ternary", "tinylm"]), help="Of a golden of your own.")
@click.option("--model", "weights", metavar="FILE|random:SEED", help="Weights; default: random:1.")
@click.option("--text", help="Prompt, text to classify, or text to continue.")
@click.option("--seed", type=click.IntRange(0, (1 << 32) - 1), help="Of the noise or of the sampler.")
@click.option("--steps", type=click.IntRange(0, 256), help="Sampler steps, or tokens after the text.")
@click.option("--cfg", type=float, help="Guidance factor.")
@click.option("--tensors", multiple=True, metavar="PATTERN", help="Stages whose tensors are kept.")
@QUIET
@_ELF
@_FOLDER
@_machine
@guarded
def record(
    names: tuple[str, ...],
    folder: Path | None,
    elf: Path | None,
    quiet: bool,
    gemm: str | None,
    cpu: str | None,
    **own: Any,
) -> int:
    """Record goldens: bundled ones by name (default: all), recorded ones again, or your own by --kind."""
    _choose_machine(gemm, cpu)
    from emu.goldens.command import run_record

    return run_record(names, _folder(folder), elf, own, quiet)


@golden.command()
@_NAMES
@click.option(
    "--target", type=click.Choice(["mirror", "image", "both"]), default="both", show_default=True,
    help="What is compared with the goldens.",
)  # fmt: skip
@_machine
@click.option("--json", "json_file", type=_PATH, help="Write the results as JSON; - for standard output.")
@QUIET
@_ELF
@_FOLDER
@guarded
def check(
    names: tuple[str, ...], gemm: str | None, cpu: str | None, folder: Path | None, **options: Any
) -> int:
    """Compute goldens again and compare every stage. Stale goldens are refused, not compared."""
    _choose_machine(gemm, cpu)
    from emu.goldens.command import run_check

    return run_check(names, _folder(folder), **options)


@golden.command()
@_NAMES
@click.option("--yes", is_flag=True, help="Do not ask.")
@QUIET
@_ELF
@_FOLDER
@guarded
def accept(names: tuple[str, ...], yes: bool, quiet: bool, elf: Path | None, folder: Path | None) -> int:
    """Show what changes, stage by stage, and make it the golden. Refused where mirror and image disagree."""
    from emu.goldens.command import run_accept

    return run_accept(names, _folder(folder), elf, yes, quiet)


@golden.command()
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@_FOLDER
@guarded
def prune(folder: Path | None, dry_run: bool) -> int:
    """Remove files that no manifest speaks of, and tensors in the cache that no golden here needs."""
    from emu.goldens.command import run_prune

    return run_prune(_folder(folder), dry_run)


@golden.command()
@click.argument("name")
@click.option("--stages", multiple=True, metavar="PATTERN", default=("*",), help="Stages; default: all.")
@click.option("-o", "--output", type=_PATH, required=True, help="A .safetensors or .npz file.")
@_FOLDER
@guarded
def tensors(name: str, stages: tuple[str, ...], output: Path, folder: Path | None) -> int:
    """All tensors of a golden: from the cache, or computed again and checked against its digests."""
    from emu.goldens.command import run_tensors

    return run_tensors(name, stages, output, _folder(folder))
