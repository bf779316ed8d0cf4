"""ACCX as a base and pending vector sums, so that byte multiply-accumulates need neither a reduction nor a
clamp.

The architecture clamps ACCX to 40 bits after every instruction. While the base lies within +-2**38 and
fewer than 2**15 instructions have executed since, no clamp can act: one adds at most 16 * 2**14 (signed) or
16 * 255**2 (unsigned), so the sum stays within 2**39, and no 32-bit lane of the pending sums overflows. The
true value is base plus the sum of the lanes; it is formed when something reads ACCX and whenever state goes
to memory. When the window is used up the pending sums are folded into the base; a base that is too large
ends the unit, and units that clamp every time go on (Mode.exact_accx).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from emu.cpu.state import OFFSETS
from emu.cpu.translator.emitter import RARELY, STATE
from emu.cpu.translator.leave import Leave
from emu.cpu.value_ir import IrBits, scalar

if TYPE_CHECKING:
    from emu.cpu.translator.frame import Frame

WINDOW = 1 << 15
"""Instructions for which a base within the limit is good."""
LIMIT = 1 << 38
NEVER = (1 << 63) - 1
_KIND = "<8 x i32>"

SIGNED, UNSIGNED = "s8", "u8"


def lazy_kind(mnemonics: list[str]) -> str:
    """The kind of byte multiply-accumulates that the unit has most of: "s8", "u8", or "" for none."""
    counts = {kind: sum(f".{kind}.accx" in name for name in mnemonics) for kind in (SIGNED, UNSIGNED)}
    best = max(counts, key=lambda kind: counts[kind])
    return best if counts[best] else ""


def is_large(accx: int) -> bool:
    """True when the 40-bit value is no base for pending sums."""
    return not (accx < LIMIT or accx >= (1 << 40) - LIMIT)


class Accumulator:
    """The parts of ACCX in one unit. `kind` is that of the pending sums."""

    def __init__(self, frame: Frame, kind: str) -> None:
        self._frame = frame
        self.kind = kind
        self.is_open = False
        """The window is known to last until the end of the block."""

    def allocas(self) -> list[str]:
        """Lines for the entry block."""
        return ["%accx.base = alloca i64", f"%accx.sum = alloca {_KIND}", "%accx.stop = alloca i64"]

    # --- used by the frame ----------------------------------------------------------------------------
    def read(self) -> IrBits:
        """The true value, 40 bits."""
        em = self._frame.em
        lines: list[str] = []
        name = self._total(lines)
        for line in lines:
            em.line(line)
        return IrBits.of(em, 64, 1, name).trunc(40)

    def write(self, value: IrBits) -> None:
        """A new base without pending sums."""
        em, frame = self._frame.em, self._frame
        wide = value.sext(64) if self.kind == SIGNED else value.zext(64)
        em.line(f"store {wide.typed}, ptr %accx.base")
        em.line(f"store {_KIND} zeroinitializer, ptr %accx.sum")
        if value.value is not None and not is_large(value.value):
            self._open(frame.budget_left())
            self.is_open = True
        else:
            em.line(f"store i64 {NEVER}, ptr %accx.stop")
            self.is_open = False

    def store_lines(self, pointer: str, lines: list[str]) -> None:
        """Lines that store the true value to the field at `pointer`."""
        total = self._total(lines)
        masked = self._frame.em.fresh()
        lines.append(f"{masked} = and i64 {total}, {(1 << 40) - 1}")
        lines.append(f"store i64 {masked}, ptr {pointer}{STATE}")

    def load_lines(self, pointer: str, lines: list[str]) -> None:
        """Lines that make the field at `pointer` the base; nothing is known of its size."""
        field, name = self._frame.em.fresh(), self._frame.em.fresh()
        lines.append(f"{field} = load i64, ptr {pointer}{STATE}")
        if self.kind == SIGNED:
            high = self._frame.em.fresh()
            lines.append(f"{high} = shl i64 {field}, 24")
            lines.append(f"{name} = ashr i64 {high}, 24")
        else:
            name = field
        lines.append(f"store i64 {name}, ptr %accx.base")
        lines.append(f"store {_KIND} zeroinitializer, ptr %accx.sum")
        lines.append(f"store i64 {NEVER}, ptr %accx.stop")

    def _total(self, lines: list[str]) -> str:
        em = self._frame.em
        em.declarations.add("declare i64 @llvm.vector.reduce.add.v8i64(<8 x i64>)")
        base, lanes, wide, pending, total = (em.fresh() for _ in range(5))
        extend = "sext" if self.kind == SIGNED else "zext"
        lines.append(f"{base} = load i64, ptr %accx.base")
        lines.append(f"{lanes} = load {_KIND}, ptr %accx.sum")
        lines.append(f"{wide} = {extend} {_KIND} {lanes} to <8 x i64>")
        lines.append(f"{pending} = call i64 @llvm.vector.reduce.add.v8i64(<8 x i64> {wide})")
        lines.append(f"{total} = add i64 {base}, {pending}")
        return total

    # --- used by the multiply-accumulates -----------------------------------------------------------------
    def add(self, products: IrBits) -> None:
        """Add eight 32-bit lanes of products to the pending sums."""
        em = self._frame.em
        self._ensure_open()
        lanes = em.value(f"load {_KIND}, ptr %accx.sum")
        total = em.value(f"add {_KIND} {lanes}, {products.name}")
        em.line(f"store {_KIND} {total}, ptr %accx.sum")
        self._frame.touch(("ACCX", 0))

    def _ensure_open(self) -> None:
        """Once for each block: enough is left of the window for the rest of it, or a new window is opened."""
        if self.is_open:
            return
        self.is_open = True
        frame, em = self._frame, self._frame.em
        budget = frame.budget_left()
        fine = self.stop().slt(budget - frame.block_length)
        renew, join = em.new_block("renew"), em.new_block("ok")
        em.fork(fine.name, join, renew, RARELY)
        em.enter(renew)
        small = self.renew(budget)
        frame.exit_unless(small.name, frame.exact_pc, Leave.EXACT)
        em.jump(join)
        em.enter(join)

    def stop(self) -> IrBits:
        """The budget at which the window ends, 64 bits."""
        em = self._frame.em
        return IrBits.of(em, 64, 1, em.value("load i64, ptr %accx.stop"))

    def renew(self, budget: IrBits) -> IrBits:
        """Fold the pending sums into the base and open a new window; 1 bit: the base is small enough for
        it.
        """
        em = self._frame.em
        lines: list[str] = []
        total = IrBits.of(em, 64, 1, self._total(lines))
        for line in lines:
            em.line(line)
        small = (total + LIMIT).ult(2 * LIMIT) if self.kind == SIGNED else total.ult(LIMIT)
        em.line(f"store {total.typed}, ptr %accx.base")
        em.line(f"store {_KIND} zeroinitializer, ptr %accx.sum")
        end = small.select(budget - WINDOW, NEVER)
        em.line(f"store {end.typed}, ptr %accx.stop")
        return small

    def _open(self, budget: IrBits) -> None:
        """A window from here on: it ends when the budget has fallen by WINDOW."""
        self._frame.em.line(f"store {(budget - WINDOW).typed}, ptr %accx.stop")


class Products(IrBits):
    """Lanes of products on their way to the pending sums."""


def products_of(x: IrBits, y: IrBits, kind: str) -> Products:
    """Eight 32-bit sums of two neighbouring products of bytes; the host has one instruction for that."""
    extend = IrBits.sext if kind == SIGNED else IrBits.zext
    product = extend(x.split(8), 32) * extend(y.split(8), 32)
    pairs = product.shuffle(product, range(0, 16, 2)) + product.shuffle(product, range(1, 16, 2))
    return Products(pairs.em, 32, 8, {32: pairs.name})


__all__ = ["OFFSETS", "Accumulator", "Products", "is_large", "lazy_kind", "products_of", "scalar"]
