#!/usr/bin/env python3
"""Write docs/cli.md: every command of `emu`, its arguments and options, from the commands themselves.

python tools/cli_reference.py            write the page
python tools/cli_reference.py --check    exit 1 when it is not what the commands say
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import click

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tools")]

from generated import write_or_check  # noqa: E402

from emu.cli import main as emu  # noqa: E402

PAGE = ROOT / "docs" / "cli.md"
_NUMBER = re.compile(r"(INTEGER|FLOAT)( RANGE)?")
HEAD = """# Commands

Written by `python tools/cli_reference.py` from the commands themselves; a test holds it against them.
`emu COMMAND --help` says the same.

Exit codes of all commands: 0 equal or done, 1 mismatch, 2 wrong use or wrong input, 3 link fault,
4 board fault (the code under test trapped), 5 trouble of our own, 130 interrupted. [verify.md](verify.md)
says what the verdicts mean.
"""


def commands(command: click.Command, name: str) -> Iterator[tuple[str, click.Command]]:
    """(full name, command), a group before its commands; hidden ones are left out."""
    yield name, command
    if isinstance(command, click.Group):
        context = click.Context(command, info_name=name)
        for sub in command.list_commands(context):
            found = command.get_command(context, sub)
            if found is not None and not found.hidden:
                yield from commands(found, f"{name} {sub}")


def cell(text: str) -> str:
    """Text for a cell of a table."""
    return " ".join(text.replace("|", "\\|").split())


def rows(command: click.Command, context: click.Context) -> list[str]:
    """A table row for each option that is shown; arguments stand in the usage and in the help text."""
    records = [p.get_help_record(context) for p in command.get_params(context) if p.name != "help"]
    return [f"| `{_NUMBER.sub('N', cell(name))}` | {cell(told)} |" for name, told in filter(None, records)]


def section(name: str, command: click.Command) -> str:
    """A command: heading, usage, what it does, its options."""
    context = click.Context(command, info_name=name, terminal_width=100)
    usage = " ".join([name, *command.collect_usage_pieces(context)])
    level = "#" * (1 + name.count(" "))
    parts = [f"{level} {name}", f"`{usage}`", text_of(command)]
    if table := rows(command, context):
        parts.append("\n".join(["| | |", "|---|---|", *table]))
    return "\n\n".join(part for part in parts if part)


def text_of(command: click.Command) -> str:
    """The help text, paragraphs as they are; what click hides behind a form feed stays hidden."""
    text = (command.help or "").split("\f")[0].replace("\b\n", "")
    return "\n".join(line.strip() for line in text.strip().splitlines()).replace("<", "&lt;")


def page() -> str:
    """The whole page."""
    parts = [section(name, command) for name, command in commands(emu, "emu") if name != "emu"]
    return "\n\n".join([HEAD.strip(), contents(), *parts]) + "\n"


def contents() -> str:
    """Links to the commands of the first level, in the order of ``emu --help``."""
    names = [name for name, _ in commands(emu, "emu") if name.count(" ") == 1]
    return " · ".join(f"[{name.removeprefix('emu ')}](#{name.replace(' ', '-')})" for name in names)


@click.command()
@click.option("--check", is_flag=True, help="Compare only.")
def main(check: bool) -> None:
    """Write or compare docs/cli.md."""
    write_or_check(PAGE, page(), check, "the commands say", "python tools/cli_reference.py")


if __name__ == "__main__":
    main()
