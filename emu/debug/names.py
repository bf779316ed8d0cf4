"""Addresses and values as text."""

from __future__ import annotations

import numpy as np

from emu.image import Image


def symbol_text(image: Image, address: int) -> str:
    """``symbol+0x12``, ``symbol``, or "" when no symbol of the same segment is near."""
    symbol = image.symbols.at(address)
    if symbol is None or image.segment_at(symbol.address) is not image.segment_at(address):
        return ""
    offset = address - symbol.address
    return f"{symbol.name}+{offset:#x}" if offset else symbol.name


def target_text(image: Image, address: int) -> str:
    """As objdump writes branch targets: ``403781a0 <symbol+0x12>``."""
    name = symbol_text(image, address)
    return f"{address:x} <{name}>" if name else f"{address:#x}"


def value_text(value: int, bits: int) -> str:
    """Hex with all digits of the width; groups of 32 bits when there are several words."""
    if bits <= 4:
        return f"{value:x}"
    text = f"{value:0{-(-bits // 4)}x}"
    if bits <= 64:
        return text
    first = len(text) % 8
    groups = [text[:first]] if first else []
    return "_".join(groups + [text[i : i + 8] for i in range(first, len(text), 8)])


def float_text(bits: int) -> str:
    """The float32 with these bits, in the fewest digits that name it."""
    return str(np.uint32(bits).view(np.float32))
