"""Build a checkout of espressif/esp-nn into one application, as ESP-IDF would for the ESP32-S3.

    ESP_NN=/path/to/esp-nn python examples/esp_nn/build.py

writes examples/esp_nn/build/app.elf with the portable functions and those in vector instructions. A compiler
is fetched when there is none. Nothing of ESP-NN is in this repository.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from emu.rom.symbols import rom_symbols
from emu.toolchain import Toolchain, ToolchainError, print_built

HERE = Path(__file__).resolve().parent
IDF = HERE.parent / "idf"
OTHER_CHIPS = ("esp32p4", "riscv_pie")
FLAGS = (
    "-O2", "-ggdb", "-std=gnu17", "-ffreestanding", "-ffunction-sections", "-fdata-sections",
    "-fno-unroll-loops", "-fno-jump-tables", "-fno-tree-switch-conversion", "-Wno-unused-function",
    "-DCONFIG_IDF_TARGET_ESP32S3=1", "-DCONFIG_IDF_TARGET_ARCH_XTENSA=1",
)  # fmt: skip


def sources(checkout: Path) -> list[Path]:
    """What its CMakeLists.txt compiles for the ESP32-S3: everything but other chips'."""
    found = [
        p for p in sorted((checkout / "src").rglob("*.[cS]")) if not any(c in p.name for c in OTHER_CHIPS)
    ]
    if not any(p.name.endswith("_esp32s3.S") for p in found):
        raise ToolchainError(
            f"ESP_NN={checkout}: no src/**/*_esp32s3.S there; is it a checkout of espressif/esp-nn?"
        )
    return found


def rom_script(out: Path) -> Path:
    """The functions of the chip's ROM by address, used where the image has none of its own."""
    lines = (f"PROVIDE( {s.name} = {s.address:#010x} );" for s in rom_symbols() if s.kind == "function")
    script = out / "rom.ld"
    script.write_text("\n".join(lines) + "\n")
    return script


def build(toolchain: Toolchain, checkout: Path, out: Path) -> Path:
    """Compile the checkout and link ``out / "app.elf"``. Raises ToolchainError."""
    out.mkdir(parents=True, exist_ok=True)
    include = [f"-I{p}" for p in (checkout / "include", checkout / "src" / "common", HERE / "libc", IDF)]
    objects = []
    for source in [*sources(checkout), HERE / "app.c", IDF / "system.c"]:
        objects.append(out / f"{source.parent.name}-{source.name}.o")
        if source.suffix == ".S":
            toolchain.assemble(source, objects[-1], ["-ggdb", *include])
        else:
            toolchain.compile(source, objects[-1], [*FLAGS, *include])
    elf = out / "app.elf"
    toolchain.link(objects, elf, IDF / "sections.ld", ["-Wl,--undefined=app_main", f"-Wl,{rom_script(out)}"])
    return elf


def main() -> int:
    """Build what ESP_NN names."""
    checkout = os.environ.get("ESP_NN")
    if not checkout:
        clone = "git clone https://github.com/espressif/esp-nn"
        print(f"ESP_NN names no checkout: {clone}, then ESP_NN=esp-nn python {sys.argv[0]}", file=sys.stderr)
        return 2
    return print_built(lambda tools: [build(tools, Path(checkout).resolve(), HERE / "build")])


if __name__ == "__main__":
    sys.exit(main())
