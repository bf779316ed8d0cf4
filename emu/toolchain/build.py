"""Building firmware/ for the chip: a scratch copy, optional patches, one ELF file and its manifest.

    result = build_firmware(find_toolchain(), Path("out"))
    result.elf, result.manifest["elf_sha256"]

The ELF file depends on the sources, the flags and the compiler only: not on the folder, the time or the user.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from emu.toolchain.errors import ToolchainError
from emu.toolchain.process import clean_env, run
from emu.toolchain.tools import Toolchain

SPEC_VERSION = 1
ELF_NAME = "esp32s3-bare.elf"
MANIFEST_NAME = "manifest.json"
BUILD_COMMAND = "python tools/build_firmware.py"

FOLDERS = ("numerics", "kernels", "models", "port/bare")
INCLUDES = ("include", "numerics", "kernels", "models")
SCRIPT = "port/bare/image.ld"
SUFFIXES = (".c", ".S", ".h", ".inc", ".ld")


@dataclass(frozen=True)
class Recipe:
    """What an image is made of; every path is below firmware/.

    `files`: what it depends on, files or whole folders; the compiler sees nothing else. `folders`: where
    those `.c` and `.S` files are that are built. `command`: what builds it, for the manifest.
    """

    elf: str
    files: tuple[str, ...]
    folders: tuple[str, ...]
    includes: tuple[str, ...]
    script: str
    command: str


IMAGE = Recipe(ELF_NAME, (*INCLUDES, *FOLDERS), FOLDERS, INCLUDES, SCRIPT, BUILD_COMMAND)
"""The reference image."""

AGENT_FOLDERS = ("numerics", "kernels", "models", "agent", "agent/chip", "port/bare_agent")
AGENT = Recipe(
    "esp32s3-agent.elf",
    ("include", *AGENT_FOLDERS, "port/bare/start.S", "port/bare/vectors.S"),
    AGENT_FOLDERS,
    (*INCLUDES, "agent", "port/bare"),
    "port/bare_agent/agent.ld",
    BUILD_COMMAND,
)
"""The agent (docs/wire.md) with all kernels and models, for RAM."""

FLAGS = ("-O2", "-ffreestanding", "-ffp-contract=off", "-fno-common", "-gdwarf-4")
C_FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Werror")
FILE_FLAGS = {"numerics/memory.c": ("-fno-tree-loop-distribute-patterns",)}
"""GCC would turn the loops of memcpy and its like into calls of themselves."""

FUSED_LINE = re.compile(r"\s*([0-9a-f]+):\s+(m(?:add|sub)\.s\s.*)")
EXEMPT = frozenset({"__divsf3", "div_f32", "sqrtf", "sqrt_f32", "selftest_probe"})
"""Helpers whose result is correctly rounded whatever they use (docs/numerics.md section 1), and the
self-test, which executes single instructions on purpose."""


@dataclass(frozen=True)
class FusedSite:
    """A fused multiply-add in the image; `line` as the disassembler prints it."""

    symbol: str
    address: int
    line: str

    def __str__(self) -> str:
        return f"{self.line} at 0x{self.address:08X} in {self.symbol}"


@dataclass(frozen=True)
class BuildResult:
    """The image and its manifest (see `_manifest`). `fused` is empty unless fused operations were allowed."""

    elf: Path
    manifest: dict[str, Any]
    fused: tuple[FusedSite, ...] = ()


def firmware_folder() -> Path:
    """The sources that belong to this checkout.

    Raises:
        ToolchainError: the package was installed without them.
    """
    folder = Path(__file__).resolve().parents[2] / "firmware"
    if not (folder / SCRIPT).is_file():
        raise ToolchainError(
            f"the firmware sources are not at {folder}",
            "run from a checkout of the project, or name the folder",
        )
    return folder


def build_firmware(
    toolchain: Toolchain,
    out_dir: Path,
    patches: Sequence[Path] = (),
    extra_flags: Sequence[str] = (),
    sources: Path | None = None,
    allow_fused: bool = False,
    recipe: Recipe = IMAGE,
) -> BuildResult:
    """Build `sources` (default: this checkout's firmware/); writes ELF and manifest into `out_dir`.

    `patches` are unified diffs of firmware/ (paths a/firmware/..., b/firmware/...), applied in order to a
    copy; `extra_flags` stand last on every compiler command line. A fused multiply-add outside `EXEMPT` is an
    error (docs/numerics.md section 1) unless `allow_fused`; then the result lists them.

    Raises:
        ToolchainError: a patch does not apply, a source does not compile, the image does not link, or it
            contains a fused multiply-add; the message names file or symbol and address. `out_dir` is then
            left as it was.
    """
    original = sources if sources is not None else firmware_folder()
    with tempfile.TemporaryDirectory(prefix="emu-build-") as scratch:
        root = Path(scratch).resolve()
        _copy(original, root / "firmware", recipe)
        for patch in patches:
            _apply(patch, root)
        elf = _link(toolchain, root, recipe, _compile_all(toolchain, root, recipe, extra_flags))
        fused = tuple(fused_sites(toolchain, elf))
        if fused and not allow_fused:
            raise _fused_error(fused)
        manifest = _manifest(toolchain, root, elf, patches, extra_flags, recipe)
        out_dir.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(elf, out_dir / elf.name)
    (out_dir / MANIFEST_NAME).write_text(json.dumps(manifest, indent=2) + "\n")
    return BuildResult(out_dir / elf.name, manifest, fused)


def _fused_error(fused: Sequence[FusedSite]) -> ToolchainError:
    sites = "".join(f"\n  {site}" for site in fused)
    return ToolchainError(
        f"the image has fused multiply-adds, so products are not rounded on their own:{sites}",
        "compile with -ffp-contract=off and write no fmaf (docs/numerics.md section 1)",
    )


def compiler_of(toolchain: Toolchain) -> dict[str, str]:
    """What must agree for two images to be comparable byte for byte."""
    identity = toolchain.identity()
    return {"name": toolchain.gcc.name, "gcc": identity["gcc"], "binutils": identity["binutils"]}


def source_files(folder: Path, recipe: Recipe = IMAGE) -> list[Path]:
    """Every file that the image depends on, as sorted paths relative to `folder`."""
    named = [folder / name for name in recipe.files]
    inside = (path for place in named for path in ([place] if place.is_file() else place.rglob("*")))
    found = {path.relative_to(folder) for path in inside if path.suffix in SUFFIXES}
    return sorted(found, key=lambda path: path.as_posix())


def source_hash(folder: Path, recipe: Recipe = IMAGE) -> str:
    """SHA-256 over names and contents of `source_files`, in hex."""
    whole = hashlib.sha256()
    for path in source_files(folder, recipe):
        content = (folder / path).read_bytes()
        whole.update(f"{path.as_posix()}\0{len(content)}\0".encode() + content)
    return whole.hexdigest()


def fused_sites(toolchain: Toolchain, elf: Path) -> Iterator[FusedSite]:
    """Fused multiply-adds of `elf` outside `EXEMPT`, in the order of their addresses."""
    symbol = "?"
    for line in toolchain.objdump(elf, ["-d", "--no-show-raw-insn"]).splitlines():
        if heading := re.match(r"[0-9a-f]+ <(.+)>:$", line):
            symbol = heading[1]
        elif (code := FUSED_LINE.match(line)) and symbol not in EXEMPT:
            yield FusedSite(symbol, int(code[1], 16), " ".join(code[2].split()))


def _copy(original: Path, scratch: Path, recipe: Recipe) -> None:
    for path in source_files(original, recipe):
        (scratch / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(original / path, scratch / path)


def _apply(patch: Path, root: Path) -> None:
    what = f"patch {patch} does not apply to firmware/"
    if program := shutil.which("patch"):
        run(
            [program, "-p1", "--fuzz=0", "--batch", "-s", "-d", root, "-i", patch.resolve()],
            clean_env(),
            what,
        )
    elif program := shutil.which("git"):
        # Without the ceiling git would look for a repository around the scratch folder and skip the files.
        env = clean_env({"GIT_CEILING_DIRECTORIES": str(root.parent)})
        run([program, "-C", root, "apply", "-p1", patch.resolve()], env, what)
    else:
        raise ToolchainError("neither patch nor git is installed", "apt-get install patch")


def _compile_all(toolchain: Toolchain, root: Path, recipe: Recipe, extra_flags: Sequence[str]) -> list[Path]:
    found = source_files(root / "firmware", recipe)
    names = [
        path for path in found if path.suffix in (".c", ".S") and path.parent.as_posix() in recipe.folders
    ]
    includes = [f"-I{root / 'firmware' / folder}" for folder in recipe.includes]
    flags = [*includes, *_neutral_paths(toolchain, root), *extra_flags]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda name: _compile(toolchain, root, name, flags), names))


def _compile(toolchain: Toolchain, root: Path, name: Path, last_flags: Sequence[str]) -> Path:
    source = root / "firmware" / name
    obj = root / (name.as_posix().replace("/", "-") + ".o")
    flags = [*FLAGS, *FILE_FLAGS.get(name.as_posix(), ()), *last_flags]
    if name.suffix == ".S":
        toolchain.assemble(source, obj, flags)
    else:
        toolchain.compile(source, obj, [*C_FLAGS, *flags])
    return obj


def _neutral_paths(toolchain: Toolchain, root: Path) -> list[str]:
    """Flags that keep this machine's folders out of the debug information."""
    headers = toolchain.run("gcc", ["-print-file-name=include"]).strip()
    real = str(Path(headers).resolve())
    replaced = {str(Path.cwd()): ".", headers: "gcc", real: "gcc", f"{root}/": "", str(root): "."}
    return [f"-ffile-prefix-map={folder}={name}" for folder, name in replaced.items()]


def _link(toolchain: Toolchain, root: Path, recipe: Recipe, objects: Iterable[Path]) -> Path:
    elf = root / recipe.elf
    toolchain.link(list(objects), elf, root / "firmware" / recipe.script, ["-Wl,--build-id=none"])
    return elf


def _manifest(
    toolchain: Toolchain,
    root: Path,
    elf: Path,
    patches: Sequence[Path],
    extra_flags: Sequence[str],
    recipe: Recipe,
) -> dict[str, Any]:
    """What was built from what: enough to build it again and to see whether another build is comparable."""
    return {
        "spec_version": SPEC_VERSION,
        "source_sha256": source_hash(root / "firmware", recipe),
        "patches": [patch.name for patch in patches],
        "compiler": compiler_of(toolchain),
        "flags": [*C_FLAGS, *FLAGS, *extra_flags],
        "elf": elf.name,
        "elf_sha256": hashlib.sha256(elf.read_bytes()).hexdigest(),
        "build_command": recipe.command,
    }
