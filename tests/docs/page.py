"""Code blocks of a Markdown page, with the marks that stand before them.

A mark is an HTML comment, invisible to readers, right before the block:

=====================  ==========================================================================
``not run: REASON``    the block is not run
``long: REASON``       it is run with ``--long`` only
``file: NAME``         the block is written to this file instead of being run
``first: LINES``       lines that are run before the block (of a file: shell commands)
``then: LINES``        lines that are run after it
``instead: A => B``    B stands where the block says A, and the other way round in what is printed
``exit: CODE``         what each command of the block exits with
``output: NAME``       an output that tools/readme.py writes and checks
=====================  ==========================================================================

``folder``, ``first`` and ``instead`` that stand before no block are the page's: ``folder: a clone`` runs it
in a copy of the checkout, ``first`` comes before its first block, ``instead`` counts for all of its blocks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from markdown_it import MarkdownIt

ROOT = Path(__file__).resolve().parents[2]
SHELL = ("bash", "sh", "console")
DATA = ("json", "toml", "yaml")
PLAIN = ("text",)
_FOR_BLOCKS = ("not run", "long", "file", "first", "then", "instead", "exit", "output")
_FOR_PAGES = ("folder", "first", "instead")
_COMMENT = re.compile(r"<!--(.*?)-->", re.DOTALL)
_MARK = re.compile(rf"\s*({'|'.join((*_FOR_BLOCKS, 'folder'))}):\s*(.*?)\s*", re.DOTALL)


class PageError(Exception):
    """A block or a mark that cannot be understood; the text says where and what to do."""


@dataclass
class Marks:
    """Marks by name, in the order in which they were written."""

    values: dict[str, list[str]] = field(default_factory=dict)

    def add(self, name: str, value: str) -> None:
        """One more mark."""
        self.values.setdefault(name, []).append(value)

    def text(self, name: str) -> str:
        """All values of a mark, as lines; nothing without one."""
        return "".join(f"{value}\n" for value in self.values.get(name, ()))

    def one(self, name: str) -> str | None:
        """The only value of a mark, or None."""
        values = self.values.get(name, [])
        if len(values) > 1:
            raise PageError(f"the mark `{name}` stands {len(values)} times before one block")
        return values[0] if values else None

    def exchanges(self) -> list[tuple[str, str]]:
        """What stands for what while the block is run."""
        pairs = [value.partition("=>") for value in self.values.get("instead", ())]
        if not all(shown.strip() and arrow for shown, arrow, _ in pairs):
            raise PageError("`instead` is written `instead: WHAT IS SHOWN => WHAT IS RUN`")
        return [(shown.strip(), run.strip()) for shown, _, run in pairs]


@dataclass(frozen=True)
class Block:
    """A block of code: where it starts, its language, its text, its marks."""

    page: Path
    line: int
    language: str
    text: str
    marks: Marks

    @property
    def where(self) -> str:
        """For messages: the page and the line of the opening fence."""
        return f"{name_of(self.page)}:{self.line}"

    @property
    def left_out(self) -> str | None:
        """Why the block is never run, or None."""
        return self.marks.one("not run")


@dataclass(frozen=True)
class Page:
    """A page: its blocks in order and the marks that count for all of them."""

    path: Path
    blocks: tuple[Block, ...]
    marks: Marks


def name_of(path: Path) -> str:
    """The path within the checkout."""
    return str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else path.name


def all_pages() -> list[Path]:
    """Every page that shows commands: README, CONTRIBUTING, docs, examples, firmware."""
    listed = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    for folder in ("docs", "examples", "firmware"):
        listed += sorted((ROOT / folder).rglob("*.md"))
    return listed


def read_page(path: Path) -> Page:
    """Parse a page. Raises PageError where a block has no language, or a mark stands nowhere."""
    tokens = [t for t in MarkdownIt("commonmark").parse(path.read_text()) if not t.type.endswith("_close")]
    blocks: list[Block] = []
    marks, of_page = Marks(), Marks()
    for token in tokens:
        if token.type == "html_block":
            _read_marks(token.content, marks)
            continue
        if token.type in ("fence", "code_block"):
            block = Block(path, (token.map or [0])[0] + 1, token.info.strip(), token.content, marks)
            _check(block)
            blocks.append(block)
        else:
            _to_page(path, marks, of_page)
        marks = Marks()
    _to_page(path, marks, of_page)
    return Page(path, tuple(blocks), of_page)


def _read_marks(html: str, marks: Marks) -> None:
    for comment in _COMMENT.findall(html):
        if found := _MARK.fullmatch(comment):
            marks.add(found[1], found[2])


def _to_page(path: Path, marks: Marks, of_page: Marks) -> None:
    for name, values in marks.values.items():
        if name not in _FOR_PAGES:
            raise PageError(f"{name_of(path)}: the mark `{name}: {values[0]}` stands before no block")
        for value in values:
            of_page.add(name, value)


def _check(block: Block) -> None:
    """A block is run, written to a file, or says why not."""
    marks = block.marks
    if marks.one("output") is not None:
        return
    for reason in ("not run", "long"):
        if marks.one(reason) is not None and len(marks.one(reason) or "") < 10:
            raise PageError(f"{block.where}: the mark `{reason}` gives no reason")
    if block.left_out:
        return
    if not block.language:
        raise PageError(
            f"{block.where}: the block names no language; write ```bash, ```console, ```python ... "
            "behind its fence, or <!-- not run: REASON --> before it"
        )
    if block.language in (*SHELL, *DATA, "python"):
        return
    if marks.one("file") is None:
        raise PageError(
            f"{block.where}: nothing runs a block of `{block.language}`; give it <!-- file: NAME --> "
            "and commands that use the file, or <!-- not run: REASON -->"
        )
