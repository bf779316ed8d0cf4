"""Numbers with their nouns."""

from __future__ import annotations


def plural(count: int, one: str, many: str = "") -> str:
    """``1 kernel``, ``80 kernels``, ``16,000 examples``; ``many``: a plural that is not made with s."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"
