"""Where packages come from and what is done on which system; apt itself is played by a script."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from emu.toolchain import ToolchainError, apt, install, unpacked
from emu.toolchain.apt import PrivateApt, debian_mirror, os_release

TWELVE = {"ID": "debian", "VERSION_ID": "12", "VERSION_CODENAME": "bookworm"}
THIRTEEN = {"ID": "debian", "VERSION_ID": "13", "VERSION_CODENAME": "trixie"}
UBUNTU = {"ID": "ubuntu", "VERSION_ID": "22.04", "PRETTY_NAME": "Ubuntu 22.04 LTS"}


@pytest.fixture
def fake_apt(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An apt-get that logs its words and answers from files; returns its folder."""
    folder = tmp_path / "fake"
    folder.mkdir()
    body = f"""#!/bin/sh
echo "$@" >> {folder}/log
case "$*" in
  indextargets*) cat {folder}/targets ;;
  *--print-uris*) cat {folder}/uris ;;
  *download-only*)
    for option; do
      case "$option" in -oDir::Cache=*) touch "${{option#*=}}/archives/x_1_all.deb" ;; esac
    done ;;
esac
exit $(cat {folder}/status)
"""
    for name, text in (("targets", ""), ("uris", ""), ("status", "0"), ("log", ""), ("apt-get", body)):
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "apt-get").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return folder


def on(monkeypatch: pytest.MonkeyPatch, system: dict[str, str], root: bool = True) -> None:
    for module in (apt, unpacked, install):
        monkeypatch.setattr(module, "os_release", lambda: system)
    monkeypatch.setattr(os, "geteuid", lambda: 0 if root else 1000)


def test_mirror_is_the_configured_one(fake_apt: Path) -> None:
    (fake_apt / "targets").write_text(
        "http://mirror.example/debian-security/ Debian Debian-Security\n"
        "http://other.example/tools/ Vendor Tools\n"
        "http://mirror.example/debian/ Debian Debian\n"
    )
    assert debian_mirror() == "http://mirror.example/debian/"


def test_mirror_before_the_first_update(fake_apt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on(monkeypatch, TWELVE)
    (fake_apt / "uris").write_text(
        "'http://mirror.example/debian-security/dists/bookworm-security/InRelease' a 0 \n"
        "'http://mirror.example/debian/dists/bookworm-updates/InRelease' b 0 \n"
        "'http://mirror.example/debian/dists/bookworm/InRelease' c 0 \n"
    )
    assert debian_mirror() == "http://mirror.example/debian/"


def test_no_mirror_is_said(fake_apt: Path) -> None:
    with pytest.raises(ToolchainError, match="names no Debian archive"):
        debian_mirror()


def test_no_apt_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolchainError, match="no apt-get"):
        debian_mirror()


def test_download_touches_only_its_own_folder(fake_apt: Path, tmp_path: Path) -> None:
    root = tmp_path / "private"
    got = PrivateApt(root, "http://mirror.example/debian/", "trixie").download(["gcc-xtensa-lx106"])
    assert [path.name for path in got] == ["x_1_all.deb"]
    for line in (fake_apt / "log").read_text().splitlines():
        for place in ("Dir::State::lists", "Dir::State::status", "Dir::Cache", "Dir::Etc::sourcelist"):
            assert f"-o{place}={root}" in line
        assert "-oDir::Etc::sourceparts=/dev/null" in line
        assert "AllowUnauthenticated=false" in line
    assert "trusted" not in (root / "sources.list").read_text()


def test_failed_download_shows_apts_words(fake_apt: Path, tmp_path: Path) -> None:
    (fake_apt / "status").write_text("100")
    with pytest.raises(ToolchainError, match=r"package list cannot be fetched: .*status 100"):
        PrivateApt(tmp_path / "p", "http://mirror.example/debian/", "trixie").download(["x"])


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        (TWELVE, "trixie"),
        (THIRTEEN, "trixie"),
        ({"ID": "debian", "VERSION_ID": "14", "VERSION_CODENAME": "forky"}, "forky"),
        ({"ID": "debian"}, "trixie"),
    ],
)
def test_suite(monkeypatch: pytest.MonkeyPatch, system: dict[str, str], expected: str) -> None:
    on(monkeypatch, system)
    assert unpacked.suite() == expected


@pytest.mark.parametrize("system", [UBUNTU, {}])
def test_other_systems_are_told_what_to_do(monkeypatch: pytest.MonkeyPatch, system: dict[str, str]) -> None:
    on(monkeypatch, system)
    with pytest.raises(ToolchainError, match="on Debian only; this is") as caught:
        unpacked.suite()
    assert "ESP-IDF" in caught.value.mend


@pytest.mark.parametrize(
    ("system", "root", "expected"),
    [
        (TWELVE, True, "unpack"),
        (TWELVE, False, "unpack"),
        (THIRTEEN, False, "unpack"),
        (THIRTEEN, True, "apt"),
    ],
)
def test_what_is_done_where(
    fake_apt: Path, monkeypatch: pytest.MonkeyPatch, system: dict[str, str], root: bool, expected: str
) -> None:
    on(monkeypatch, system, root)
    monkeypatch.setattr(install.shutil, "which", lambda name: None if "lx106" in name else f"/usr/bin/{name}")
    done: list[str] = []
    monkeypatch.setattr(install, "install_unpacked", lambda again: done.append("unpack"))
    monkeypatch.setattr(install, "unpacked_gcc", lambda: None)
    said: list[str] = []
    install.install_missing(said.append)
    if "install --yes --no-install-recommends gcc-xtensa-lx106" in (fake_apt / "log").read_text():
        done.append("apt")
    assert done == [expected]
    assert len(said) == 1


def test_missing_host_compiler_is_installed_only_as_root(
    fake_apt: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def none() -> list[str]:
        raise ToolchainError("no C compiler", "apt-get install gcc")

    monkeypatch.setattr(install, "host_compiler", none)
    monkeypatch.setattr(install, "install_unpacked", lambda again: None)
    on(monkeypatch, TWELVE, root=False)
    with pytest.raises(ToolchainError, match="no C compiler"):
        install.install_missing(lambda text: None)
    on(monkeypatch, TWELVE, root=True)
    said: list[str] = []
    install.install_missing(said.append)
    assert said[0] == "installing system packages: apt-get install gcc"
    assert "install --yes --no-install-recommends gcc\n" in (fake_apt / "log").read_text()


def test_os_release(tmp_path: Path) -> None:
    path = tmp_path / "os-release"
    path.write_text("ID=debian\nVERSION_ID=\"12\"\n# note\n\nPRETTY_NAME='Debian 12'\n")
    assert os_release(path) == {"ID": "debian", "VERSION_ID": "12", "PRETTY_NAME": "Debian 12"}
    assert os_release(tmp_path / "none") == {}


@pytest.mark.long
def test_real_unpacking(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The whole way, over the network, on the system at hand."""
    if os_release().get("ID") != "debian":
        pytest.skip("this is not Debian")
    monkeypatch.setenv("EMU_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("EMU_GCC", raising=False)
    from emu.toolchain.find import Candidate, open_toolchain

    gcc = unpacked.install_unpacked()
    assert open_toolchain(Candidate("debian-unpacked", gcc)).version.startswith("1")
    assert unpacked.unpacked_gcc() == gcc
    (gcc.parents[2] / unpacked.MANIFEST).write_text("{}")
    assert unpacked.unpacked_gcc() is None
    assert unpacked.install_unpacked() == gcc
