"""The ROM's download mode (placeholder until the protocol is there)."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from emu.board.board import Board


class Loader:
    """Waits for commands."""

    name = "download"

    def __init__(self, board: Board) -> None:
        self._board = board

    def turn(self) -> None:
        """Nothing yet."""
        self._board.wait(1.0)
