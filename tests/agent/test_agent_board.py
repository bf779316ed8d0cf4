"""The agent's image on the virtual board, by every transport: equal verdicts, faults with their place."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import pytest
from agent_on_board import PATIENT

from emu.board.board import Board as VirtualBoard
from emu.board.rfc2217 import Rfc2217Server
from emu.board.transport import PtyServer, TcpServer
from emu.image import load_image
from emu.kernels.spec import REGISTRY
from emu.link.board import Board
from emu.link.errors import BoardFault
from emu.link.probes import PROBES, SYMBOL, State
from emu.link.requests import Place, Word
from emu.link.selftest import EngineBoard, RealBoard
from emu.models.modelfile.kinds import Kind
from emu.models.modelfile.random_weights import random_model
from emu.models.modelfile.reader import ModelFile
from emu.models.stages import Digests
from emu.models.ternary.mirror import TernaryMirror
from emu.verify.board_models import BoardTernary
from emu.verify.board_target import BoardTarget
from emu.verify.check import check
from emu.verify.reference import agent_elf
from emu.verify.selection import known_kernels
from emu.verify.strategies import cases
from emu.verify.target import MirrorTarget
from emu.verify.verdict import Verdict

SERVERS = {"socket": TcpServer, "pty": PtyServer, "rfc2217": Rfc2217Server}
KERNELS = ("dot_rows_s8", "softmax_s8", "exp_array")


@pytest.fixture(params=list(SERVERS))
def url(virtual: VirtualBoard, request: pytest.FixtureRequest) -> Iterator[str]:
    server = SERVERS[request.param](virtual)
    server.start()
    yield server.url
    server.stop()


def test_kernels_through_every_transport(url: str) -> None:
    known_kernels(None)
    target, mirror = BoardTarget(Board(url, timing=PATIENT)), MirrorTarget()
    try:
        for symbol in KERNELS:
            for _, case in islice(cases(REGISTRY[symbol], 1, 0, 8), 4):
                outcome = check(REGISTRY[symbol], case, mirror, target)
                assert outcome.verdict is Verdict.EQUAL, symbol
                assert outcome.instructions
    finally:
        target.close()


def test_an_endless_call_is_a_board_fault_with_its_place(board: Board) -> None:
    def work(client) -> None:
        client.buffer(0, 0, 0, 65536)
        places = [Place(0, 0), Place(0, 16)]
        client.call(client.kernels["normal_array"], [*places, Word(8000)], limit=5000)

    with pytest.raises(
        BoardFault, match=r"endless call in normal_array: stopped at 0x[0-9a-f]+ .*\.[ch]:"
    ) as caught:
        board.attempt(work)
    assert caught.value.kind == "endless"
    assert board.attempt(lambda client: client.hello.reason) == 3


def test_an_exception_is_a_board_fault_and_the_agent_goes_on(board: Board) -> None:
    number = next(i for i, p in enumerate(PROBES) if p.group == "cpenable")

    def work(client) -> None:
        client.buffer(0, 0, 0, 4096)
        client.write(0, 0, State(cpenable=0).pack())
        places = [Place(0, 0), Place(0, 288)]
        client.call(client.kernels[SYMBOL], [Word(number), *places])

    with pytest.raises(BoardFault, match=r"exception 3[25] in selftest_probe at 0x"):
        board.attempt(work)
    assert any("Guru Meditation Error" in line for line in board.tally.log) or board.tally.counts["text"] > 5
    assert board.attempt(lambda client: len(client.kernels)) >= 81


def test_probes_agree_with_the_stepper(board: Board) -> None:
    """One input of every tenth probe; `emu selftest` does all of them."""
    real, engine = RealBoard(board), EngineBoard(load_image(agent_elf()), {})
    state = State(q=bytes(range(128)), qacc=bytes(range(40)), accx=0x80FF123456, sar=5, a=(16, 3, 2, 1))
    for number in range(0, len(PROBES), 10):
        assert real.run(number, state) == engine.run(number, state), PROBES[number].name


def test_the_ternary_model_with_psram(board: Board) -> None:
    file = ModelFile(random_model(Kind.TERNARY, 1), "ternary")
    target, expected = BoardTernary(file, board), Digests()
    logits = TernaryMirror(file).run(b"7+35", expected)
    assert target.run(b"7+35").tobytes() == logits.tobytes()
    assert target.outcome.digests == expected.values
    assert target.outcome.instructions > 1_000_000
