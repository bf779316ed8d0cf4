"""README.md shows what its commands print: they are run again."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from emu.toolchain import Toolchain

ROOT = Path(__file__).resolve().parents[2]


def test_the_readme_shows_what_the_commands_print(toolchain: Toolchain) -> None:
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "readme.py", "--check"],
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
