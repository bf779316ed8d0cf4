"""Which compiler is chosen, and that a wrong one is refused with its reason."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from emu.toolchain import Toolchain, ToolchainError
from emu.toolchain.find import IDF_NAMES, candidates, search

TOOLS = ("as", "ld", "objcopy", "objdump")


def script(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def wrapper(toolchain: Toolchain, folder: Path, body: str, name: str = "xtensa-lx106-elf-gcc") -> Path:
    """A compiler driver that is a script (`$REAL` is the real one) beside the other tools, which are real."""
    path = script(folder / name, f"REAL={toolchain.gcc}\n{body}")
    for tool in TOOLS:
        script(folder / (name.removesuffix("gcc") + tool), f'exec {toolchain.tool(tool)} "$@"')
    return path


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without any xtensa compiler, and an empty cache."""
    for name in ("EMU_GCC", "IDF_TOOLS_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("EMU_CACHE_DIR", str(tmp_path / "cache"))
    clean = [place for place in os.environ["PATH"].split(":") if not any(Path(place).glob("xtensa-*-gcc"))]
    monkeypatch.setenv("PATH", ":".join(clean))
    return tmp_path


def test_nothing_found_says_how_to_mend(alone: Path) -> None:
    assert list(candidates()) == []
    with pytest.raises(ToolchainError, match="no compiler for the ESP32-S3 was found") as caught:
        search()
    assert caught.value.mend == "emu toolchain install"


def test_gcc_that_ignores_the_description(
    toolchain: Toolchain, alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What GCC 12 does: it accepts the variable, exits with 0, and makes code for the ESP8266."""
    gcc = wrapper(toolchain, alone, 'unset XTENSA_GNU_CONFIG; exec "$REAL" "$@"')
    monkeypatch.setenv("EMU_GCC", str(gcc))
    with pytest.raises(ToolchainError, match=r"ignores the ESP32-S3 core description: .*no register windows"):
        search()


def test_gcc_12_is_refused_by_its_version(
    toolchain: Toolchain, alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = '[ "$1" = -dumpfullversion ] && echo 12.2.0 && exit; exec "$REAL" "$@"'
    monkeypatch.setenv("EMU_GCC", str(wrapper(toolchain, alone, body)))
    with pytest.raises(ToolchainError, match=r"GCC 12\.2\.0 is too old"):
        search()


@pytest.mark.parametrize("body", ["exit 1", "echo; exit 0", "echo no version here"])
def test_a_driver_that_is_none(
    toolchain: Toolchain, alone: Path, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    monkeypatch.setenv("EMU_GCC", str(wrapper(toolchain, alone, body)))
    with pytest.raises(ToolchainError):
        search()


def test_a_named_compiler_that_does_not_exist(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMU_GCC", str(alone / "none" / "xtensa-lx106-elf-gcc"))
    with pytest.raises(ToolchainError, match="No such file") as caught:
        search()
    assert "EMU_GCC" in caught.value.mend


def test_a_working_compiler_on_path_is_taken(
    toolchain: Toolchain, alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if toolchain.kind == "esp-idf":
        pytest.skip("needs the re-targeted compiler")
    gcc = wrapper(toolchain, alone / "bin", 'exec "$REAL" "$@"')
    monkeypatch.setenv("PATH", f"{gcc.parent}:{os.environ['PATH']}")
    found = search()
    assert (found.kind, found.gcc) == ("debian", gcc)


def test_a_refused_compiler_does_not_hide_a_good_one(
    toolchain: Toolchain, alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if toolchain.kind == "esp-idf":
        pytest.skip("needs the re-targeted compiler")
    old = wrapper(toolchain, alone / "old", "exit 3", "xtensa-esp32s3-elf-gcc")
    good = wrapper(toolchain, alone / "bin", 'exec "$REAL" "$@"')
    monkeypatch.setenv("PATH", f"{old.parent}:{good.parent}:{os.environ['PATH']}")
    assert search().gcc == good


def test_esp_idf_comes_first_and_its_newest_release(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = alone / "tools-folder"
    monkeypatch.setenv("IDF_TOOLS_PATH", str(folder))
    for release in ("esp-9.2.0_20220101", "esp-14.2.0_20241119", "esp-13.2.0_20240530"):
        script(folder / f"tools/xtensa-esp-elf/{release}/xtensa-esp-elf/bin/{IDF_NAMES[0]}", "exit 1")
    on_path = script(alone / "bin/xtensa-lx106-elf-gcc", "exit 1")
    monkeypatch.setenv("PATH", f"{on_path.parent}:{os.environ['PATH']}")
    found = list(candidates())
    assert [candidate.kind for candidate in found] == ["esp-idf"] * 3 + ["debian"]
    assert [candidate.gcc.parents[2].name.split("_")[0] for candidate in found[:3]] == [
        "esp-14.2.0",
        "esp-13.2.0",
        "esp-9.2.0",
    ]


def test_unified_esp_compiler_gets_the_description_beside_it(
    toolchain: Toolchain, alone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ESP-IDF's driver for all chips needs the variable too; its own description lies in its lib folder."""
    if toolchain.plugin is None:
        pytest.skip("this toolchain has its core description built in")
    gcc = wrapper(toolchain, alone / "idf/bin", 'exec "$REAL" "$@"', IDF_NAMES[1])
    own = alone / "idf/lib/xtensa_esp32s3.so"
    own.parent.mkdir()
    own.write_bytes(toolchain.plugin.read_bytes())
    monkeypatch.setenv("EMU_GCC", str(gcc))
    found = search()
    assert (found.kind, found.plugin) == ("esp-idf", own)
    own.unlink()
    assert search().plugin != own
