"""Models over the wire, against their mirrors: the agent's core on this machine, digests first."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "agent"))

from host_agent import HostAgent, Server

from emu.link.board import Board
from emu.models.errors import NotFiniteError, PromptError
from emu.models.modelfile.extreme import extreme_model
from emu.models.modelfile.kinds import Kind
from emu.models.modelfile.random_weights import random_model
from emu.models.modelfile.reader import ModelFile
from emu.models.stages import Digests, Recorder
from emu.models.t2i.mirror import Request, T2iMirror
from emu.models.ternary.mirror import TernaryMirror
from emu.models.tinylm.mirror import TinylmMirror
from emu.verify.board_models import BoardT2i, BoardTernary, BoardTinylm

LIMIT = 65_536
"""Bytes on the wire that the check of a whole picture may take (issue 5)."""


def served(agent_library: Path, tmp_path: Path, model: bytes = bytes(64), psram: int = 4 << 20):
    copied = tmp_path / "one.so"
    copied.write_bytes(agent_library.read_bytes())
    return Server(HostAgent(copied, sram=296_640, psram=psram, model=model))


def test_a_picture_is_checked_within_64_kilobytes(agent_library: Path, tmp_path: Path) -> None:
    """All 692 stages by digest, the model in flash: every byte both ways, from HELLO to the picture."""
    data = random_model(Kind.T2I, 1)
    file = ModelFile(data, "t2i")
    server = served(agent_library, tmp_path, data)
    board = Board(server.url)
    request, expected = Request(np.array([3, 14, 15], np.int32), 7, 8), Digests()
    T2iMirror(file).run(request, expected)
    target = BoardT2i(file, board)
    target.run(request)
    assert target.outcome.digests == expected.values
    assert len(target.outcome.digests) == 692
    counts = board.tally.counts
    print(board.tally.summary())
    assert counts["sent"] + counts["received"] < LIMIT
    board.close()
    server.close()


def test_tensors_come_when_they_are_asked_for(agent_library: Path, tmp_path: Path) -> None:
    data = random_model(Kind.TERNARY, 2)
    file = ModelFile(data, "ternary")
    server = served(agent_library, tmp_path)
    board = Board(server.url)
    wanted, found = Recorder(("l1.qkv", "logits")), Recorder(("*",))
    expected = TernaryMirror(file).run(b"12+30", wanted)
    target = BoardTernary(file, board)
    got = target.run(b"12+30", found, lambda name: name in ("l1.qkv", "logits"))
    assert got.tobytes() == expected.tobytes()
    for name, tensor in wanted.stages.items():
        assert found.stages[name].tobytes() == tensor.tobytes()
    sent = board.tally.counts["sent"]
    target.run(b"1")
    assert board.tally.counts["sent"] - sent < 2000, "the model is in PSRAM already"
    server.reset()
    assert target.run(b"12+30").tobytes() == expected.tobytes()
    assert board.tally.counts["resets"] == 1
    board.close()
    server.close()


def test_a_sequence_survives_a_reset(agent_library: Path, tmp_path: Path) -> None:
    file = ModelFile(random_model(Kind.TINYLM, 3), "tinylm")
    server = served(agent_library, tmp_path)
    board = Board(server.url)
    mirror, target = TinylmMirror(file), BoardTinylm(file, board)
    mirror.start(5)
    target.start(5)
    for position, token in enumerate([1, 4000, 17, 255, 256]):
        if position == 3:
            server.reset()
        expected = Digests()
        logits = mirror.step(token, expected)
        assert target.step(token).tobytes() == logits.tobytes()
        assert {n: target.outcome.digests[n] for n in expected.values} == expected.values
        assert target.choose(logits) == mirror.choose(logits, 0.0)
    board.close()
    server.close()


def test_what_is_not_finite_is_told_with_its_stage(agent_library: Path, tmp_path: Path) -> None:
    file = ModelFile(extreme_model(Kind.TERNARY, 1), "extreme")
    server = served(agent_library, tmp_path)
    board = Board(server.url)
    outcomes = []
    for run in (TernaryMirror(file).run, BoardTernary(file, board).run):
        try:
            outcomes.append(run(b"1+1").tobytes())
        except NotFiniteError as error:
            outcomes.append((error.stage, error.row))
    assert outcomes[0] == outcomes[1]
    board.close()
    server.close()


def test_a_refused_request(agent_library: Path, tmp_path: Path) -> None:
    file = ModelFile(random_model(Kind.T2I, 1), "t2i")
    server = served(agent_library, tmp_path)
    board = Board(server.url)
    request = Request(np.zeros(0, np.int32), 1, 8)
    object.__setattr__(request, "steps", 65)  # past our own check: the board has one, too
    with pytest.raises(PromptError, match="status 1"):
        BoardT2i(file, board).run(request, digests=False)
    board.close()
    server.close()
