"""Refusals of image files."""

from __future__ import annotations


class ImageError(Exception):
    """The file cannot be used; the text says what is wrong, where, and what to do."""


class SymbolError(ImageError):
    """A symbol is missing, ambiguous, or not what is needed."""
