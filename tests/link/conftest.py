"""An agent on this machine for the tests of the host's side."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "agent"))

from host_agent import HostAgent, Server, build

Serve = Callable[[], Server]


@pytest.fixture(scope="session")
def agent_library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(Path(tmp_path_factory.mktemp("agent")) / "agent.so")


@pytest.fixture
def serve(agent_library: Path, tmp_path: Path) -> Iterator[Serve]:
    """Starts agents, each with a copy of the library: one library holds one agent."""
    servers: list[Server] = []

    def start() -> Server:
        copied = shutil.copy(agent_library, tmp_path / f"agent{len(servers)}.so")
        servers.append(Server(HostAgent(Path(copied), sram=4 << 20, psram=8 << 20)))
        return servers[-1]

    yield start
    for server in servers:
        server.close()
