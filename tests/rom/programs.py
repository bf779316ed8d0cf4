"""C programs whose calls of ROM functions go to the ROM's addresses, as in an application of ESP-IDF."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from emu.cpu.engine import Engine
from emu.cpu.options import EngineOptions
from emu.image import Image, load_image
from emu.rom import rom_symbols
from emu.toolchain import Toolchain

SECTIONS = """
SECTIONS {
  .flash.text 0x42000020 : { *(.literal .literal.* .text .text.*) }
  .iram0.text 0x40378000 : { *(.iram1 .iram1.*) }
  .dram0.data 0x3FC98000 : { *(.data .data.*) }
  .dram0.bss 0x3FC9C000 (NOLOAD) : { *(.bss .bss.* COMMON) }
  .flash.rodata 0x3C010020 : { *(.rodata .rodata.*) }
}
"""
FLAGS = ("-O2", "-g", "-ffreestanding", "-fno-builtin")


def rom_script() -> str:
    """Every ROM symbol at its (first) address."""
    names: dict[str, int] = {}
    for symbol in rom_symbols():
        names.setdefault(symbol.name, symbol.address)
    return "\n".join(f"PROVIDE({name} = {address:#x});" for name, address in names.items())


def build(toolchain: Toolchain, folder: Path, source: str, flags: Sequence[str] = FLAGS) -> Image:
    """Compile and link ``source`` (C) in ``folder``."""
    (folder / "program.c").write_text(source)
    (folder / "program.ld").write_text(rom_script() + SECTIONS)
    toolchain.compile(folder / "program.c", folder / "program.o", flags)
    toolchain.link([folder / "program.o"], folder / "program.elf", folder / "program.ld", [])
    return load_image(folder / "program.elf")


def engine_of(image: Image, **options: object) -> Engine:
    """An engine for it."""
    return Engine(image, EngineOptions(**options))  # type: ignore[arg-type]
