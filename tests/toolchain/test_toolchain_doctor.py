"""What the doctor reports on a healthy machine and on one where things are missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from emu.toolchain import Toolchain, doctor
from emu.toolchain.__main__ import main


def by_name(results: list[doctor.Check]) -> dict[str, doctor.Check]:
    return {result.name: result for result in results}


def test_healthy(toolchain: Toolchain) -> None:
    results = by_name(doctor.checks())
    assert results["xtensa compiler"].ok
    assert str(toolchain.gcc) in results["xtensa compiler"].found
    assert not results["patchelf"].needed
    assert "MISSING" not in doctor.report()


def test_everything_missing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file, not a folder")
    monkeypatch.setenv("EMU_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("CC", "")
    for name in ("EMU_GCC", "IDF_TOOLS_PATH"):
        monkeypatch.delenv(name, raising=False)
    results = by_name(doctor.checks())
    for name, mend in (
        ("xtensa compiler", "emu toolchain install"),
        ("host C compiler", "apt-get install gcc"),
        ("core description", "apt-get install gcc"),
        ("cache folder", "export EMU_CACHE_DIR="),
    ):
        assert not results[name].ok
        assert mend in results[name].mend
    report = doctor.report(list(results.values()))
    assert "MISSING xtensa compiler" in report
    assert "to mend: emu toolchain install" in report


def test_show_and_env(toolchain: Toolchain, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert f"GCC {toolchain.version}" in capsys.readouterr().out
    assert main(["env"]) == 0
    assert f"export EMU_GCC_PREFIX={toolchain.prefix}\n" in capsys.readouterr().out


@pytest.mark.parametrize("words", [["frobnicate"], ["show", "more"]])
def test_wrong_use(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert "use: python -m emu.toolchain" in capsys.readouterr().err
