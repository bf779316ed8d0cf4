"""Cells: the pieces of processor state that a unit keeps in LLVM registers.

A cell is an alloca, which LLVM's SROA turns into SSA values; it mirrors one field of
:class:`~emu.cpu.state.CpuState`. Its type is chosen so that the usual operations need no conversion:
vectors for q registers and the lanes of QACC, float for f registers.
"""

from __future__ import annotations

from dataclasses import dataclass

from emu.cpu.state import OFFSETS, STATES
from emu.cpu.translator.emitter import type_name

Key = tuple[str, int]
"""("ar", 3), ("qr", 0), ("fr", 1), ("mr", 2), ("br", 0), or (state name, 0)."""

BUDGET: Key = ("budget", 0)


@dataclass(frozen=True)
class Cell:
    """One cell. ``lane`` x ``count`` bits, or a float; ``offset``: of its field, for ar within its quad.

    ``field_bits``: width of the field in memory when it is wider than the cell, else 0.
    """

    key: Key
    lane: int
    count: int
    offset: int
    field_bits: int = 0
    is_float: bool = False

    @property
    def type(self) -> str:
        """LLVM type of the alloca."""
        return "float" if self.is_float else type_name(self.lane, self.count)

    @property
    def name(self) -> str:
        """LLVM name of the alloca."""
        return f"%c.{self.key[0]}{self.key[1] if self.key[0] in _FILES else ''}"

    @property
    def is_window(self) -> bool:
        """True for a0..a15, which lie at a place that depends on the window."""
        return self.key[0] == "ar"

    @property
    def width(self) -> int:
        """All bits."""
        return self.lane * self.count


_FILES = ("ar", "qr", "fr", "mr")


def make_cell(key: Key, qacc_lane: int) -> Cell:
    """The cell of a key; ``qacc_lane``: 20, 40 or 160, the lanes in which the unit uses QACC."""
    file, index = key
    if file == "ar":
        return Cell(key, 32, 1, 4 * (index & 3))
    if file == "qr":
        return Cell(key, 32, 4, OFFSETS["q"] + 16 * index)
    if file == "fr":
        return Cell(key, 32, 1, OFFSETS["f"] + 4 * index, is_float=True)
    if file == "mr":
        return Cell(key, 32, 1, OFFSETS["mr"] + 4 * index)
    if file == "br":
        return Cell(key, 16, 1, OFFSETS["br"], 32)
    if file == "budget":
        return Cell(key, 64, 1, OFFSETS["budget"])
    return _state_cell(key, qacc_lane)


def _state_cell(key: Key, qacc_lane: int) -> Cell:
    name = key[0]
    width, offset = STATES[name], OFFSETS[name]
    if width == 128:
        return Cell(key, 32, 4, offset)
    if width == 160:
        return Cell(key, qacc_lane, 160 // qacc_lane, offset, 160)
    field = 32 if width <= 32 else 64
    return Cell(key, width, 1, offset, 0 if field == width else field)


def qacc_lane_of(mnemonics: list[str]) -> int:
    """Lane width in which these instructions use QACC: 20 (bytes), 40 (halfwords), or 160 when none
    computes.
    """
    lanes = [20 if "8." in name else 40 for name in mnemonics if ".qacc" in name and _computes(name)]
    lanes += [20 if "8." in name else 40 for name in mnemonics if name.startswith("ee.ldqa.")]
    return max(set(lanes), key=lanes.count, default=160)


def _computes(name: str) -> bool:
    return name.startswith(("ee.vmulas", "ee.vsmulas", "ee.mov.", "ee.srcmb"))
