"""What tests of the translator share: a stepper and a translator side by side, with an empty cache."""

from __future__ import annotations

from pathlib import Path

import pytest

from emu.cpu.translator.library import Library
from tests.translator.compare import Pair


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    """Both tiers on the same memory; nothing is translated yet."""
    made = Pair()
    made.translator._library = Library(tmp_path)
    return made
