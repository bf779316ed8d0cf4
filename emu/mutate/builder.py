"""Images of mutated sources, made of the objects of the unchanged ones: only what changed is compiled."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from elftools.elf.elffile import ELFFile

from emu.mutate.mutant import Mutant, apply_edit
from emu.toolchain.build import C_FLAGS, FILE_FLAGS, FLAGS, FOLDERS, IMAGE, source_files, source_hash
from emu.toolchain.tools import Toolchain

TOLERANT = ("-Wno-all", "-Wno-extra", "-Wno-overflow", "-Wno-div-by-zero", "-Wno-shift-count-overflow",
            "-Wno-shift-count-negative", "-Wno-aggressive-loop-optimizations")  # fmt: skip
"""A mutant may have unused variables and doubtful comparisons; types must still fit."""
_MUTATED = ("kernels", "numerics")


@dataclass(frozen=True)
class Base:
    """Objects of the unchanged sources below ``folder``, and what each of them was made of.

    ``users``: by file (relative to firmware/) the sources that are compiled with it.
    """

    toolchain: Toolchain
    folder: Path
    sources: Path
    units: tuple[str, ...]
    users: dict[str, tuple[str, ...]]

    def object_of(self, unit: str) -> Path:
        """The object of a source of ``units``."""
        return self.folder / "objects" / (unit.replace("/", "-") + ".o")

    @property
    def elf(self) -> Path:
        """The linked image."""
        return self.folder / IMAGE.elf


def build_base(toolchain: Toolchain, sources: Path, folder: Path) -> Base:
    """Compile and link ``sources`` (a firmware/ folder) below ``folder``, unless that was done before.

    Raises ToolchainError.
    """
    stamp, name = folder / "made.json", firmware_name(toolchain, sources)
    if stamp.is_file() and (made := json.loads(stamp.read_text()))["firmware"] == name:
        users = {file: tuple(units) for file, units in made["users"].items()}
        return Base(toolchain, folder, sources, tuple(made["units"]), users)
    shutil.rmtree(folder, ignore_errors=True)
    base = _build_base(toolchain, sources, folder)
    stamp.write_text(json.dumps({"firmware": name, "units": base.units, "users": base.users}))
    return base


def firmware_name(toolchain: Toolchain, sources: Path) -> str:
    """What results belong to: the sources and the compiler."""
    compiler = "-".join(toolchain.identity().values())
    return hashlib.sha256(f"{source_hash(sources)} {compiler}".encode()).hexdigest()


def _build_base(toolchain: Toolchain, sources: Path, folder: Path) -> Base:
    (folder / "objects").mkdir(parents=True, exist_ok=True)
    _copy(sources, folder / "firmware")
    units = tuple(
        p.as_posix()
        for p in source_files(sources)
        if p.suffix in (".c", ".S") and p.parent.as_posix() in FOLDERS
    )
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        needs = list(pool.map(lambda unit: _includes(toolchain, folder, unit), units))
    users: dict[str, list[str]] = {}
    for unit, files in zip(units, needs, strict=True):
        for file in files:
            users.setdefault(file, []).append(unit)
    base = Base(toolchain, folder, sources, units, {f: tuple(u) for f, u in users.items()})
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(lambda unit: compile_unit(toolchain, folder, unit, base.object_of(unit)), units))
    link(base, [base.object_of(unit) for unit in units], base.elf)
    return base


def _copy(sources: Path, to: Path) -> None:
    for path in source_files(sources):
        (to / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(sources / path, to / path)


def _includes(toolchain: Toolchain, root: Path, unit: str) -> list[str]:
    """Files of firmware/ that a source is made of, itself among them."""
    here = root / "firmware"
    rule = toolchain.run("gcc", ["-MM", *_includes_flags(root), here / unit], f"cannot read {unit}")
    words = re.sub(r"\\\n", " ", rule).partition(":")[2].split()
    return [Path(os.path.relpath(word, here)).as_posix() for word in words]


def _includes_flags(root: Path) -> list[str]:
    return [f"-I{root / 'firmware' / folder}" for folder in IMAGE.includes]


def compile_unit(toolchain: Toolchain, root: Path, unit: str, out: Path, extra: Sequence[str] = ()) -> None:
    """One source of ``root``/firmware to an object, with the flags of the reference image."""
    source = root / "firmware" / unit
    places = [f"-ffile-prefix-map={root}/="]
    flags = [*FLAGS, *FILE_FLAGS.get(unit, ()), *_includes_flags(root), *places, *extra]
    if source.suffix == ".S":
        toolchain.assemble(source, out, flags)
    else:
        toolchain.compile(source, out, [*C_FLAGS, *flags])


def link(base: Base, objects: Iterable[Path], out: Path) -> None:
    """Link objects as the reference image is linked."""
    script = base.folder / "firmware" / IMAGE.script
    base.toolchain.link(list(objects), out, script, ["-Wl,--build-id=none"])


class Builder:
    """Builds mutants one after the other in a folder of its own."""

    def __init__(self, base: Base, folder: Path) -> None:
        self._base = base
        self._folder = folder
        _copy(base.sources, folder / "firmware")

    def build(self, mutant: Mutant) -> Path:
        """The image with the mutant's change; it lies there until the next call.

        Models are linked as they were: no kernel is made of them. Raises ToolchainError when the change is no
        program.
        """
        path = self._folder / "firmware" / mutant.file
        original = (self._base.sources / mutant.file).read_bytes()
        objects = {unit: self._base.object_of(unit) for unit in self._base.units}
        try:
            path.write_bytes(apply_edit(original, mutant))
            for number, unit in enumerate(self.units_of(mutant)):
                objects[unit] = self._folder / f"{number}.o"
                tolerant = TOLERANT if unit.endswith(".c") else ()
                compile_unit(self._base.toolchain, self._folder, unit, objects[unit], tolerant)
        finally:
            path.write_bytes(original)
        return self._linked(objects, IMAGE.elf)

    def build_plain(self, mutant: Mutant, apply: bool) -> Path:
        """The image with the users of the mutated file compiled without optimisation, mutated or not."""
        path = self._folder / "firmware" / mutant.file
        original = (self._base.sources / mutant.file).read_bytes()
        objects = {unit: self._base.object_of(unit) for unit in self._base.units}
        try:
            path.write_bytes(apply_edit(original, mutant) if apply else original)
            for number, unit in enumerate(self.units_of(mutant)):
                objects[unit] = self._folder / f"{number}-plain-{apply}.o"
                compile_unit(self._base.toolchain, self._folder, unit, objects[unit], (*TOLERANT, "-O0"))
        finally:
            path.write_bytes(original)
        return self._linked(objects, f"plain-{apply}.elf")

    def units_of(self, mutant: Mutant) -> list[str]:
        """The sources of kernels that are compiled with the mutant's file."""
        return [unit for unit in self._base.users[mutant.file] if unit.startswith(_MUTATED)]

    def _linked(self, objects: dict[str, Path], name: str) -> Path:
        elf = self._folder / name
        link(self._base, objects.values(), elf)
        return elf


@cache
def defined(obj: Path) -> frozenset[str]:
    """Functions that an object defines."""
    table = ELFFile(io.BytesIO(obj.read_bytes())).get_section_by_name(".symtab")
    symbols = table.iter_symbols()
    return frozenset(s.name for s in symbols if s["st_info"]["type"] == "STT_FUNC" and s["st_size"])
