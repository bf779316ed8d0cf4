"""Build kernels of Espressif's esp-dsp for the ESP32-S3, from a checkout of yours.

    ESP_DSP=/path/to/esp-dsp python examples/esp_dsp/build.py

writes examples/esp_dsp/build/app.elf. Nothing of esp-dsp is in this repository. A compiler is fetched when
there is none.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from emu.toolchain import Toolchain, print_built

HERE = Path(__file__).resolve().parent
IDF = HERE.parent / "idf"
FLAGS = (
    "-O2", "-ggdb", "-ffunction-sections", "-fdata-sections", "-ffreestanding", "-std=gnu17",
    "-mlongcalls", "-ffp-contract=off",
)  # fmt: skip
LINK = ("-Wl,--entry=0", f"-Wl,{IDF / 'rom.ld'}")
SOURCES = (
    "dotprod/fixed/dsps_dotprod_s16_ae32.S",
    "dotprod/float/dsps_dotprod_f32_ae32.S",
    "fft/fixed/dsps_fft2r_sc16_ae32.S",
    "fft/float/dsps_fft2r_fc32_ae32_.S",
    "fft/float/dsps_fft2r_fc32_aes3_.S",
    "fft/float/dsps_fft4r_fc32_aes3_.S",
    "fir/fixed/dsps_fird_s16_ae32.S",
    "fir/fixed/dsps_fird_s16_ansi.c",
    "fir/float/dsps_fir_f32_ae32.S",
    "fir/float/dsps_fird_f32_aes3.S",
    "iir/biquad/dsps_biquad_f32_ae32.S",
    "math/add/fixed/dsps_add_s16_ae32.S",
    "math/mul/fixed/dsps_mul_s16_aes3.S",
    "math/mul/fixed/dsps_mul_s8_aes3.S",
    "math/mulc/fixed/dsps_mulc_s16_ae32.S",
    "math/sub/fixed/dsps_sub_s16_aes3.S",
    "math/sub/fixed/dsps_sub_s8_aes3.S",
    "matrix/mul/float/dspm_mult_f32_ae32.S",
    "matrix/mul/float/dspm_mult_f32_aes3.S",
)
"""Below modules/. Each is built alone, so that a checkout in which one is missing gives the others."""


def includes(modules: Path) -> list[str]:
    """Folders of headers, and of the assembly that other assembly includes; ours come first."""
    theirs = {p.parent for p in modules.rglob("*.h") if "_sim" not in p.parent.name}
    theirs |= {p.parent for p in modules.rglob("*_m_ae32*.S")}
    return [f"-I{folder}" for folder in (HERE / "idf", IDF, *sorted(theirs))]


def build(toolchain: Toolchain, checkout: Path, out: Path) -> Path:
    """Compile what ``checkout`` has of SOURCES and link ``out / "app.elf"``. Raises ToolchainError."""
    modules = checkout / "modules"
    out.mkdir(parents=True, exist_ok=True)
    flags, objects = includes(modules), []
    for name in SOURCES:
        source = modules / name
        if not source.is_file():
            print(f"not in this checkout: modules/{name}", file=sys.stderr)
            continue
        make = toolchain.assemble if source.suffix == ".S" else toolchain.compile
        chip = "ESP32" if "_ae32" in source.name else "ESP32S3"
        objects.append(out / f"{source.stem}.o")
        make(source, objects[-1], [*FLAGS, f"-DCONFIG_IDF_TARGET_{chip}=1", *flags])
    elf = out / "app.elf"
    toolchain.link(objects, elf, IDF / "sections.ld", LINK)
    return elf


def main() -> int:
    """Build from the checkout that ESP_DSP names."""
    checkout = Path(os.environ.get("ESP_DSP", ""))
    if not (checkout / "modules" / "common").is_dir():
        print("ESP_DSP must name a checkout of esp-dsp (a folder with modules/common)", file=sys.stderr)
        return 2
    return print_built(lambda tools: [build(tools, checkout, HERE / "build")])


if __name__ == "__main__":
    sys.exit(main())
