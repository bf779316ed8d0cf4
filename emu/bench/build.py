"""The benchmark set as two images: one for the chip, and the same objects as a program of Linux for QEMU.

    find_image(CHIP), find_image(LINUX)

Both are kept in ``golden/bench``, so that measuring needs no compiler; where the sources are newer, they are
built once into the cache folder. ``python -m emu.bench.build`` records them, ``--check`` compares.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from importlib import resources
from pathlib import Path

from emu.toolchain import Toolchain, ToolchainError, find_toolchain
from emu.toolchain.build import (
    FOLDERS,
    INCLUDES,
    MANIFEST_NAME,
    Recipe,
    build_firmware,
    compiler_of,
    firmware_folder,
    source_hash,
)
from emu.toolchain.cache import make_once

COMMAND = "python -m emu.bench.build"
_NUMERICS = ("arith.h", "bits.h", "exp.h", "rne.h", "significand.h", "sincos.h", "div.c", "memory.c")
_PORT = ("image.ld", "main.c", "start.S", "vectors.S")
_FILES = (
    "bench",
    "include/emu_table.h",
    *(f"numerics/{name}" for name in _NUMERICS),
    *(f"port/bare/{name}" for name in _PORT),
)


def _recipe(elf: str, port: str, script: str) -> Recipe:
    folders = ("numerics", "bench", port)
    return Recipe(elf, _FILES, folders, ("include", "numerics", "bench"), f"{port}/{script}", COMMAND)


CHIP = _recipe("esp32s3-bench.elf", "port/bare", "image.ld")
LINUX = _recipe("xtensa-linux-bench.elf", "bench/linux", "program.ld")
"""For ``qemu-xtensa``: the same objects, with a start that calls functions on request."""

_PLAIN = tuple(name for name in FOLDERS if not name.startswith("port"))


def _kernels_recipe(elf: str, files: tuple[str, ...], port: str, script: str) -> Recipe:
    folders = (*_PLAIN, "bench/rounds", port)
    return Recipe(elf, (*INCLUDES, "bench/rounds", *files), folders, INCLUDES, script, COMMAND)


LINUX_KERNELS = _kernels_recipe("xtensa-linux-kernels.elf", ("bench/linux",), "bench/linux", LINUX.script)
"""The firmware's kernels for ``qemu-xtensa``; not recorded, because it would change with every kernel."""
CHIP_KERNELS = _kernels_recipe(
    "esp32s3-kernels.elf", tuple(f"port/bare/{name}" for name in _PORT), "port/bare", CHIP.script
)
"""The same objects for the engine."""

DIFFERENT, NOT_COMPARABLE = 1, 6


def golden_folder(recipe: Recipe) -> Path:
    """Where the recorded image is: ``emu/golden`` is a link in a checkout, a copy in a package."""
    return Path(str(resources.files("emu") / "golden" / "bench" / Path(recipe.elf).stem))


def find_image(recipe: Recipe) -> Path:
    """Path of the image: the recorded one unless this checkout's sources are newer.

    Raises:
        ToolchainError: neither a recorded image that fits nor a compiler.
    """
    elf = golden_folder(recipe) / recipe.elf
    wanted = _sources_here(recipe)
    if elf.is_file() and wanted in ("", _manifest(elf.parent).get("source_sha256")):
        return elf
    return _cached(recipe, wanted)


def _sources_here(recipe: Recipe) -> str:
    """Hash of the checkout's sources; empty when the package was installed without them."""
    try:
        return source_hash(firmware_folder(), recipe)
    except ToolchainError:
        return ""


def _manifest(folder: Path) -> dict[str, object]:
    try:
        return dict(json.loads((folder / MANIFEST_NAME).read_text()))
    except (OSError, ValueError, TypeError) as error:
        raise ToolchainError(f"cannot read {folder / MANIFEST_NAME}: {error}", COMMAND) from error


def _cached(recipe: Recipe, sources: str) -> Path:
    toolchain = find_toolchain()
    key = hashlib.sha256(f"{sources} {compiler_of(toolchain)}".encode()).hexdigest()[:16]
    folder = make_once(
        f"bench/{Path(recipe.elf).stem}-{key}",
        lambda fresh, final: _build(toolchain, recipe, fresh),
        lambda place: (place / recipe.elf).is_file(),
    )
    return folder / recipe.elf


def _build(toolchain: Toolchain, recipe: Recipe, out: Path) -> None:
    # The division helper is the only function that may fuse, and it is exempt by name.
    build_firmware(toolchain, out, recipe=recipe)


def check(recipe: Recipe) -> int:
    """Rebuild and compare with the recorded image; prints the answer, returns 0, 1 or 6 (other compiler)."""
    toolchain, folder = find_toolchain(), golden_folder(recipe)
    if compiler_of(toolchain) != _manifest(folder).get("compiler"):
        print(f"not comparable: {recipe.elf} was built by {_manifest(folder).get('compiler')}")
        return NOT_COMPARABLE
    with tempfile.TemporaryDirectory() as scratch:
        _build(toolchain, recipe, Path(scratch))
        is_equal = (Path(scratch) / recipe.elf).read_bytes() == (folder / recipe.elf).read_bytes()
    print(f"{'equal' if is_equal else 'different'}: {folder / recipe.elf}")
    return 0 if is_equal else DIFFERENT


def main(arguments: list[str]) -> int:
    """Record both images in golden/bench, or with ``--check`` compare them; returns the exit code."""
    if arguments == ["--check"]:
        return max(check(recipe) for recipe in (CHIP, LINUX))
    if arguments:
        print(f"usage: {COMMAND} [--check]", file=sys.stderr)
        return 2
    for recipe in (CHIP, LINUX):
        _build(find_toolchain(), recipe, golden_folder(recipe))
        print(golden_folder(recipe) / recipe.elf)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
