"""Flame graphs as self-contained SVG: width is instructions, a function stands on the one that calls it."""

from __future__ import annotations

from html import escape
from zlib import crc32

from emu.profile.tracer import Node

WIDTH, ROW, MARGIN = 1200, 18, 10
SMALLEST = 0.4
"""Narrower boxes, in pixels, are left out."""
LETTER = 6.6


def depth_of(node: Node) -> int:
    """Levels of calls, this one included."""
    return 1 + max((depth_of(child) for child in node.children.values()), default=0)


def svg(root: Node, title: str) -> str:
    """The picture. Every box tells its function, instructions and share when the pointer rests on it."""
    total = max(root.total, 1)
    height = (depth_of(root) + 1) * ROW + 3 * MARGIN
    boxes = "\n".join(_boxes(root, MARGIN, height - MARGIN - ROW, (WIDTH - 2 * MARGIN) / total, total))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}"'
        f' width="100%" font-family="monospace" font-size="11">\n'
        f'<text x="{WIDTH / 2}" y="{MARGIN + 8}" text-anchor="middle">{escape(title)}</text>\n'
        f"{boxes}\n</svg>\n"
    )


def _boxes(node: Node, x: float, y: float, scale: float, total: int) -> list[str]:
    width = node.total * scale
    if width < SMALLEST:
        return []
    found = [_box(node, x, y, width, total)]
    for child in sorted(node.children.values(), key=lambda c: (-c.total, c.name)):
        found += _boxes(child, x, y - ROW, scale, total)
        x += child.total * scale
    return found


def _box(node: Node, x: float, y: float, width: float, total: int) -> str:
    name, count = escape(node.name), node.total
    tip = f"{name}: {count:,} instructions ({count / total:.2%}), own {node.own:,}, {node.calls:,} calls"
    shown = name[: int((width - 4) / LETTER)] if width > 4 * LETTER else ""
    text = f'<text x="{x + 3:.1f}" y="{y + 13:.1f}">{shown}</text>' if shown else ""
    return (
        f'<g><title>{tip}</title><rect x="{x:.1f}" y="{y:.1f}" width="{width:.1f}" height="{ROW - 1}" '
        f'rx="2" fill="{_color(node.name)}"/>{text}</g>'
    )


def _color(name: str) -> str:
    """A warm color that belongs to the name."""
    number = crc32(name.encode())
    return f"hsl({number % 55}, {60 + number // 64 % 30}%, {58 + number // 4096 % 14}%)"
