"""``emu doctor``: what works on this machine, what is missing, and the command that mends it."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

import rich_click as click
from rich.console import Console

from emu.image import load_image
from emu.numerics.subnormals import subnormals_work
from emu.terminal import progress
from emu.toolchain.doctor import Check, checks, report
from emu.verify.reference import reference_elf

_PACKAGES = ("numpy", "numba", "llvmlite", "hypothesis", "pyelftools", "click", "rich", "rich-click")


def print_report() -> int:
    """Print all checks; returns 0 when everything that `emu verify` needs works, else 5.

    A missing compiler is told but is no failure: the reference image runs without one.
    """
    with progress(Console(stderr=True)) as step:
        step("looking at this machine", 0)
        needed = [
            _check("python", _python),
            _check("packages", _packages),
            _check("floating point", _floats),
            _check("reference image", _image),
        ]
        compiler = checks()
    click.echo("To verify firmware images:\n" + report(needed))
    click.echo("\nTo build the firmware (only needed to change it):\n" + report(compiler))
    return 0 if all(c.ok for c in needed) else 5


def _check(name: str, look: Callable[[], str]) -> Check:
    try:
        return Check(name, True, look())
    except Exception as error:
        text, _, mend = str(error).partition("; to mend: ")
        return Check(name, False, text or type(error).__name__, mend)


def _python() -> str:
    return (
        f"{platform.python_version()} ({sys.executable}), {platform.machine()}, {os.cpu_count()} processors"
    )


def _packages() -> str:
    found, missing = [], []
    for name in _PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            missing.append(name)
    if missing:
        raise LookupError(f"{', '.join(missing)} missing; to mend: pip install {' '.join(missing)}")
    return ", ".join(found)


def _floats() -> str:
    if not subnormals_work():
        raise RuntimeError("subnormals are flushed to zero: some library switched that on in this process")
    return "subnormals work"


def _image() -> str:
    path = reference_elf()
    image = load_image(path)
    return f"{path} ({len(image.symbols.functions())} functions, SHA-256 {image.sha256[:12]})"
