"""The agent's core as a library for this machine."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from host_agent import HostAgent, build

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
