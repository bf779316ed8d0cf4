"""Fetching what is missing. Only as root, only through apt, and said aloud is the system itself changed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console

from emu.terminal import progress
from emu.toolchain.apt import os_release
from emu.toolchain.errors import ToolchainError
from emu.toolchain.plugin import host_compiler
from emu.toolchain.process import clean_env, run
from emu.toolchain.unpacked import FIRST_GOOD_RELEASE, PACKAGES, install_unpacked, unpacked_gcc


@contextmanager
def told_on_stderr() -> Iterator[Callable[[str], None]]:
    """A reporter of steps: a line for each on standard error, and a bar below them on a terminal."""
    console = Console(stderr=True)
    with progress(console) as step:

        def say(text: str) -> None:
            step("toolchain", 0)
            console.print(f"toolchain: {text}", markup=False, highlight=False, soft_wrap=True)

        yield say


def install_missing(say: Callable[[str], None]) -> None:
    """Make a compiler available that `find_toolchain` accepts, knowing that it now finds none.

    As root on Debian 13 and newer the packages are installed; elsewhere on Debian they are unpacked into
    the cache. A compiler of this machine's own is installed too if there is none (as root).

    Raises:
        ToolchainError: a step failed, or needs root or another system.
    """
    try:
        host_compiler()
    except ToolchainError:
        if not _may_install():
            raise
        _apt_install(["gcc"], say)
    if _may_install() and _has_new_gcc() and not shutil.which("xtensa-lx106-elf-gcc"):
        _apt_install(PACKAGES, say)
        return
    say("unpacking Debian's xtensa GCC into the cache folder (about 50 MB to fetch)")
    install_unpacked(again=unpacked_gcc() is not None)


def _may_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def _has_new_gcc() -> bool:
    system = os_release()
    number = system.get("VERSION_ID", "")
    return system.get("ID") == "debian" and number.isdigit() and int(number) >= FIRST_GOOD_RELEASE[0]


def _apt_install(packages: Sequence[str], say: Callable[[str], None]) -> None:
    names = " ".join(packages)
    say(f"installing system packages: apt-get install {names}")
    quiet = clean_env({"DEBIAN_FRONTEND": "noninteractive"})
    command = ["apt-get", "install", "--yes", "--no-install-recommends", *packages]
    try:
        run(command, quiet, f"cannot install {names}")
    except ToolchainError:
        # A fresh system has no package lists yet.
        run(["apt-get", "update"], quiet, "cannot fetch the package lists")
        run(command, quiet, f"cannot install {names}")
