"""The reference image in golden/firmware/, and the script that records and checks it."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from emu.toolchain import Toolchain

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "golden" / "firmware"


def check(folder: Path) -> tuple[int, str]:
    command = [sys.executable, ROOT / "tools" / "build_firmware.py", "--check", "--out", folder]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return Path(shutil.copytree(GOLDEN, tmp_path / "golden"))


def edit_manifest(folder: Path, **changes: object) -> None:
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_reference_is_what_the_sources_give(toolchain: Toolchain) -> None:
    """With another compiler than the recorded one there is nothing to compare: an answer of its own."""
    code, text = check(GOLDEN)
    assert (code, text.split(":")[0]) in {(0, "equal"), (6, "not comparable")}, text


def test_other_compiler_is_not_comparable(toolchain: Toolchain, copied: Path) -> None:
    edit_manifest(copied, compiler={"name": "xtensa-esp-elf-gcc", "gcc": "99.1.0", "binutils": "9.99"})
    code, text = check(copied)
    assert code == 6
    assert "recorded xtensa-esp-elf-gcc 99.1.0" in text
    assert f"found {toolchain.gcc.name} {toolchain.version}" in text


def test_flipped_bit_is_found(copied: Path) -> None:
    elf = copied / "esp32s3-bare.elf"
    content = bytearray(elf.read_bytes())
    content[0x2400] ^= 1
    elf.write_bytes(content)
    code, text = check(copied)
    assert code == 1
    assert "is not the file" in text


def test_changed_source_is_found(copied: Path) -> None:
    edit_manifest(copied, source_sha256="0" * 64)
    code, text = check(copied)
    assert code == 1
    assert "firmware/ has changed" in text
    assert "to mend:" in text


@pytest.mark.parametrize("damage", ["", "{}", "[1]", "not json"])
def test_unreadable_manifest_is_one_clear_message(copied: Path, damage: str) -> None:
    (copied / "manifest.json").write_text(damage)
    code, text = check(copied)
    assert code == 5
    assert "manifest.json" in text
    assert "Traceback" not in text


def test_missing_folder_is_one_clear_message(tmp_path: Path) -> None:
    code, text = check(tmp_path / "nowhere")
    assert code == 5
    assert "Traceback" not in text
