"""The commands of the models: model, draw, classify, generate, compare. Options, and little else."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import rich_click as click

from emu.cli_errors import guarded

_FILE = click.Path(path_type=Path)
_TARGET = click.option(
    "--target", type=click.Choice(["mirror", "image"]), default="mirror", show_default=True,
    help="The Python mirror, or the firmware's own instructions on the CPU engine.",
)  # fmt: skip
_MODEL = click.option(
    "--model", "source", default="random:0", show_default=True, metavar="FILE|random:SEED",
    help="Model file, or weights from a seed (extreme:SEED: ones that hurt).",
)  # fmt: skip
_ELF = click.option("--elf", type=_FILE, help="Firmware image; default: the bundled reference image.")
_SEED = click.option("--seed", default="0", show_default=True, help="Of the noise or of the sampler.")


def _stage_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--stages, --dump, --digests."""
    for option in (
        click.option("--digests", type=_FILE, help="Write the digest of every stage; - for the terminal."),
        click.option("--dump", type=_FILE, help="Write stages to this .safetensors or .npz file."),
        click.option("--stages", multiple=True, metavar="PATTERN", help="Stages for --dump, as s0.c.b3.*."),
    ):
        command = option(command)
    return command


def _reference(elf: Path | None) -> Path:
    from emu.verify.reference import reference_elf

    return elf or reference_elf()


@click.group()
def model() -> None:
    """Look into model files, and make some."""


@model.command()
@click.argument("file", type=_FILE)
@click.option("--json", "as_json", is_flag=True, help="As JSON.")
@guarded
def info(file: Path, as_json: bool) -> int:
    """Check a model file and say what is in it."""
    from rich.console import Console

    from emu.models.modelfile.info import describe, print_info
    from emu.models.modelfile.reader import open_model

    found = open_model(file)
    if as_json:
        click.echo(json.dumps(describe(found), indent=1))
    else:
        print_info(found, Console())
    return 0


@model.command()
@click.option("--kind", type=click.Choice(["t2i", "ternary", "tinylm"]), required=True, help="Which model.")
@click.option("--seed", default="0", show_default=True, help="Of the weights.")
@click.option("--extreme", is_flag=True, help="Outlier, zero and saturated rows.")
@click.option("--outputs", type=click.IntRange(1, 4096), help="Of a ternary model; default: 511.")
@click.option("-o", "--output", type=_FILE, required=True, help="The model file.")
@guarded
def random(kind: str, seed: str, extreme: bool, outputs: int | None, output: Path) -> int:
    """Make a model file with weights from a seed: the same bytes on every machine."""
    from hashlib import sha256

    from emu.models.errors import PromptError
    from emu.models.modelfile.extreme import extreme_model
    from emu.models.modelfile.kinds import Kind
    from emu.models.modelfile.random_weights import random_model
    from emu.models.modelfile.writer import write_file
    from emu.models.sources import seed_number

    which = Kind.of(kind)
    if outputs is not None and (which is not Kind.TERNARY or extreme):
        raise PromptError("--outputs belongs to random weights of --kind ternary")
    number = seed_number(seed)
    data = extreme_model(which, number) if extreme else random_model(which, number, outputs)
    write_file(output, data)
    click.echo(f"{output}: {kind}, {len(data):,} bytes, sha256 {sha256(data).hexdigest()}")
    return 0


@click.command()
@click.argument("prompt")
@_SEED
@click.option("--steps", type=click.IntRange(1, 64), default=8, show_default=True, help="Of the sampler.")
@click.option("--cfg", type=float, default=3.0, show_default=True, help="Guidance factor.")
@_TARGET
@_MODEL
@_ELF
@_stage_options
@click.option("--scale", type=click.IntRange(1, 16), default=1, help="Enlarge the picture.")
@click.option("--times", is_flag=True, help="Also tell the time of every stage, steps and blocks added up.")
@click.option(
    "-o", "--output", type=_FILE, default=Path("face.png"), show_default=True, help="The picture, a PNG file."
)
@guarded
def draw(prompt: str, **options: Any) -> int:
    """Draw a 64x64 face from words: emu draw "улыбающаяся девушка" --seed 7 -o face.png."""
    from emu.models.command_draw import DrawRequest, run
    from emu.models.console import prepare_terminal, typed_text

    prepare_terminal()
    if options["target"] == "image":
        options["elf"] = _reference(options["elf"])
    return run(DrawRequest(prompt=typed_text(prompt), **options))


@click.command()
@click.argument("texts", nargs=-1, required=True)
@click.option("--top", type=click.IntRange(1), default=3, show_default=True, help="Classes shown.")
@_TARGET
@_MODEL
@_ELF
@_stage_options
@guarded
def classify(texts: tuple[str, ...], **options: Any) -> int:
    """Classes of short texts (32 bytes) by the ternary transformer: emu classify 12+34."""
    from emu.models.command_text import TextRequest, run_classify
    from emu.models.console import prepare_terminal, typed_text

    prepare_terminal()
    if options["target"] == "image":
        options["elf"] = _reference(options["elf"])
    top = options.pop("top")
    return run_classify([typed_text(text) for text in texts], top, TextRequest(**options))


@click.command()
@click.argument("prompt")
@click.option(
    "--tokens", type=click.IntRange(1, 256), default=64, show_default=True, help="How many are made."
)
@click.option("--temperature", type=click.FloatRange(0), default=0.0, show_default=True, help="0: likeliest.")
@_SEED
@_TARGET
@_MODEL
@_ELF
@_stage_options
@guarded
def generate(prompt: str, **options: Any) -> int:
    """Continue a text with the small language model."""
    from emu.models.command_text import TextRequest, run_generate
    from emu.models.console import prepare_terminal, typed_text

    prepare_terminal()
    if options["target"] == "image":
        options["elf"] = _reference(options["elf"])
    extra = {name: options.pop(name) for name in ("tokens", "temperature", "seed")}
    return run_generate(typed_text(prompt), request=TextRequest(**options), **extra)


@click.command()
@click.argument("kind", type=click.Choice(["t2i", "ternary", "tinylm"]), default="t2i")
@click.option(
    "--float", "bits", type=click.Choice(["32", "64"]), default="64", show_default=True,
    help="Precision of the reference.",
)  # fmt: skip
@_MODEL
@click.option("--text", help="Prompt, text to classify, or text to read; default: an example.")
@_SEED
@click.option("--steps", type=click.IntRange(1, 64), default=8, show_default=True, help="Of a picture.")
@click.option("--all", "every", is_flag=True, help="Every stage, not a selection.")
@click.option("--json", "json_file", type=_FILE, help="Write all figures as JSON.")
@guarded
def compare(kind: str, **options: Any) -> int:
    """How far int8, ternary or int4 arithmetic is from float: noise of every stage, and what it does."""
    from emu.models.command_compare import CompareRequest, run
    from emu.models.console import prepare_terminal, typed_text

    prepare_terminal()
    text = options.pop("text")
    return run(CompareRequest(kind=kind, text=None if text is None else typed_text(text), **options))


if __name__ == "__main__":
    sys.exit("use the emu command")
