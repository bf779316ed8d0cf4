"""What can be wrong with the input of the debugging tools."""

from __future__ import annotations


class DebugInputError(Exception):
    """A wrong argument, address or request; the text says what is wrong and what would be right."""
