"""A guest address for people."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Location:
    """An address with its nearest symbol and source line, as far as known."""

    address: int
    symbol: str = ""
    offset: int = 0
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        text = f"{self.address:#010x}"
        if self.symbol:
            text += f" {self.symbol}+{self.offset:#x}"
        if self.file:
            text += f" ({self.file}:{self.line})"
        return text
