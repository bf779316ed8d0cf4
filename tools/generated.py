"""Files of the checkout that a tool writes: written, or compared with what the tool gives."""

from __future__ import annotations

import sys
from pathlib import Path

import click


def write_or_check(path: Path, fresh: str, check: bool, source: str, command: str) -> None:
    """Write ``fresh`` to ``path``; with ``check`` exit with 1 when the file is another one.

    ``source``: what the text is made from; ``command``: that writes it.
    """
    if not check:
        path.write_text(fresh)
    elif not path.is_file() or path.read_text() != fresh:
        click.echo(f"{path} is not what {source}\nto mend: {command}", err=True)
        sys.exit(1)
