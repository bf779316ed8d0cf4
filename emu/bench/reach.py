"""Which instructions a function can reach, and which of them QEMU's core does not have."""

from __future__ import annotations

from emu.image import Image
from emu.isa.decode import IllegalInstruction, Insn, decode
from emu.isa.table import Row

_ENDS = frozenset({"j", "jx", "ret", "ret.n", "retw", "retw.n", "ill", "ill.n"})
_HIGH_PRODUCT = frozenset({"muluh", "mulsh"})
_ESTIMATES = frozenset({"recip0.s", "rsqrt0.s"})
_VECTOR_REGISTERS = ("accx", "qacc", "fft_bit_width", "sar_byte", "ua_state", "gpio_out")


def reachable(image: Image, symbol: str) -> dict[str, str]:
    """Mnemonics that may run in a call of ``symbol``, each with one function that contains it.

    Calls, branches, jumps and loops with known targets are followed. Raises SymbolError.
    """
    found: dict[str, str] = {}
    seen: set[int] = set()
    waiting = [image.symbols.function(symbol).address]
    while waiting:
        pc = waiting.pop()
        insn = None if pc in seen else _instruction(image, pc)
        seen.add(pc)
        if insn is None:
            continue
        found.setdefault(insn.mnemonic, image.locate(pc).symbol or symbol)
        if insn.mnemonic not in _ENDS:
            waiting.append(insn.next_pc)
        waiting += [
            insn.operands[o.name] for o in insn.row.operands if o.kind.cls == "label" and insn.row.flow
        ]
    return found


def _instruction(image: Image, pc: int) -> Insn | None:
    segment = image.segment_at(pc)
    if segment is None:
        return None
    try:
        return decode(segment.data[pc - segment.address :][:4], pc)
    except IllegalInstruction:
        return None


def lacking(row: Row) -> str:
    """Why QEMU's core cannot run a row that user code may contain; empty if it can."""
    if row.group == "pie" or row.mnemonic.split(".")[-1].startswith(_VECTOR_REGISTERS):
        return "no QEMU core has the vector unit"
    if row.mnemonic in _HIGH_PRODUCT:
        return "the core has no high product (MUL32_HIGH)"
    if row.mnemonic in _ESTIMATES:
        return "the core lacks this estimate"
    return ""


def why_not_on_qemu(image: Image, symbol: str) -> str:
    """The first instruction of a function that QEMU lacks, with the reason; empty when it can run there."""
    from emu.isa.table import by_key

    for mnemonic, where in sorted(reachable(image, symbol).items()):
        why = lacking(by_key()[mnemonic])
        if why:
            return f"{mnemonic} in {where}: {why}"
    return ""
