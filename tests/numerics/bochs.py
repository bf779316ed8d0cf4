"""Bochs, an emulator of x86 processors with AMX and AVX-512: built from Debian's source, without a screen.

Debian's packages of Bochs (3.0 and 3.1) cannot judge: their TDPBSSD, TDPBSUD and TDPBUSD take signed bytes as
unsigned ones. The source is mended as its authors have mended it since.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from emu.toolchain.apt import PrivateApt, debian_mirror
from emu.toolchain.cache import make_once
from emu.toolchain.errors import ToolchainError
from emu.toolchain.process import run
from emu.toolchain.unpacked import suite

FOLDER = "bochs/signed-amx-1"
OPTIONS = (
    "CXXFLAGS=-O1 -w",
    "CFLAGS=-O1 -w",
    "--enable-cpu-level=6",
    "--enable-x86-64",
    "--enable-avx",
    "--enable-evex",
    "--enable-amx",
    "--with-nogui",
    "--disable-docbook",
)
SIGNED = {"DPBDSS": "xy", "DPBDSU": "x", "DPBDUS": "y"}
"""Functions of amx.cc and their operands that are signed bytes."""
MINUTES = 10
PAGE, BLOCK, MEMORY = 4096, 8 << 20, 32 << 20
"""Bytes: the least size of a ROM, the most of memory that one file can fill, and the machine's memory."""
SETTINGS = f"""
config_interface: textconfig
display_library: nogui
cpu: model=sapphire_rapids, count=1, reset_on_triple_fault=0
memory: guest={MEMORY >> 20}, host={MEMORY >> 20}, block_size={BLOCK >> 10}
romimage: file=rom, address={2**32 - PAGE:#x}
vgaromimage: file=rom
parport1: enabled=1, file=printed
clock: sync=none
log: log
panic: action=fatal
error: action=report
info: action=report
"""


def bochs() -> Path:
    """The emulator, built on first use (4 MB of source, a few minutes on two processors).

    Raises:
        ToolchainError: not a Debian system, no network, or no C++ compiler.
    """
    return make_once(FOLDER, _build, lambda folder: (folder / "bochs").is_file()) / "bochs"


def mended(amx: str) -> str:
    """The text of amx.cc with signed bytes where the instructions have them."""
    for name, operands in SIGNED.items():
        head, start, rest = amx.partition(f"BX_CPP_INLINE Bit32u {name}(Bit32u x, Bit32u y)\n{{")
        body, end, rest = rest.partition("\n}\n")
        for operand in operands:
            line = re.search(rf"const Bit8[us] {operand}byte\[4\] = .*;", body)
            if not line:
                raise ToolchainError(f"Bochs' amx.cc is unknown: no {operand}byte in {name}")
            body = body.replace(line[0], line[0].replace("Bit8u", "Bit8s"))
        amx = head + start + body + end + rest
    return amx


def _build(fresh: Path, final: Path) -> None:
    for tool in ("g++", "make", "tar", "xz"):
        if not shutil.which(tool):
            raise ToolchainError(f"Bochs cannot be built: {tool} is not installed")
    with tempfile.TemporaryDirectory(prefix="build.", dir=final.parent) as scratch:
        archive = PrivateApt(Path(scratch) / "apt", debian_mirror(), suite()).source("bochs")
        source = Path(scratch) / "source"
        source.mkdir()
        run(["tar", "-xf", archive, "-C", source, "--strip-components=1"], what="cannot unpack Bochs")
        amx = source / "cpu/avx/amx.cc"
        amx.write_text(mended(amx.read_text(encoding="utf-8")), encoding="utf-8")
        run(["env", "-C", source, "./configure", *OPTIONS], what="cannot configure Bochs")
        run(["make", "-C", source, f"-j{os.cpu_count() or 1}"], what="cannot build Bochs")
        shutil.copy(source / "bochs", fresh / "bochs")
        (fresh / "version").write_text(archive.name + "\n", encoding="utf-8")


def version() -> str:
    """Name of the source archive that the emulator was built from."""
    return (bochs().parent / "version").read_text(encoding="utf-8").strip()


def run_machine(rom: bytes, memory: bytes, address: int) -> bytes:
    """Start a machine with ``memory`` at ``address``; returns what it printed until it stopped itself."""
    with tempfile.TemporaryDirectory(prefix="bochs.") as name:
        folder = Path(name)
        (folder / "rom").write_bytes(rom.rjust(PAGE))
        images = []
        for number, (place, data) in enumerate(_pieces(memory, address), 1):
            (folder / f"memory{number}").write_bytes(data)
            images.append(f"optramimage{number}: file=memory{number}, address={place:#x}\n")
        (folder / "bochsrc").write_text(SETTINGS + "".join(images), encoding="utf-8")
        command = [str(bochs()), "-q", "-f", "bochsrc"]
        nothing, limit = subprocess.DEVNULL, 60 * MINUTES
        done = subprocess.run(
            command, cwd=folder, stdin=nothing, capture_output=True, timeout=limit, check=False
        )
        log = folder / "log"
        text = log.read_text(errors="replace") if log.is_file() else done.stderr.decode(errors="replace")
        assert "shutdown requested" in text, f"Bochs did not end as it should:\n{text[-3000:]}"
        return (folder / "printed").read_bytes()


def _pieces(memory: bytes, address: int) -> Iterator[tuple[int, bytes]]:
    """Place and content of images that do not cross the blocks in which Bochs keeps memory (4 at most)."""
    while memory:
        size = BLOCK - address % BLOCK
        yield address, memory[:size]
        address, memory = address + size, memory[size:]
