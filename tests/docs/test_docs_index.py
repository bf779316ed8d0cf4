"""A reader finds every page, and every link leads somewhere; the reference of the commands is current."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import click
import pytest

from emu.cli import main
from tests.docs.page import ROOT, all_pages, name_of, read_page

DOCS = ROOT / "docs"
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)]*)?\)")


def targets(page: Path) -> set[Path]:
    """Files that a page links to."""
    return {(page.parent / link).resolve() for link in LINK.findall(page.read_text())}


@pytest.mark.parametrize("page", all_pages(), ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    missing = sorted(str(target) for target in targets(page) if not target.exists())
    assert not missing


def test_every_page_is_in_the_index() -> None:
    linked = targets(DOCS / "README.md")
    pages = {*DOCS.glob("*.md"), *(DOCS / "ci").iterdir()} - {DOCS / "README.md"}
    assert not {name_of(page) for page in pages - linked}


def test_the_index_is_found_from_the_readme() -> None:
    assert DOCS / "README.md" in targets(ROOT / "README.md")


def test_tests_that_marks_speak_of_exist() -> None:
    for path in all_pages():
        for block in read_page(path).blocks:
            reason = (block.marks.one("not run") or "") + (block.marks.one("long") or "")
            for name in re.findall(r"(?:tests|docs|tools)/[\w./-]*\w", reason):
                assert (ROOT / name).exists(), f"{block.where}: {name}"


def test_the_reference_of_the_commands_is_current() -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "cli_reference.py", "--check"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def options(command: click.Command, name: str) -> list[tuple[str, click.Option]]:
    """Every option that is shown, with the full name of its command."""
    found = [(name, p) for p in command.params if isinstance(p, click.Option) and not p.hidden]
    if isinstance(command, click.Group):
        context = click.Context(command)
        for sub in command.list_commands(context):
            inner = command.get_command(context, sub)
            assert inner is not None
            found += options(inner, f"{name} {sub}")
    return found


def test_every_option_says_what_it_is_for() -> None:
    silent = [f"{name} {option.opts[0]}" for name, option in options(main, "emu") if not option.help]
    assert not silent


def test_every_command_and_option_stands_in_the_reference() -> None:
    page = (DOCS / "cli.md").read_text()
    for name, option in options(main, "emu"):
        section = page.split(f"# {name}\n", 1)[1].split("\n#", 1)[0] if name != "emu" else page
        assert all(f"{word}" in section for word in option.opts) or name == "emu", (name, option.opts)
