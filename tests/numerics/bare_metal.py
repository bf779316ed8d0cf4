"""A matrix product's object code without an operating system: its memory image, and what it prints.

Every operand ends where its last page ends, and the pages around it are not mapped: an access beyond it is a
fault. All operands are printed at the end, so that every byte of them is compared.
"""

from __future__ import annotations

import struct
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tests.numerics.bochs import MEMORY, PAGE, run_machine
from tests.numerics.other_cpu import ObjectCode

Array = np.ndarray[Any, Any]
SOURCES = Path(__file__).parent / "bare_metal"
TABLES, PROGRAM, JOB, OPERANDS = 0x100000, 0x200000, 0x400000, 0x600000
STACK, HEAP = 1 << 16, 1 << 20
FLAGS = [
    "-O1", "-ffreestanding", "-fno-pic", "-fno-stack-protector", "-fcf-protection=none", "-mno-red-zone",
    "-mgeneral-regs-only", "-fno-asynchronous-unwind-tables", "-fno-tree-loop-distribute-patterns",
]  # fmt: skip


SERVED = {"memset", "memcpy", "NRT_MemInfo_alloc_aligned", "NRT_MemInfo_call_dtor"}
"""What program.c has for the code; anything else that it would call outside of itself is one trap."""


class MachineError(AssertionError):
    """The program did not come to its end: an exception, a call of Python, tiles left in use."""


@dataclass
class Product:
    """Operands of one call of :mod:`emu.numerics.gemm.native`, flat; ``acc`` as it is before."""

    x: Array
    x_stride: int
    rows: int
    w: Array
    w_stride: int
    blocks: int
    steps: int
    init: Array
    acc: Array
    acc_stride: int

    @property
    def operands(self) -> tuple[Array, ...]:
        """Arrays in the order in which they are placed and printed."""
        return self.x, self.w, self.init, self.acc


class Memory:
    """The image from TABLES on, with page tables that map only what was placed."""

    def __init__(self) -> None:
        self.data = bytearray(OPERANDS - TABLES)
        self.pages: set[int] = set()
        self.next = OPERANDS

    def put(self, address: int, data: bytes) -> None:
        """Map the pages of ``data`` and write it."""
        end = address + len(data)
        self.pages.update(range(address // PAGE, -(-end // PAGE)))
        self.data.extend(bytes(max(0, end - TABLES - len(self.data))))
        self.data[address - TABLES : end - TABLES] = data

    def place(self, data: bytes) -> int:
        """Put data so that it ends at the end of a page between pages that are not mapped."""
        pages = max(1, -(-len(data) // PAGE))
        end = self.next + (pages + 1) * PAGE
        self.put(end - len(data), data)
        self.next = end
        return end - len(data)

    def image(self) -> bytes:
        """The finished image: four levels of tables; the last GB below 4 GB (the ROM) is one page."""
        assert self.next < MEMORY, "the operands are more than the machine's memory"
        present, big = 3, 0x80
        pages = np.zeros(MEMORY // PAGE, np.uint64)
        pages[sorted(self.pages)] = np.array(sorted(self.pages), np.uint64) * PAGE + present
        leaves = np.pad(pages, (0, -len(pages) % 512)).tobytes()
        first = TABLES + 3 * PAGE
        upper = np.zeros((3, 512), np.uint64)
        upper[0, 0] = TABLES + PAGE + present
        upper[1, 0] = TABLES + 2 * PAGE + present
        upper[1, 3] = 0xC0000000 + big + present
        upper[2, : len(leaves) // PAGE] = np.arange(len(leaves) // PAGE) * PAGE + first + present
        tables = upper.tobytes() + leaves
        assert first + len(leaves) <= PROGRAM
        return tables + bytes(self.data[len(tables) :])


def run_products(code: ObjectCode, products: Sequence[Product]) -> list[tuple[Array, ...]]:
    """Run products by ``code`` under Bochs; returns x, w, init and acc of each as they are afterwards.

    Raises:
        MachineError: the program ended early.
    """
    rom, program = link(code)
    memory = Memory()
    memory.put(PROGRAM, program)
    calls, ranges = [], []
    for p in products:
        x, w, init, acc = places = [memory.place(operand.tobytes()) for operand in p.operands]
        calls += [x, p.x_stride, p.rows, w, p.w_stride, p.blocks, p.steps, init, acc, p.acc_stride]
        for place, operand in zip(places, p.operands, strict=True):
            ranges += [place, operand.nbytes]
    first = JOB + 32
    head = [len(products), len(ranges) // 2, first, first + 8 * len(calls)]
    memory.put(JOB, struct.pack(f"<{len(head + calls + ranges)}Q", *head, *calls, *ranges))
    return _decoded(run_machine(rom, memory.image(), TABLES), products)


def _decoded(printed: bytes, products: Sequence[Product]) -> list[tuple[Array, ...]]:
    kind, rest = printed[:8].decode().strip(), printed[8:]
    if kind == "FAULT":
        vector, place, address = struct.unpack("<3Q", rest)
        raise MachineError(f"exception {vector} at {place:#x}; address of a page fault: {address:#x}")
    if kind == "TILES":
        raise MachineError(f"product {struct.unpack('<Q', rest)[0]} leaves tiles in use")
    if kind != "RESULTS":
        raise MachineError(
            {"OUTSIDE": "the code called Python", "HEAP": "no memory"}.get(kind, f"ended with {kind!r}")
        )
    assert len(rest) == sum(operand.nbytes for p in products for operand in p.operands)
    results, start = [], 0
    for p in products:
        arrays = []
        for operand in p.operands:
            arrays.append(np.frombuffer(rest, operand.dtype, operand.size, start))
            start += operand.nbytes
        results.append(tuple(arrays))
    return results


def link(code: ObjectCode) -> tuple[bytes, bytes]:
    """The ROM and the program around ``code``."""
    with tempfile.TemporaryDirectory(prefix="bare-metal.") as name:
        folder = Path(name)
        (folder / "code.o").write_bytes(code.data)

        def tool(*words: str) -> str:
            done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
            assert done.returncode == 0, f"{' '.join(words)}:\n{done.stderr}"
            return done.stdout

        tool("objcopy", f"--redefine-sym={code.symbol}=product", "code.o")
        undefined = [line.split()[-1] for line in tool("nm", "--undefined-only", "code.o").splitlines()]
        traps = [f"-Wl,--defsym={symbol}=outside" for symbol in undefined if symbol not in SERVED]
        sources = [str(SOURCES / "start.S"), str(SOURCES / "program.c")]
        values = [f"-DTABLES={TABLES:#x}", f"-DJOB={JOB:#x}", f"-DSTACK={STACK}", f"-DHEAP={HEAP}"]
        script = ["-nostdlib", "-static", "-no-pie", f"-Wl,-T,{SOURCES / 'program.ld'}"]
        tool("gcc", *FLAGS, *values, *script, *traps, *sources, "code.o", "-o", "all.elf")
        for section in ("rom", "program"):
            tool("objcopy", "-O", "binary", "-j", f".{section}", "all.elf", section)
        return (folder / "rom").read_bytes(), (folder / "program").read_bytes()
