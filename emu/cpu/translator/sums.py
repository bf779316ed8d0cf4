"""Pending sums of products of bytes: several vectors of eight 32-bit lanes, summed up when somebody asks.

Two dot products of 16 bytes are taken together where they follow each other. Hosts with a byte dot product
(VNNI) multiply unsigned by signed bytes, so x + 128 is used and 128 times the sum of y taken off at the
end; other hosts add neighbouring products of 16-bit words. Both are exact: in WINDOW = 2**14 instructions a
lane gets at most 2**14 * 4 * 255 * 128 < 2**31, or 2**14 * 2 * 255**2 < 2**32, which is read as unsigned.
"""

from __future__ import annotations

from functools import cache

import llvmlite.binding as llvm

from emu.cpu.translator.emitter import Emitter, constant
from emu.cpu.value_int import IntBits
from emu.cpu.value_ir import IrBits

SIGNED, UNSIGNED = "s8", "u8"
VECTORS = 4
"""Sums that run beside each other, so that none waits for the one before."""
_KIND = "<8 x i32>"
_SEVENS = constant(32, (7,) * 8)
_BYTE_DOT = "llvm.x86.avx512.vpdpbusd.256"


@cache
def has_byte_dot() -> bool:
    """True when the host has a dot product of bytes on 256-bit vectors."""
    features = llvm.get_host_cpu_features()
    return bool(features.get("avxvnni") or (features.get("avx512vnni") and features.get("avx512vl")))


class PendingSums:
    """The cells and the code of one unit's pending sums."""

    def __init__(self, em: Emitter, kind: str) -> None:
        self._em = em
        self._kind = kind
        self._uses_byte_dot = kind == SIGNED and has_byte_dot()
        self._waiting: tuple[IrBits, IrBits] | None = None
        self._turn = 0
        cells = [f"%sum{i}" for i in range(VECTORS)]
        self._sums = cells
        self._offsets = [f"%bias{i}" for i in range(VECTORS)] if self._uses_byte_dot else []

    def allocas(self) -> list[str]:
        """Lines for the entry block."""
        return [f"{name} = alloca {_KIND}" for name in self._sums + self._offsets]

    def clear_lines(self) -> list[str]:
        """Lines that set every sum to 0."""
        return [f"store {_KIND} zeroinitializer, ptr {name}" for name in self._sums + self._offsets]

    def clear(self) -> None:
        """Set every sum to 0."""
        self._waiting = None
        for line in self.clear_lines():
            self._em.line(line)

    def add(self, x: IrBits, y: IrBits) -> None:
        """Add the products of 16 bytes of x and of y."""
        if self._waiting is None:
            self._waiting = (x, y)
            return
        (a, b), self._waiting = self._waiting, None
        both = range(32)
        self._add_pair(a.split(8).shuffle(x.split(8), both), b.split(8).shuffle(y.split(8), both))

    def settle(self) -> None:
        """Add what waits for a partner."""
        if self._waiting is None:
            return
        (x, y), self._waiting = self._waiting, None
        zero = IrBits.constant(self._em, IntBits(8, (0,) * 16))
        both = range(32)
        self._add_pair(x.split(8).shuffle(zero, both), y.split(8).shuffle(zero, both))

    def _add_pair(self, x: IrBits, y: IrBits) -> None:
        """Add the products of 32 bytes to the next vector of sums."""
        self._turn = (self._turn + 1) % VECTORS
        if self._uses_byte_dot:
            ones = IrBits.constant(self._em, IntBits(8, (1,) * 32))
            self._byte_dot(self._sums[self._turn], x ^ 0x80, y)
            self._byte_dot(self._offsets[self._turn], ones, y)
        else:
            self._word_dot(self._sums[self._turn], x, y)

    def _byte_dot(self, cell: str, x: IrBits, y: IrBits) -> None:
        em = self._em
        em.declarations.add(f"declare {_KIND} @{_BYTE_DOT}({_KIND}, {_KIND}, {_KIND})")
        old = em.value(f"load {_KIND}, ptr {cell}")
        arguments = f"{_KIND} {old}, {x.split(32).typed}, {y.split(32).typed}"
        em.line(f"store {_KIND} {em.value(f'call {_KIND} @{_BYTE_DOT}({arguments})')}, ptr {cell}")

    def _word_dot(self, cell: str, x: IrBits, y: IrBits) -> None:
        """Sums of two neighbouring products; the host has one instruction for that."""
        em = self._em
        extend = IrBits.sext if self._kind == SIGNED else IrBits.zext
        product = extend(x, 32) * extend(y, 32)
        pairs = product.shuffle(product, range(0, 32, 2)) + product.shuffle(product, range(1, 32, 2))
        low, high = (pairs.shuffle(pairs, range(at, at + 8)) for at in (0, 8))
        old = em.value(f"load {_KIND}, ptr {cell}")
        first = em.value(f"add {_KIND} {old}, {low.name}")
        second = em.value(f"add {_KIND} {first}, {high.name}")
        em.line(f"store {_KIND} {second}, ptr {cell}")

    def lanes(self, lines: list[str]) -> str:
        """Lines that add the vectors up, biases taken off; gives the name of eight 32-bit lanes.

        Modulo 2**32 that is exact: the true sums of a lane are within the limits of the module text.
        """
        total = self._add_up(self._sums, lines)
        if not self._offsets:
            return total
        offset, scaled, result = self._add_up(self._offsets, lines), self._em.fresh(), self._em.fresh()
        lines.append(f"{scaled} = shl {_KIND} {offset}, {_SEVENS}")
        lines.append(f"{result} = sub {_KIND} {total}, {scaled}")
        return result

    def _add_up(self, cells: list[str], lines: list[str]) -> str:
        together = self._em.fresh()
        lines.append(f"{together} = load {_KIND}, ptr {cells[0]}")
        for cell in cells[1:]:
            part, more = self._em.fresh(), self._em.fresh()
            lines.append(f"{part} = load {_KIND}, ptr {cell}")
            lines.append(f"{more} = add {_KIND} {together}, {part}")
            together = more
        return together

    def total(self, lanes: str, lines: list[str]) -> str:
        """Lines that add eight lanes up to an i64; gives its name."""
        em = self._em
        em.declarations.add("declare i64 @llvm.vector.reduce.add.v8i64(<8 x i64>)")
        extend = "sext" if self._kind == SIGNED else "zext"
        wide, total = em.fresh(), em.fresh()
        lines.append(f"{wide} = {extend} {_KIND} {lanes} to <8 x i64>")
        lines.append(f"{total} = call i64 @llvm.vector.reduce.add.v8i64(<8 x i64> {wide})")
        return total

    def low_word(self, lanes: str, lines: list[str]) -> str:
        """Lines that add eight lanes up modulo 2**32; gives the name of an i32."""
        em = self._em
        em.declarations.add(f"declare i32 @llvm.vector.reduce.add.v8i32({_KIND})")
        total = em.fresh()
        lines.append(f"{total} = call i32 @llvm.vector.reduce.add.v8i32({_KIND} {lanes})")
        return total
