"""Comparing what a page shows with what its command printed.

Both texts are compared whole. ``...`` in a page stands for anything that was left out. Runs of spaces are one
space. What differs from run to run is masked by the rules below, and by no others.
"""

from __future__ import annotations

import re

# (what is masked, expression, what stands in its place)
RULES = (
    ("times with a unit", r"\b\d+(\.\d+)? (ms|s|min)\b", "TIME"),
    ("the column of seconds before a verdict", r"\b\d+\.\d+ (?=(equal|mismatch|board fault)\b)", "TIME "),
    ("speeds", r"\b[\d,.]+ [kM]?B/s", "SPEED"),
    ("moments", r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d)?(\.\d+)?(Z|\+00:00)?", "MOMENT"),
    ("a job's number and process", r"^\[\d+\] \d+$", "[JOB]"),
)


def masked(text: str) -> str:
    """The text without what varies, one space between words, no empty lines at its ends."""
    lines = [" ".join(line.split()) for line in text.strip().splitlines()]
    joined = "\n".join(lines)
    for _, expression, place in RULES:
        joined = re.sub(expression, place, joined, flags=re.MULTILINE)
    return joined


def agrees(shown: str, printed: str) -> bool:
    """Whether the command printed what the page shows."""
    pieces = [re.escape(piece.strip()) for piece in masked(shown).split("...")]
    return re.fullmatch(r"\s*" + r".*".join(pieces) + r"\s*", masked(printed), re.DOTALL) is not None
