#!/usr/bin/env python3
"""Build firmware/ into golden/firmware/ and golden/agent/, or check that the images are what it gives.

    python tools/build_firmware.py            # build and record
    python tools/build_firmware.py --check    # rebuild elsewhere and compare bytes
    python tools/build_firmware.py --out DIR  # build somewhere else
    python tools/build_firmware.py --only agent [--out DIR]

Exit codes: 0 built, or equal; 1 the reference differs; 2 wrong use; 5 no compiler, or the build failed; 6 not
comparable, because another compiler than the recorded one is installed.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from emu.toolchain import Toolchain, ToolchainError, find_toolchain  # noqa: E402
from emu.toolchain.build import (  # noqa: E402
    AGENT,
    IMAGE,
    MANIFEST_NAME,
    Recipe,
    build_firmware,
    compiler_of,
    source_hash,
)

GOLDEN = ROOT / "golden"
RECIPES = {"firmware": IMAGE, "agent": AGENT}
"""What is built into which folder."""
DIFFERENT, TOOL_ERROR, NOT_COMPARABLE = 1, 5, 6


@click.command(help=__doc__, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--check", is_flag=True, help="Compare the reference with a fresh build; write nothing.")
@click.option("--out", type=click.Path(path_type=Path), help="Folder of one image and its manifest.")
@click.option("--only", type=click.Choice(list(RECIPES)), help="Only this image; with --out: firmware.")
def main(check: bool, out: Path | None, only: str | None) -> None:
    """See the help text (the module's docstring)."""
    try:
        chosen = [only or "firmware"] if only or out else list(RECIPES)
        act = check_reference if check else record
        sys.exit(max(act(out or GOLDEN / name, RECIPES[name]) for name in chosen))
    except ToolchainError as error:
        click.echo(str(error), err=True)
        sys.exit(TOOL_ERROR)


def record(out: Path, recipe: Recipe) -> int:
    """Build into `out`; returns 0."""
    result = build_firmware(find_toolchain(), out, recipe=recipe)
    click.echo(f"{result.elf}: {result.elf.stat().st_size} bytes, SHA-256 {result.manifest['elf_sha256']}")
    return 0


def check_reference(out: Path, recipe: Recipe) -> int:
    """Compare `out` with its manifest, with the sources and with a fresh build; returns the exit code."""
    manifest = read_manifest(out)
    complaint = stale(out, manifest, recipe)
    if complaint:
        click.echo(f"{complaint}\nto mend: python tools/build_firmware.py", err=True)
        return DIFFERENT
    toolchain = find_toolchain()
    if compiler_of(toolchain) != manifest["compiler"]:
        recorded, found = describe(manifest["compiler"]), describe(compiler_of(toolchain))
        click.echo(f"not comparable: recorded {recorded}, found {found}")
        return NOT_COMPARABLE
    return compare(out, toolchain, recipe)


def compare(out: Path, toolchain: Toolchain, recipe: Recipe) -> int:
    """Build again and compare the image byte for byte; returns the exit code."""
    with tempfile.TemporaryDirectory() as scratch:
        fresh = build_firmware(toolchain, Path(scratch), recipe=recipe).elf.read_bytes()
    reference = (out / recipe.elf).read_bytes()
    if fresh == reference:
        click.echo(f"equal: {out / recipe.elf} is what the sources give")
        return 0
    first = next((i for i, pair in enumerate(zip(fresh, reference, strict=False)) if pair[0] != pair[1]), -1)
    at = first if first >= 0 else min(len(fresh), len(reference))
    click.echo(f"{out / recipe.elf} differs from a fresh build, first at offset {at} (0x{at:X})", err=True)
    return DIFFERENT


def read_manifest(out: Path) -> dict[str, Any]:
    """The recorded manifest. Raises ToolchainError when it cannot be read."""
    path = out / MANIFEST_NAME
    try:
        manifest = json.loads(path.read_text())
        for key in ("source_sha256", "elf_sha256", "compiler"):
            manifest[key]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ToolchainError(f"cannot read {path}: {error!r}", "python tools/build_firmware.py") from error
    return dict(manifest)


def stale(out: Path, manifest: dict[str, Any], recipe: Recipe = IMAGE) -> str:
    """Why `out` cannot be the image of the present sources; empty when nothing speaks against it."""
    elf = out / recipe.elf
    if not elf.is_file():
        return f"{elf} is missing"
    if hashlib.sha256(elf.read_bytes()).hexdigest() != manifest["elf_sha256"]:
        return f"{elf} is not the file that {out / MANIFEST_NAME} records"
    if source_hash(ROOT / "firmware", recipe) != manifest["source_sha256"]:
        return f"firmware/ has changed since {elf} was built"
    return ""


def describe(compiler: dict[str, str]) -> str:
    """A compiler in words."""
    name, gcc, binutils = (compiler.get(key, "?") for key in ("name", "gcc", "binutils"))
    return f"{name} {gcc} with binutils {binutils}"


if __name__ == "__main__":
    main()
