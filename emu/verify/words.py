"""Numbers as people read them, and their nouns."""

from __future__ import annotations


def plural(count: int, one: str, many: str = "") -> str:
    """``1 kernel``, ``80 kernels``, ``16,000 examples``; ``many``: a plural that is not made with s."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def number(value: float) -> str:
    """Three significant digits, no exponent."""
    if value == 0:
        return "0"
    digits = max(0, 2 - _magnitude(value))
    return f"{value:,.{digits}f}" if digits else f"{round(value, 2 - _magnitude(value)):,.0f}"


def _magnitude(value: float) -> int:
    return int(f"{abs(value):e}".partition("e")[2])
