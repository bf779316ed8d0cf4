"""A small firmware of functions that misbehave in one way each, and specs that describe them as innocent."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from emu.kernels.spec import Dim, Kernel, Scalar, Tensor
from emu.toolchain import Toolchain

SOURCE = r"""
#include <stdint.h>
#define F(name) void name(const int8_t *x, int8_t *y, int32_t n)
#define COPY for (int32_t i = 0; i < n; i++) y[i] = x[i]
void _start(void) { for (;;) ; }
volatile int32_t sink;
F(good) { COPY; }
F(endless) { COPY; for (;;) sink++; }
F(reads_behind) { COPY; sink = x[n]; }
F(reads_before) { COPY; sink = x[-3]; }
F(writes_behind) { COPY; y[n] = 0x33; }
F(writes_before) { COPY; y[-2] = 0x33; }
F(writes_input) { COPY; if (n) ((int8_t *)x)[n - 1] ^= 0x55; }
F(wild) { COPY; *(volatile int32_t *)0x10 = 1; }
void (*volatile somewhere)(void) = (void (*)(void))0x3FC98000;
F(into_data) { COPY; somewhere(); }
F(remembers) { static int32_t calls; COPY; if (calls++ && n) y[0] = 77; }
F(reads_garbage) { int8_t a[16]; __asm__ volatile("" : "=m"(a)); COPY; if (n) y[0] += a[3]; }
F(dirty_float) { float f; __asm__ volatile("mov.s %0, f11" : "=f"(f)); COPY; if (n) y[0] += f != 0; }
F(breaks_abi) { COPY; int32_t old; __asm__ volatile("rsil %0, 3" : "=a"(old)); sink = old; }
int32_t many(int8_t a, uint8_t b, int64_t c, float d, int16_t e, uint64_t f, const int8_t *x, int32_t n,
             int32_t *y)
{
    for (int32_t i = 0; i < n; i++) y[i] = x[i] + a + b + (int32_t)(c >> 33) + e + (int32_t)(f >> 40);
    return d == 1.5f ? 7 : -7;
}
uint64_t wide(uint32_t a) { return ((uint64_t)a << 32) | ~a; }
float half(float a) { return a * 0.5f; }
int8_t small(int8_t a) { return -a; }
"""

SCRIPT = """
ENTRY(_start)
MEMORY { iram (rx) : ORIGIN = 0x40378000, LENGTH = 0x8000 dram (rw) : ORIGIN = 0x3FC98000, LENGTH = 0x8000 }
SECTIONS
{
    .text : { *(.literal .literal.*) *(.text .text.*) } > iram
    .data : { *(.rodata .rodata.* .data .data.*) } > dram
    .bss (NOLOAD) : { *(.bss .bss.* COMMON) } > dram
}
"""

PLAIN = (
    "good",
    "endless",
    "reads_behind",
    "reads_before",
    "writes_behind",
    "writes_before",
    "writes_input",
    "wild",
    "into_data",
    "remembers",
    "reads_garbage",
    "dirty_float",
    "breaks_abi",
)


def build(toolchain: Toolchain, folder: Path) -> Path:
    """The ELF file."""
    (folder / "strange.c").write_text(SOURCE)
    toolchain.compile(folder / "strange.c", folder / "strange.o", ["-O1", "-g", "-ffreestanding"])
    (folder / "strange.ld").write_text(SCRIPT)
    elf = folder / "strange.elf"
    toolchain.link([folder / "strange.o"], elf, folder / "strange.ld")
    return elf


def copy(x, y, n):
    y[:] = x


def plain(symbol: str, mirror=copy) -> Kernel:
    params = (
        Tensor("x", "int8", ("n",), values="s8_full"),
        Tensor("y", "int8", ("n",), role="out"),
        Scalar("n", "int32", "n"),
    )
    return Kernel(symbol, params, mirror, dims=(Dim("n", 0, 40),))


def _many(a, b, c, d, e, f, x, n, y):
    total = int(a) + int(b) + (int(c) >> 33) + int(e) + (int(f) >> 40)
    y[:] = (x.astype(np.int64) + total).astype(np.int32)
    return 7 if d == np.float32(1.5) else -7


def many() -> Kernel:
    """Every way of passing an argument: narrow signed and unsigned, 64 bits in pairs, float, stack."""
    params = (
        Scalar("a", "int8"),
        Scalar("b", "uint8"),
        Scalar("c", "int64"),
        Scalar("d", "float32"),
        Scalar("e", "int16"),
        Scalar("f", "uint64"),
        Tensor("x", "int8", ("n",), values="s8_full"),
        Scalar("n", "int32", "n"),
        Tensor("y", "int32", ("n",), role="out"),
    )
    return Kernel("many", params, _many, dims=(Dim("n", 0, 40),), returns="int32")


def returning() -> list[Kernel]:
    """Every way of returning a result."""
    return [
        Kernel(
            "wide", (Scalar("a", "uint32"),), lambda a: int(a) << 32 | ~int(a) & 0xFFFFFFFF, returns="uint64"
        ),
        Kernel("half", (Scalar("a", "float32"),), lambda a: a * np.float32(0.5), returns="float32"),
        Kernel("small", (Scalar("a", "int8"),), lambda a: -int(a), returns="int8"),
    ]
