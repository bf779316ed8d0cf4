"""Builds foreign.cc as an application is built."""

from __future__ import annotations

from pathlib import Path

from emu.toolchain import Toolchain
from tests.rom.programs import rom_script

HERE = Path(__file__).parent
FLAGS = ("-O2", "-g", "-fno-exceptions", "-fno-rtti", "-fno-use-cxa-atexit", "-fno-builtin", "-ffreestanding")
SECTIONS = """
ghost = 0x42500000;
SECTIONS {
  .flash.text 0x42000020 : { *(.literal .literal.* .text .text.*) }
  .flash.rodata 0x3C010020 : { *(.rodata .rodata.*) }
  .dram0.data 0x3FC98000 : { *(.data .data.*) __init_array_start = .; KEEP(*(.init_array .ctors))
                             __init_array_end = .; }
  .dram0.bss 0x3FC9C000 (NOLOAD) : { *(.bss .bss.* COMMON) }
}
"""


def build_foreign(toolchain: Toolchain, folder: Path, *flags: str) -> Path:
    """Compile and link into ``folder / "app.elf"``."""
    (folder / "app.ld").write_text(rom_script() + SECTIONS)
    toolchain.compile(HERE / "foreign.cc", folder / "foreign.o", [*FLAGS, *flags])
    toolchain.link([folder / "foreign.o"], folder / "app.elf", folder / "app.ld", [])
    return folder / "app.elf"
