"""The generated core description: valid C, cached by content, and any damage to it is noticed."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from emu.isa.table import read_csv
from emu.toolchain import Toolchain, ToolchainError, plugin
from emu.toolchain.plugin import FILE_NAME, FLAGS, build_plugin, host_compiler
from emu.toolchain.plugin_source import plugin_source
from emu.toolchain.selftest import check


def build(source: str, folder: Path, *flags: str) -> Path:
    (folder / "core.c").write_text(source, encoding="utf-8")
    command = [*host_compiler(), *FLAGS, *flags, "-o", folder / "core.so", folder / "core.c"]
    subprocess.run(command, check=True)
    return folder / "core.so"


def with_plugin(toolchain: Toolchain, path: Path) -> Toolchain:
    return replace(toolchain, plugin=path, env={"XTENSA_GNU_CONFIG": str(path)})


@pytest.fixture
def retargeted(toolchain: Toolchain) -> Toolchain:
    """A toolchain that takes a core description (every one but ESP-IDF's single-chip compiler)."""
    if toolchain.plugin is None:
        pytest.skip("this toolchain has its core description built in")
    return toolchain


def test_source_is_clean_c(tmp_path: Path) -> None:
    build(plugin_source(), tmp_path, "-Wall", "-Wextra", "-Werror", "-Wno-error=unused-function")


def test_source_says_its_licence() -> None:
    head = plugin_source()[:1000]
    assert "GNU General Public License" in head
    assert "plugin_is_GPL_compatible" in head


def test_settings_are_complete_and_in_order() -> None:
    for version, count in (("v1", 54), ("v2", 3), ("v3", 4)):
        found = re.search(rf"int xtensa_config_{version}\[\] = {{ (.*) }};", plugin_source())
        assert found
        values = {line["plugin_field"]: line["value"] for line in read_csv("core-config.csv")}
        expected = [values[f"{version}.{place}"] for place in range(count)]
        assert found[1].split(", ") == expected


def test_built_once_per_content(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EMU_CACHE_DIR", str(tmp_path))
    first = build_plugin()
    built = first.stat().st_mtime_ns
    assert build_plugin() == first
    assert first.stat().st_mtime_ns == built
    monkeypatch.setattr(plugin, "FLAGS", (*FLAGS, "-g0"))
    assert build_plugin() != first
    monkeypatch.setattr(plugin, "plugin_source", lambda: plugin_source() + "/* changed */")
    build_plugin()
    assert len(list(tmp_path.glob("plugin/*/esp32s3.so"))) == 3


def test_a_damaged_file_in_the_cache_is_built_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("EMU_CACHE_DIR", str(tmp_path))
    built = build_plugin()
    whole = built.read_bytes()
    for damaged in (whole[: len(whole) // 2], b"", whole[:-1] + b"\x55"):
        built.write_bytes(damaged)
        assert build_plugin().read_bytes() == whole
    built.unlink()
    assert build_plugin().read_bytes() == whole
    assert [path.name for path in tmp_path.glob("plugin/*/*")].count(FILE_NAME) == 1


def test_good_plugin_passes(retargeted: Toolchain) -> None:
    check(retargeted)


def test_missing_file(retargeted: Toolchain, tmp_path: Path) -> None:
    with pytest.raises(ToolchainError):
        check(with_plugin(retargeted, tmp_path / "none.so"))


@pytest.mark.parametrize("share", [0, 10, 50, 80])
def test_truncated_file(retargeted: Toolchain, tmp_path: Path, share: int) -> None:
    assert retargeted.plugin
    whole = retargeted.plugin.read_bytes()
    (tmp_path / "cut.so").write_bytes(whole[: len(whole) * share // 100])
    with pytest.raises(ToolchainError):
        check(with_plugin(retargeted, tmp_path / "cut.so"))


@pytest.mark.parametrize(
    "symbol", ["plugin_is_GPL_compatible", "xtensa_config_v1", "xtensa_config_strings", "xtensa_modules"]
)
def test_missing_symbol(retargeted: Toolchain, tmp_path: Path, symbol: str) -> None:
    broken = build(re.sub(rf"\b{symbol}\b", "renamed", plugin_source()), tmp_path)
    with pytest.raises(ToolchainError):
        check(with_plugin(retargeted, broken))


def setting(place: int, value: int) -> str:
    """The plug-in's source with one integer of the first settings table changed."""
    head, values, tail = re.split(r"(?<=xtensa_config_v1\[\] = \{ )(.*)(?= \};)", plugin_source(), maxsplit=1)
    words = values.split(", ")
    words[place] = str(value)
    return head + ", ".join(words) + tail


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        pytest.param(51, 1, "no register windows", id="call0 ABI"),
        pytest.param(21, 0, "no FPU instructions", id="no FPU"),
    ],
)
def test_settings_of_another_core(
    retargeted: Toolchain, tmp_path: Path, place: int, value: int, message: str
) -> None:
    with pytest.raises(ToolchainError, match=message):
        check(with_plugin(retargeted, build(setting(place, value), tmp_path)))


def test_wrong_encoding_of_one_instruction(retargeted: Toolchain, tmp_path: Path) -> None:
    source = plugin_source()
    assert source.count("0x250804u") == 2
    broken = build(source.replace("0x250804u", "0x250814u"), tmp_path)
    with pytest.raises(ToolchainError, match="makes wrong bytes"):
        check(with_plugin(retargeted, broken))
