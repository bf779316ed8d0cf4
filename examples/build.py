"""Build an example as ESP-IDF would: its compiler flags, its sections, its memory map, the ROM's symbols.

    python examples/build.py int8_layer

writes examples/int8_layer/build/app.elf. A compiler is fetched when there is none. In a real project
``idf.py build`` stands in the place of this file.
"""

from __future__ import annotations

import sys
from pathlib import Path

from emu.toolchain import Toolchain, print_built

HERE = Path(__file__).resolve().parent
IDF = HERE / "idf"
COMMON = (
    "-O2", "-ggdb", "-ffunction-sections", "-fdata-sections", "-fstrict-volatile-bitfields",
    "-fno-jump-tables", "-fno-tree-switch-conversion", "-ffreestanding", "-Wall", "-Wextra", "-Werror",
)  # fmt: skip
FLAGS = {
    ".c": (*COMMON, "-std=gnu17"),
    ".cpp": (*COMMON, "-std=gnu++20", "-fno-exceptions", "-fno-rtti"),
    ".S": ("-ggdb",),
}
LINK = ("-Wl,--gc-sections", "-Wl,--undefined=app_main", f"-Wl,{IDF / 'rom.ld'}")


def build(toolchain: Toolchain, folder: Path, out: Path) -> Path:
    """Compile every source of ``folder`` and link ``out / "app.elf"``. Raises ToolchainError."""
    out.mkdir(parents=True, exist_ok=True)
    objects = []
    for source in sorted([*folder.iterdir(), IDF / "system.c"]):
        if source.suffix in FLAGS:
            make = toolchain.assemble if source.suffix == ".S" else toolchain.compile
            objects.append(out / f"{source.stem}.o")
            make(source, objects[-1], [*FLAGS[source.suffix], f"-I{IDF}", f"-I{folder}"])
    elf = out / "app.elf"
    toolchain.link(objects, elf, IDF / "sections.ld", LINK)
    return elf


def main() -> int:
    """Build the examples that are named, or all."""
    names = sys.argv[1:] or sorted(p.parent.name for p in HERE.glob("*/spec.py"))
    for name in names:
        if not (HERE / name / "spec.py").is_file():
            print(f"no example is called {name!r}", file=sys.stderr)
            return 2
    return print_built(lambda tools: (build(tools, HERE / name, HERE / name / "build") for name in names))


if __name__ == "__main__":
    sys.exit(main())
