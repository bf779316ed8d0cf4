"""A document as one HTML file: styles, pictures and everything else inside, no script, nothing loaded."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from emu.report.document import Document
from emu.verify.records import package_version, write_whole


@cache
def _environment() -> Environment:
    return Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)


def _text(name: str) -> str:
    return (resources.files("emu.report") / "data" / name).read_text(encoding="utf-8")


def render(document: Document) -> str:
    """The page as text."""
    template = _environment().from_string(_text("page.html.jinja"))
    style = Markup(_text("page.css"))
    return template.render(d=document, style=style, svg=Markup, program=package_version())


def write_page(path: Path, document: Document) -> None:
    """Write the page, whole or not at all. Raises ToolError."""
    write_whole(path, render(document).encode("utf-8"))
