"""What a report page shows, without any knowledge of where it came from or how it is drawn."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

Tone = Literal["good", "bad", "warn", "dim"]
"""How a verdict is coloured; its word is always there too."""


@dataclass(frozen=True)
class Picture:
    """An embedded picture. ``uri``: a data URI; ``text``: what it shows, for those who cannot see it."""

    uri: str
    width: int
    height: int
    text: str
    title: str = ""


@dataclass(frozen=True)
class Stage:
    """One stage of a strip. ``state``: equal, differs, missing (on one side) or not compared."""

    name: str
    state: Literal["equal", "differs", "missing", "not compared"]


@dataclass(frozen=True)
class Strip:
    """A run of a model as a row of stages; ``told``: the same in words."""

    title: str
    told: str
    tone: Tone
    stages: tuple[Stage, ...]


@dataclass(frozen=True)
class Row:
    """One line of a table; ``tone`` belongs to the verdict, its last cell."""

    cells: tuple[str, ...]
    tone: Tone
    anchor: str = ""


@dataclass(frozen=True)
class Grid:
    """A table of texts; the first ``texts`` columns are words, the others are numbers."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    texts: int = 1


@dataclass(frozen=True)
class Tensor:
    """An output that differs: both sides, where they differ, by how much."""

    title: str
    told: str
    expected: Picture | None
    actual: Picture | None
    difference: Picture | None
    histogram: str
    """SVG; empty where nothing can be counted."""
    elements: Grid


@dataclass(frozen=True)
class CodeLine:
    """A line of a listing; ``marked``: the instruction that went wrong."""

    text: str
    marked: bool = False
    is_source: bool = False


@dataclass(frozen=True)
class Failure:
    """One fault. ``facts``: (label, text) pairs in order; ``replay``: commands that show it again."""

    anchor: str
    title: str
    tone: Tone
    facts: tuple[tuple[str, str], ...]
    tensors: tuple[Tensor, ...] = ()
    code_title: str = ""
    code: tuple[CodeLine, ...] = ()
    replay: tuple[str, ...] = ()


@dataclass(frozen=True)
class Gallery:
    """Pictures of one run side by side."""

    title: str
    pictures: tuple[Picture, ...]


@dataclass
class Document:
    """A whole page. ``verdict`` comes first; ``facts``: image, seed, versions, times."""

    verdict: str
    tone: Tone
    headline: str
    facts: list[tuple[str, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    table: Grid | None = None
    strips: list[Strip] = field(default_factory=list)
    failures: Sequence[Failure] = ()
    galleries: list[Gallery] = field(default_factory=list)
