"""A small firmware whose functions leave the machine damaged, each in one way, and an innocent one."""

from __future__ import annotations

from pathlib import Path

from emu.kernels.spec import Dim, Kernel, Scalar, Tensor
from emu.toolchain import Toolchain

SOURCE = r"""
#include <stdint.h>
#define F(name) int32_t name(int32_t n)
void _start(void) { for (;;) ; }
F(innocent) { return n; }
F(recurses) { volatile int32_t k = n; return k + recurses(n + 1); }
F(large_frame) { volatile char b[40000]; b[0] = n; b[39999] = 1; return n + b[39999] - 1; }
F(writes_code) { *(volatile uint32_t *)((uintptr_t)&innocent & ~3) = 0; return n; }
#define FREE ((volatile int32_t *)0x3FCB0000)
F(writes_free_ram) { int32_t old = *FREE; *FREE = 7; return n + old; }
F(rounds_up) { __asm__ volatile("wur %0, fcr" :: "a"(2)); return n; }
F(disables_fpu) { __asm__ volatile("wsr %0, cpenable\n rsync" :: "a"(0)); return n; }
F(moves_vectors) { __asm__ volatile("wsr %0, vecbase\n rsync" :: "a"(0x40378000)); return n; }
F(arms_timer) { __asm__ volatile("wsr %0, ccompare0\n wsr %1, intenable" :: "a"(2000), "a"(64)); return n; }
F(counts) { static int32_t calls; return n + (calls++ > 0); }
F(calls_rom) { ((void (*)(int32_t))0x400011F4)(n); return n; }
void (*volatile nowhere)(void);
F(calls_null) { nowhere(); return n; }
int32_t reads_far(int32_t *y, int32_t n) { return y[20000] + n; }
int32_t writes_far(int32_t *y, int32_t n) { y[20000] = 5; return n; }
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


def build(toolchain: Toolchain, folder: Path) -> Path:
    """The ELF file."""
    (folder / "odd.c").write_text(SOURCE)
    toolchain.compile(
        folder / "odd.c", folder / "odd.o", ["-O1", "-g", "-ffreestanding", "-fno-optimize-sibling-calls"]
    )
    (folder / "odd.ld").write_text(SCRIPT)
    toolchain.link(
        [folder / "odd.o"], folder / "odd.elf", folder / "odd.ld", ["-Wl,--defsym=memcpy=0x400011f4"]
    )
    return folder / "odd.elf"


def returning_n(symbol: str) -> Kernel:
    """The function is said to return its argument."""
    return Kernel(symbol, (Scalar("n", "int32", values="[0,100)"),), lambda n: n, returns="int32")


def with_buffer(symbol: str) -> Kernel:
    """The same with a buffer of ``n`` words that it leaves alone."""
    params = (Tensor("y", "int32", ("n",), role="inout"), Scalar("n", "int32", "n"))
    return Kernel(symbol, params, lambda y, n: n, dims=(Dim("n", 0, 9),), returns="int32")
