"""ACCX as a base and pending vector sums, so that byte multiply-accumulates need neither a reduction nor a
clamp.

The architecture clamps ACCX to 40 bits after every instruction. While the base lies within +-2**38 and
fewer than WINDOW instructions have executed since, no clamp can act: one adds at most 16 * 2**14 (signed)
or 16 * 255**2 (unsigned), so the sum stays within 2**39, and no 32-bit lane of the pending sums overflows
(see sums.py). The true value is the base plus the pending sums; it is formed when something reads ACCX and
whenever state goes to memory. When the window is used up the pending sums are folded into the base; a base
that is too large ends the unit, and units that clamp every time go on (Mode.exact_accx).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from emu.cpu.translator.emitter import RARELY, STATE
from emu.cpu.translator.leave import Leave
from emu.cpu.translator.sums import SIGNED, UNSIGNED, PendingSums
from emu.cpu.value_ir import IrBits

if TYPE_CHECKING:
    from emu.cpu.translator.frame import Frame

WINDOW = 1 << 14
"""Instructions for which a base within the limit is good."""
LIMIT = 1 << 38
NEVER = (1 << 63) - 1


def lazy_kind(mnemonics: list[str]) -> str:
    """The kind of byte multiply-accumulates that the unit has most of: "s8", "u8", or "" for none."""
    counts = {kind: sum(f".{kind}.accx" in name for name in mnemonics) for kind in (SIGNED, UNSIGNED)}
    best = max(counts, key=lambda kind: counts[kind])
    return best if counts[best] else ""


def is_large(accx: int) -> bool:
    """True when the 40-bit value is no base for pending sums."""
    return not (accx < LIMIT or accx >= (1 << 40) - LIMIT)


class Accx(IrBits):
    """The value of ACCX. Its low word has a cheaper sum of its own; LLVM drops the one that nobody uses."""

    __slots__ = ("low_word",)

    low_word: IrBits

    @classmethod
    def of_parts(cls, whole: IrBits, low_word: IrBits) -> Accx:
        """40 bits, and their low 32."""
        made = cls(whole.em, 40, 1, {40: whole.name})
        made.low_word = low_word
        return made

    def trunc(self, lane: int) -> IrBits:
        """See :meth:`Bits.trunc`."""
        return self.low_word.trunc(lane) if lane <= 32 else super().trunc(lane)


class Accumulator:
    """The parts of ACCX in one unit. `kind` is that of the pending sums."""

    def __init__(self, frame: Frame, kind: str) -> None:
        self._frame = frame
        self._em = frame.em
        self.kind = kind
        self._sums = PendingSums(frame.em, kind)
        self.is_open = False
        """The window is known to last until the end of the block."""

    def allocas(self) -> list[str]:
        """Lines for the entry block."""
        return ["%accx.base = alloca i64", "%accx.stop = alloca i64", *self._sums.allocas()]

    def takes(self, writers: frozenset[str]) -> bool:
        """True when these instructions change ACCX without a look at its value."""
        return all(name == "ee.zero.accx" or f".vmulas.{self.kind}.accx" in name for name in writers)

    # --- used by the frame ----------------------------------------------------------------------------
    def settle(self) -> None:
        """Nothing of the pending sums is outside of their cells from here on."""
        self._sums.settle()

    def read(self) -> IrBits:
        """The true value, 40 bits."""
        self.settle()
        lines: list[str] = []
        lanes = self._sums.lanes(lines)
        word = self._sums.low_word(lanes, lines)
        whole = self._total(lines, lanes)
        base, low = self._em.fresh(), self._em.fresh()
        lines.append(f"{base} = load i64, ptr %accx.base")
        lines.append(f"{low} = trunc i64 {base} to i32")
        for line in lines:
            self._em.line(line)
        narrow = IrBits.of(self._em, 32, 1, low) + IrBits.of(self._em, 32, 1, word)
        return Accx.of_parts(IrBits.of(self._em, 64, 1, whole).trunc(40), narrow)

    def write(self, value: IrBits) -> None:
        """A new base without pending sums."""
        em = self._em
        wide = value.sext(64) if self.kind == SIGNED else value.zext(64)
        em.line(f"store {wide.typed}, ptr %accx.base")
        self._sums.clear()
        self.is_open = value.value is not None and not is_large(value.value)
        if self.is_open:
            em.line(f"store {(self._frame.budget_left() - WINDOW).typed}, ptr %accx.stop")
        else:
            em.line(f"store i64 {NEVER}, ptr %accx.stop")

    def store_lines(self, pointer: str, lines: list[str]) -> None:
        """Lines that store the true value to the field at `pointer`."""
        total = self._total(lines)
        masked = self._em.fresh()
        lines.append(f"{masked} = and i64 {total}, {(1 << 40) - 1}")
        lines.append(f"store i64 {masked}, ptr {pointer}{STATE}")

    def load_lines(self, pointer: str, lines: list[str]) -> None:
        """Lines that make the field at `pointer` the base; nothing is known of its size."""
        field, name = self._em.fresh(), self._em.fresh()
        lines.append(f"{field} = load i64, ptr {pointer}{STATE}")
        if self.kind == SIGNED:
            high = self._em.fresh()
            lines.append(f"{high} = shl i64 {field}, 24")
            lines.append(f"{name} = ashr i64 {high}, 24")
        else:
            name = field
        lines.append(f"store i64 {name}, ptr %accx.base")
        lines.extend(self._sums.clear_lines())
        lines.append(f"store i64 {NEVER}, ptr %accx.stop")

    def _total(self, lines: list[str], lanes: str = "") -> str:
        base, total = self._em.fresh(), self._em.fresh()
        pending = self._sums.total(lanes or self._sums.lanes(lines), lines)
        lines.append(f"{base} = load i64, ptr %accx.base")
        lines.append(f"{total} = add i64 {base}, {pending}")
        return total

    def _total_here(self) -> IrBits:
        lines: list[str] = []
        name = self._total(lines)
        for line in lines:
            self._em.line(line)
        return IrBits.of(self._em, 64, 1, name)

    # --- used by the multiply-accumulates -----------------------------------------------------------------
    def add(self, x: IrBits, y: IrBits) -> None:
        """Add the dot product of 16 bytes and 16 bytes to the pending sums."""
        self._ensure_open()
        self._sums.add(x, y)
        self._frame.touch(("ACCX", 0))

    def _ensure_open(self) -> None:
        """Once for each block: enough is left of the window for the rest of it, or a new one is opened."""
        if self.is_open:
            return
        self.is_open = True
        frame, em = self._frame, self._em
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
        return IrBits.of(self._em, 64, 1, self._em.value("load i64, ptr %accx.stop"))

    def renew(self, budget: IrBits) -> IrBits:
        """Fold the pending sums into the base and open a new window; 1 bit: the base is small enough for
        it.
        """
        em = self._em
        total = self._total_here()
        small = (total + LIMIT).ult(2 * LIMIT) if self.kind == SIGNED else total.ult(LIMIT)
        em.line(f"store {total.typed}, ptr %accx.base")
        self._sums.clear()
        end = small.select(budget - WINDOW, NEVER)
        em.line(f"store {end.typed}, ptr %accx.stop")
        return small
