"""A working compiler: the tools of one installation, already targeted at the ESP32-S3."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from emu.toolchain.errors import ToolchainError
from emu.toolchain.process import clean_env, execute, run

BASE_FLAGS = ("-mlongcalls", "-mabi=windowed")
LINK_FLAGS = ("-nostdlib", "-Wl,--fatal-warnings")
FIRST_WITH_RWX_WARNING = (2, 39)


@dataclass(frozen=True)
class Toolchain:
    """One set of tools. `env` must be passed to each of them: it names the core description.

    `kind` is esp-idf, debian (installed packages) or debian-unpacked (in the cache). `prefix` is the path
    of the tools up to and including the last '-'. `plugin` is the core description, None if built in.
    """

    kind: str
    name: str
    version: str
    gcc: Path
    binutils: str
    plugin: Path | None = None
    env: dict[str, str] = field(default_factory=dict, hash=False)

    @property
    def prefix(self) -> str:
        """Path of every tool without its last word."""
        return str(self.gcc)[: -len("gcc")]

    @property
    def full_env(self) -> dict[str, str]:
        """The environment in which the tools run."""
        return clean_env(self.env)

    def tool(self, name: str) -> Path:
        """Path of a binutils program, such as `tool("objdump")`."""
        return Path(self.prefix + name)

    def run(self, tool: str, args: Iterable[str | Path], what: str = "cannot run a tool") -> str:
        """Run one of the tools; returns its output, raises ToolchainError with its messages if it fails."""
        return run([self.tool(tool), *args], self.full_env, what)

    def _make(self, args: Iterable[str | Path], what: str) -> str:
        """Run the driver with the base flags; returns its messages."""
        return execute([self.gcc, *BASE_FLAGS, *args], self.full_env, what).stderr

    def compile(self, source: Path | str, obj: Path | str, flags: Sequence[str] = ()) -> str:
        """C to object file. Windowed ABI and long calls are always set; returns the compiler's warnings."""
        return self._make([*flags, "-c", source, "-o", obj], f"cannot compile {source}")

    def assemble(self, source: Path | str, obj: Path | str, flags: Sequence[str] = ()) -> str:
        """Assembly (`.S` is preprocessed, `.s` is not) to object file; returns the warnings."""
        return self._make([*flags, "-c", source, "-o", obj], f"cannot assemble {source}")

    def link(
        self,
        objs: Sequence[Path | str],
        out: Path | str,
        script: Path | str | None,
        flags: Sequence[str] = (),
    ) -> str:
        """Link without any library; every linker warning is an error (an ABI mix is only a warning to ld)."""
        quiet = ("-Wl,--no-warn-rwx-segments",) if _numbers(self.binutils) >= FIRST_WITH_RWX_WARNING else ()
        chosen = ("-T", script) if script is not None else ()
        return self._make([*LINK_FLAGS, *quiet, *flags, *objs, *chosen, "-o", out], f"cannot link {out}")

    def objdump(self, path: Path | str, args: Sequence[str] = ("-d",)) -> str:
        """Text of `objdump args path`."""
        return self.run("objdump", [*args, path], f"cannot disassemble {path}")

    def text_bytes(self, obj: Path | str, section: str = ".text") -> bytes:
        """Contents of one section of an object or ELF file (empty if it has none)."""
        with tempfile.TemporaryDirectory() as scratch:
            out = Path(scratch) / "section"
            self.run("objcopy", ["-O", "binary", "-j", section, obj, out], f"cannot read {obj}")
            return out.read_bytes() if out.exists() else b""

    def identity(self) -> dict[str, str]:
        """What a manifest records: kind, compiler and binutils versions."""
        return {"kind": self.kind, "gcc": self.version, "binutils": self.binutils}

    def describe(self) -> str:
        """One line for people."""
        return f"GCC {self.version}, binutils {self.binutils} ({self.kind}): {self.gcc}"


def gcc_version(gcc: Path, env: dict[str, str] | None = None) -> str:
    """Version of a GCC driver, such as 13.3.0; ToolchainError if it is none."""
    return _version(run([gcc, "-dumpfullversion"], clean_env(env), f"{gcc} does not run"), gcc)


def binutils_version(gcc: Path, env: dict[str, str] | None = None) -> str:
    """Version of the assembler beside a GCC driver, such as 2.44; ToolchainError if there is none."""
    assembler = str(gcc)[: -len("gcc")] + "as"
    return _version(run([assembler, "--version"], clean_env(env), f"{assembler} does not run"), assembler)


def _version(text: str, tool: Path | str) -> str:
    """Last word of the first line that starts like a version."""
    for word in reversed((text.splitlines() or [""])[0].split()):
        if re.match(r"\d+\.\d+", word):
            return word
    raise ToolchainError(f"{tool} does not tell its version: {text.strip()[:200]!r}")


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:2])
