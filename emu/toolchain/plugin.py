"""Building the configuration plug-in with the host's C compiler, once per content, into the cache."""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
from functools import partial
from pathlib import Path

from emu.toolchain.cache import make_once
from emu.toolchain.errors import ToolchainError
from emu.toolchain.plugin_source import plugin_source
from emu.toolchain.process import clean_env, run

FILE_NAME = "esp32s3.so"
DIGEST_NAME = "esp32s3.so.sha256"
# No C library is needed, so the object also loads into tools that bring a C library of their own.
FLAGS = ("-O1", "-shared", "-fPIC", "-nostdlib", "-s", "-w")


def host_compiler() -> list[str]:
    """Command of the host's C compiler: `CC` if set, else cc, gcc or clang.

    Raises:
        ToolchainError: there is none.
    """
    named = shlex.split(os.environ.get("CC", ""))
    if named and shutil.which(named[0]):
        return named
    for name in ("cc", "gcc", "clang"):
        if found := shutil.which(name):
            return [found]
    raise ToolchainError(
        "no C compiler for this machine was found (cc, gcc or clang); it is needed once, to build the "
        "plug-in that makes a stock xtensa compiler target the ESP32-S3",
        "apt-get install gcc",
    )


def source_hash() -> str:
    """SHA-256 of the plug-in's source: the identity of the core description, for manifests."""
    return hashlib.sha256(plugin_source().encode()).hexdigest()


def _key() -> str:
    return hashlib.sha256(f"{source_hash()} {FLAGS}".encode()).hexdigest()[:16]


def build_plugin() -> Path:
    """Path of the plug-in for this machine, built now if the cache does not hold it."""
    compiler = host_compiler()
    machine = run([*compiler, "-dumpmachine"], what="the host's C compiler does not run").strip()
    folder = make_once(
        f"plugin/{_key()}-{machine}",
        partial(_build, compiler),
        _is_whole,
    )
    return folder / FILE_NAME


def _is_whole(folder: Path) -> bool:
    """True if the object is the one that was built: a damaged file is built again, not loaded."""
    try:
        recorded = (folder / DIGEST_NAME).read_text(encoding="ascii")
        return recorded == hashlib.sha256((folder / FILE_NAME).read_bytes()).hexdigest()
    except (OSError, ValueError):
        return False


def _build(compiler: list[str], fresh: Path, final: Path) -> None:
    source = fresh / "esp32s3.c"
    source.write_text(plugin_source(), encoding="utf-8")
    command: list[str | Path] = [*compiler, *FLAGS, "-o", fresh / FILE_NAME, source]
    run(command, clean_env(), what="the host's C compiler cannot build the plug-in")
    digest = hashlib.sha256((fresh / FILE_NAME).read_bytes()).hexdigest()
    (fresh / DIGEST_NAME).write_text(digest, encoding="ascii")
