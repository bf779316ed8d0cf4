"""The agent's core as a library for this machine, and its image on a virtual board."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from agent_on_board import PATIENT
from host_agent import HostAgent, build

from emu.board.board import Board as VirtualBoard
from emu.board.settings import Settings
from emu.board.transport import TcpServer
from emu.image import load_image
from emu.link.board import Board
from emu.verify.reference import agent_elf

Make = Callable[..., HostAgent]


@pytest.fixture(scope="session")
def agent_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(Path(tmp_path_factory.mktemp("agent")) / "agent.so")


@pytest.fixture
def make_agent(agent_library: Path, tmp_path: Path) -> Make:
    """Makes agents, each with a copy of the library: one library holds one agent."""
    made: list[Path] = []

    def make(**options: object) -> HostAgent:
        made.append(Path(shutil.copy(agent_library, tmp_path / f"agent{len(made)}.so")))
        return HostAgent(made[-1], **options)  # type: ignore[arg-type]

    return make


@pytest.fixture(scope="module")
def virtual() -> Iterator[VirtualBoard]:
    board = VirtualBoard(Settings(elf=agent_elf()))
    board.start()
    yield board
    board.stop()


@pytest.fixture
def board(virtual: VirtualBoard) -> Iterator[Board]:
    """The host's side of a session with it."""
    server = TcpServer(virtual)
    server.start()
    made = Board(server.url, load_image(agent_elf()), PATIENT)
    yield made
    made.close()
    server.stop()
