"""The function of docs/your-kernels.md with a fault in it, and the draft of its spec."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from emu.toolchain import Toolchain

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "your-kernels.md").read_text()


def block(language: str) -> str:
    """The one code block of the page in ``language``."""
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mykernels.py").write_text(block("python"))
    return tmp_path


def build(toolchain: Toolchain, folder: Path, source: str) -> None:
    c, o = folder / "scale_add.c", folder / "scale_add.o"
    c.write_text(source)
    toolchain.compile(c, o, ["-O2", "-g", "-ffreestanding", "-mlongcalls"])
    script = folder / "app.ld"
    script.write_text(
        "ENTRY(scale_add) SECTIONS { .text 0x40378000 : { *(.literal .literal.*) *(.text .text.*) } "
        ".data 0x3FC98000 : { *(.rodata*) *(.data*) *(.bss*) } }"
    )
    toolchain.link([o], folder / "scale_add.elf", script, [])


def verify(folder: Path) -> subprocess.CompletedProcess[str]:
    (command,) = re.findall(r"^\$ emu (verify --elf scale_add.*)$", PAGE, re.MULTILINE)
    return subprocess.run(
        [sys.executable, "-m", "emu.cli", *command.split(), "--no-memory"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_a_wrong_clamp_is_a_mismatch(folder: Path, toolchain: Toolchain) -> None:
    build(toolchain, folder, block("c").replace("v < -128 ? -128", "v < -127 ? -127"))
    done = verify(folder)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "expected -128" in done.stdout


def test_the_first_draft_has_the_prototype(folder: Path, toolchain: Toolchain) -> None:
    build(toolchain, folder, block("c"))
    (line,) = re.findall(r"^emu (spec new .*)$", PAGE, re.MULTILINE)
    (folder / "mykernels.py").unlink()
    done = subprocess.run(
        [sys.executable, "-m", "emu.cli", *line.split()],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    text = (folder / "mykernels.py").read_text()
    names = re.findall(r"^    (\w+): \w+\(", text, re.MULTILINE)
    assert names == ["x", "stride", "rows", "cols", "mult", "y"]
    assert "NotImplementedError" in text
