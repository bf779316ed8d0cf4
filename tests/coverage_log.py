"""Which rows of the instruction table the campaigns executed, and in which manner.

Nothing is recorded unless ``EMU_COVERAGE_DIR`` names a folder; then every process leaves one file of JSON
lines there, ``{"key": row, "how": manner, "count": cases}``, which tools/isa_coverage.py adds up. Manners:
reference, translated, aliasing, extremes, alignment:0 to alignment:15 (cases by the low four bits of the
first address that the instruction uses, before the vector unit drops them), qemu.
"""

from __future__ import annotations

import atexit
import json
import os
import secrets
from collections import Counter
from pathlib import Path
from typing import Any

from emu.cpu.state import STATES, CpuState
from emu.cpu.stepper import Stepper
from emu.isa.decode import Insn, decode
from emu.isa.operand import Operand
from emu.isa.table import Row

VARIABLE = "EMU_COVERAGE_DIR"
_TOKEN = secrets.token_hex(4)
"""Process numbers come back in long campaigns."""
_WORD_ENDS = frozenset({0, 1, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF})
_COUNTS: Counter[tuple[str, str]] = Counter()


def is_on() -> bool:
    """Whether anything is recorded."""
    return VARIABLE in os.environ


def add(key: str, how: str, count: int = 1) -> None:
    """Record cases of a row."""
    if not _COUNTS:
        atexit.register(flush)
    _COUNTS[key, how] += count


def flush() -> None:
    """Write what was recorded so far; further records go to the same file."""
    if not is_on() or not _COUNTS:
        return
    folder = Path(os.environ[VARIABLE])
    folder.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps({"key": k, "how": h, "count": n}) for (k, h), n in sorted(_COUNTS.items())]
    (folder / f"{os.getpid()}-{_TOKEN}.jsonl").write_text("\n".join(lines) + "\n")


def read(folder: Path) -> Counter[tuple[str, str]]:
    """Sum of all files of a folder, by (row, manner)."""
    found: Counter[tuple[str, str]] = Counter()
    for path in sorted(folder.glob("*.jsonl")):
        for line in path.read_text().splitlines():
            entry = json.loads(line)
            found[entry["key"], entry["how"]] += entry["count"]
    return found


def executed(how: str, stepper: Stepper) -> None:
    """Record the instruction that a stepper ran last."""
    if is_on() and stepper.current is not None:
        add(stepper.current.insn.row.key, how)


# --- the differential campaign ----------------------------------------------------------------------------
class CaseLog:
    """Records the cases of a campaign whose reference side runs on ``stepper``."""

    def __init__(self, stepper: Stepper) -> None:
        self._addresses: list[int] = []
        if is_on():
            machine = stepper.machine
            machine.on_access = lambda address, size, is_store: self._addresses.append(address)
            machine.note_misaligned = lambda bits, address: self._addresses.append(address.unsigned())  # type: ignore

    def case(self, row: Row, word: int, start: CpuState, is_translated: bool) -> None:
        """One case of ``row``, as encoded, from the state ``start``; the reference side has run it."""
        if not is_on():
            return
        insn = decode(word.to_bytes(row.length, "little"), start.PC)
        add(row.key, "reference")
        if is_translated:
            add(row.key, "translated")
        if has_alias(insn):
            add(row.key, "aliasing")
        if has_extreme(insn, start):
            add(row.key, "extremes")
        if self._addresses:
            add(row.key, f"alignment:{self._addresses[0] & 15}")
        self._addresses.clear()


def registers(row: Row) -> list[Operand]:
    """Operands of a row that are registers, fixed ones included."""
    return [o for o in (*row.operands, *row.implicit) if o.kind.is_register]


def has_alias(insn: Insn) -> bool:
    """Two operands name the same register."""
    seen: set[tuple[str, int]] = set()
    for operand in registers(insn.row):
        first = insn.operands[operand.name]
        taken = {(operand.kind.cls, first + i) for i in range(operand.kind.regs)}
        if taken & seen:
            return True
        seen |= taken
    return False


def inputs(row: Row) -> tuple[list[Operand], list[Operand], list[str]]:
    """What a row reads: registers, immediates, states."""
    named = (*row.operands, *row.implicit)
    read = [o for o in named if o.kind.is_register and o.role in ("in", "inout")]
    immediates = [o for o in row.operands if not o.kind.is_register and o.kind.cls != "label"]
    states = [s.name for s in row.states if s.role in ("in", "inout") and not s.is_interface]
    return read, immediates, [name for name in states if name in STATES]


def has_extreme(insn: Insn, start: CpuState) -> bool:
    """A source register or immediate is at an end of its range; in rows without any, a state that is read."""
    read, immediates, states = inputs(insn.row)
    if any(_register_is_extreme(o, insn.operands[o.name], start) for o in read):
        return True
    if any(insn.operands[o.name] in (o.kind.min, o.kind.max) for o in immediates):
        return True
    if read or immediates:
        return False
    return any(start.get(name) in (0, (1 << STATES[name]) - 1) for name in states)


def _register_is_extreme(operand: Operand, index: int, start: CpuState) -> bool:
    values = [_value(start, operand.kind.cls, index + i) for i in range(operand.kind.regs)]
    return any(_IS_EXTREME[operand.kind.cls](value) for value in values)


def _value(start: CpuState, cls: str, index: int) -> int:
    if cls == "ar":
        return int(start.ar[(4 * start.WindowBase + index) & 63])
    if cls == "qr":
        return int(start.get_q(index))
    if cls == "br":
        return start.br >> index & 1
    return int(start.f[index] if cls == "fr" else start.mr[index])


def _is_float_extreme(value: int) -> bool:
    """Zero, subnormal, infinity or NaN."""
    return value >> 23 & 0xFF in (0, 0xFF)


def _is_vector_extreme(value: int) -> bool:
    lanes = [value >> 16 * i & 0xFFFF for i in range(8)]
    return any(lane in (0x7FFF, 0x8000) for lane in lanes) or len(set(value.to_bytes(16, "little"))) == 1


_IS_EXTREME: dict[str, Any] = {
    "ar": _WORD_ENDS.__contains__,
    "mr": _WORD_ENDS.__contains__,
    "br": lambda value: True,
    "fr": _is_float_extreme,
    "qr": _is_vector_extreme,
}
