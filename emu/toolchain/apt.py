"""Debian packages of a newer release, downloaded with apt's own checks but away from the system's state.

The mirror is the one that the system's apt is configured for. Signatures are checked by apt against the
system's keyring; neither the package database nor the list of sources is touched, so no root is needed.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from emu.toolchain.errors import ToolchainError
from emu.toolchain.process import run

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
OS_RELEASE = Path("/etc/os-release")
SECURE = (
    "-oAPT::Get::AllowUnauthenticated=false",
    "-oAcquire::AllowInsecureRepositories=false",
    "-oAcquire::AllowDowngradeToInsecureRepositories=false",
)


def os_release(path: Path = OS_RELEASE) -> dict[str, str]:
    """The key=value pairs of os-release (empty where there is no such file)."""
    if not path.is_file():
        return {}
    pairs = (line.split("=", 1) for line in path.read_text(encoding="utf-8").splitlines() if "=" in line)
    return {key: value.strip("\"'") for key, value in pairs}


def debian_mirror() -> str:
    """Base address of the Debian archive in the system's apt configuration.

    Raises:
        ToolchainError: apt is missing or names no Debian archive.
    """
    if not shutil.which("apt-get"):
        raise ToolchainError("this system has no apt-get")
    listed = run(
        ["apt-get", "indextargets", "--format", "$(REPO_URI) $(ORIGIN) $(LABEL)", "Identifier: Packages"]
    )
    for line in listed.splitlines():
        address, *rest = line.split()
        if rest == ["Debian", "Debian"]:
            return address
    return _mirror_before_first_update()


def _mirror_before_first_update() -> str:
    """The same for a system whose package lists were never fetched: the address that `update` would use."""
    codename = os_release().get("VERSION_CODENAME", "stable")
    listed = run(["apt-get", "update", "--print-uris"], what="apt cannot read its list of sources")
    for line in listed.splitlines():
        address = line.split("'")[1] if line.startswith("'") else ""
        base, _, rest = address.partition("dists/")
        if rest.startswith((f"{codename}/", "stable/")) and "security" not in base:
            return base
    raise ToolchainError("apt's configuration names no Debian archive")


class PrivateApt:
    """An apt of its own below `root`: one source, its own lists, cache and (empty) status."""

    def __init__(self, root: Path, mirror: str, suite: str) -> None:
        self.root = root
        for folder in ("lists/partial", "cache/archives/partial"):
            (root / folder).mkdir(parents=True)
        (root / "status").touch()
        signed = f"[signed-by={KEYRING}] " if KEYRING.is_file() else ""
        (root / "sources.list").write_text(f"deb {signed}{mirror} {suite} main\n", encoding="utf-8")

    def download(self, packages: Sequence[str]) -> list[Path]:
        """Fetch `packages` and all they depend on; returns the .deb files.

        Raises:
            ToolchainError: no network, a bad signature, or no such package for this architecture.
        """
        self._apt("update", "the newer release's package list cannot be fetched")
        install = ["--yes", "--no-install-recommends", "--download-only", "install", *packages]
        self._apt(install, "the compiler's packages cannot be fetched")
        return sorted((self.root / "cache/archives").glob("*.deb"))

    def source(self, package: str) -> Path:
        """Fetch the authors' source archive of `package`, without Debian's changes.

        Raises:
            ToolchainError: no network, a bad signature, or no such package.
        """
        listed = self.root / "sources.list"
        listed.write_text(listed.read_text(encoding="utf-8").replace("deb ", "deb-src ", 1), encoding="utf-8")
        self._apt("update", "the list of source packages cannot be fetched")
        folder = self.root / "source"
        folder.mkdir()
        fetch = ["apt-get", *self._options(), "--download-only", "--tar-only", "source", package]
        run(["env", "-C", folder, *fetch], what=f"the source of {package} cannot be fetched")
        return next(folder.glob("*.orig.tar.*"))

    def _apt(self, words: str | Sequence[str], what: str) -> None:
        command = ["apt-get", *self._options(), *([words] if isinstance(words, str) else words)]
        run(command, what=what)

    def _options(self) -> list[str]:
        places = {
            "Dir::Etc::sourcelist": self.root / "sources.list",
            "Dir::Etc::sourceparts": "/dev/null",
            "Dir::Etc::preferences": "/dev/null",
            "Dir::Etc::preferencesparts": "/dev/null",
            "Dir::State::lists": self.root / "lists",
            "Dir::State::status": self.root / "status",
            "Dir::Cache": self.root / "cache",
            # The download helper would otherwise drop root and could not write into our folder.
            "APT::Sandbox::User": "root",
            "APT::Update::Error-Mode": "any",
            "Acquire::Languages": "none",
            "Acquire::Retries": "3",
        }
        return [*SECURE, *(f"-o{key}={value}" for key, value in places.items())]
