"""The three kinds of model file and their tensors."""

from __future__ import annotations

from enum import IntEnum

from emu.models.modelfile.tensors import Layout

DEFAULT_OUTPUTS = 511
"""Outputs of a ternary model for sums of two 8-bit integers: 0 to 510."""
MAX_OUTPUTS = 4096


class Kind(IntEnum):
    """Numbers of the kinds in the header."""

    T2I = 1
    TERNARY = 2
    TINYLM = 3

    @classmethod
    def of(cls, name: str) -> Kind:
        """The kind called t2i, ternary or tinylm."""
        return cls[name.upper()]

    @property
    def label(self) -> str:
        """The name that people type."""
        return self.name.lower()


def layout_of(kind: Kind, variable: int | None = None) -> Layout:
    """All tensors of a kind in file order.

    ``variable``: the one size that a file chooses, outputs of a ternary model or bytes of the vocabulary of
    tinylm; None takes that of random weights.
    """
    if kind is Kind.T2I:
        from emu.models.t2i.layout import t2i_layout

        return t2i_layout()
    if kind is Kind.TERNARY:
        from emu.models.ternary.layout import ternary_layout

        return ternary_layout(DEFAULT_OUTPUTS if variable is None else variable)
    from emu.models.tinylm.layout import RANDOM_TEXT_BYTES, tinylm_layout

    return tinylm_layout(RANDOM_TEXT_BYTES if variable is None else variable)
