"""``emu spec``: help with files that describe one's own kernels."""

from __future__ import annotations

from pathlib import Path

import rich_click as click

from emu.cli_errors import guarded

_FILE = click.Path(path_type=Path)


@click.group()
def spec() -> None:
    """Spec files: kernels of your own firmware, described in Python (docs/your-kernels.md)."""


@spec.command()
@click.argument("elf", type=_FILE)
@click.argument("symbol")
@click.option("-o", "--out", type=_FILE, help="Write the draft there instead of printing it.")
@click.option("--force", is_flag=True, help="Overwrite an existing file.")
@guarded
def new(elf: Path, symbol: str, out: Path | None, force: bool) -> int:
    """First draft of a spec for function SYMBOL of ELF, from its debug information.

    SYMBOL is a C symbol or a C++ name, mangled or not (Dense::run). Without debug information the draft is a
    form to fill in.
    """
    from emu.image import load_image
    from emu.verify.draft import draft
    from emu.verify.errors import UsageProblem

    text = draft(load_image(elf), symbol, str(elf))
    if out is None:
        click.echo(text, nl=False)
        return 0
    if out.exists() and not force:
        raise UsageProblem(f"{out} exists already; --force overwrites it")
    try:
        out.write_text(text)
    except OSError as error:
        raise UsageProblem(f"{out}: cannot be written: {error.strerror}") from error
    click.echo(f"{out}: write the mirror, then: emu verify --elf {elf} --spec {out}")
    return 0


@spec.command()
@click.argument("elf", type=_FILE)
@click.argument("pattern", default="*")
@guarded
def functions(elf: Path, pattern: str) -> int:
    """Functions of ELF that a spec can name, with their prototypes; PATTERN may have * and ?."""
    from fnmatch import fnmatchcase

    from emu.image import load_image
    from emu.image.names import demangled
    from emu.image.prototypes import Prototypes

    image = load_image(elf)
    prototypes = Prototypes(image)
    for symbol in image.symbols.functions():
        name = demangled(symbol.name)
        if fnmatchcase(symbol.name, pattern) or fnmatchcase(name, pattern):
            known = prototypes.function(symbol.name) if symbol.is_global else None
            click.echo(f"{symbol.address:#010x}  {name if known is None or name != symbol.name else known}")
    return 0
