"""The models of a board against their mirrors: the runs of :mod:`emu.verify.models` with another target."""

from __future__ import annotations

from typing import Any, cast

from emu.cpu.options import EngineOptions
from emu.link.board import Board
from emu.models.modelfile.kinds import Kind
from emu.models.modelfile.reader import ModelFile
from emu.models.t2i.mirror import T2iMirror
from emu.models.ternary.mirror import TernaryMirror
from emu.models.tinylm.mirror import TinylmMirror
from emu.verify.board_models import BoardT2i, BoardTernary, BoardTinylm
from emu.verify.models import Pair, T2iPair, TernaryPair, TinylmPair


class BoardT2iPair(T2iPair):
    """Pictures on mirror and board."""

    def __init__(self, file: ModelFile, board: Board) -> None:
        Pair.__init__(self, file, cast(Any, None), EngineOptions())
        self._mirror, self._image = T2iMirror(file), cast(Any, BoardT2i(file, board))
        self._requests = {}


class BoardTernaryPair(TernaryPair):
    """Short texts on mirror and board."""

    def __init__(self, file: ModelFile, board: Board) -> None:
        Pair.__init__(self, file, cast(Any, None), EngineOptions())
        self._mirror, self._image = TernaryMirror(file), cast(Any, BoardTernary(file, board))
        self._texts = {}


class BoardTinylmPair(TinylmPair):
    """Sequences on mirror and board."""

    def __init__(self, file: ModelFile, board: Board) -> None:
        Pair.__init__(self, file, cast(Any, None), EngineOptions())
        self._mirror, self._image = TinylmMirror(file), cast(Any, BoardTinylm(file, board))
        self._tokens = {}


def make_board_pair(file: ModelFile, board: Board) -> Pair:
    """A model on mirror and board."""
    pairs: dict[Kind, Any] = {
        Kind.T2I: BoardT2iPair,
        Kind.TERNARY: BoardTernaryPair,
        Kind.TINYLM: BoardTinylmPair,
    }
    return cast(Pair, pairs[file.kind](file, board))
