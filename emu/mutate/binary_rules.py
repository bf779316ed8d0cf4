"""Mutations of single instructions of an image: a legal neighbour of the same length in its place."""

from __future__ import annotations

from collections.abc import Iterator

from emu.image import Image, Symbol
from emu.isa.decode import IllegalInstruction, Insn, decode
from emu.isa.disasm import text
from emu.isa.encode import OperandError, encode
from emu.isa.table import Operand, Row, by_key, rows
from emu.mutate.code import instructions
from emu.mutate.mutant import Mutant
from emu.mutate.neighbours import commutes, variants

_FIXED = frozenset({"entry", "retw", "retw.n", "nop", "nop.n"})
_COUNTS = {"ar": 16, "fr": 16, "qr": 8, "br": 16, "mr": 4}


def mutants(image: Image, function: Symbol) -> Iterator[Mutant]:
    """Every mutant of the instructions of one function."""
    for insn in instructions(image, function):
        if insn.mnemonic not in _FIXED:
            for rule, new in _changes(insn):
                yield _mutant(image, function, insn, rule, new)


def _changes(insn: Insn) -> Iterator[tuple[str, bytes]]:
    old = insn.word.to_bytes(insn.length, "little")
    seen = {old}
    for rule, row, values in _neighbours(insn):
        try:
            new = encode(row, values, insn.pc)
            again = decode(new, insn.pc)
        except (OperandError, IllegalInstruction):
            continue
        if new not in seen and len(new) == len(old) and again.row is row:
            seen.add(new)
            yield rule, new


def _neighbours(insn: Insn) -> Iterator[tuple[str, Row, dict[str, int]]]:
    written = {o.name: insn.operands[o.name] for o in insn.row.operands}
    for operand in insn.row.operands:
        for other in _other_values(insn, operand):
            yield _rule_of(operand), insn.row, {**written, operand.name: other}
    yield from _exchanges(insn, written)
    for row in variants(insn.row, rows()):
        if row.length == insn.length:
            names = [o.name for o in insn.row.operands]
            values = {o.name: written[n] for o, n in zip(row.operands, names, strict=True)}
            yield "variant", row, values
    if insn.row.flow == "" and insn.length in (2, 3):
        nop = by_key()["nop.n" if insn.length == 2 else "nop"]
        yield "removal", nop, {}


def _exchanges(insn: Insn, written: dict[str, int]) -> Iterator[tuple[str, Row, dict[str, int]]]:
    operands = insn.row.operands
    for i, a in enumerate(operands):
        for j in range(i + 1, len(operands)):
            b = operands[j]
            is_stack = a.kind.cls == "ar" and 1 in (written[a.name], written[b.name])
            alike = a.kind.is_register and a.kind.cls == b.kind.cls
            if alike and not is_stack and not commutes(insn.row, i, j):
                yield "exchange", insn.row, {**written, a.name: written[b.name], b.name: written[a.name]}


def _rule_of(operand: Operand) -> str:
    if operand.kind.is_register:
        return "register"
    return "target" if operand.kind.cls == "label" else "immediate"


def _other_values(insn: Insn, operand: Operand) -> Iterator[int]:
    value = insn.operands[operand.name]
    if operand.kind.is_register:
        count = _COUNTS[operand.kind.cls]
        if operand.kind.cls == "ar" and value == 1:
            return
        for step in (operand.kind.regs, count - operand.kind.regs):
            if operand.kind.cls != "ar" or (value + step) % count not in (0, 1):
                yield (value + step) % count
    elif operand.kind.cls == "imm":
        step = max(operand.kind.step, 1)
        yield value + step
        yield value - step
    elif insn.mnemonic.startswith(("b", "loop")):
        yield value + 3 if insn.mnemonic.startswith("loop") else insn.next_pc


def _mutant(image: Image, function: Symbol, insn: Insn, rule: str, new: bytes) -> Mutant:
    place = image.lines.at(insn.pc) or ("", 0)
    what = f"{text(insn)} -> {text(decode(new, insn.pc))}"
    return Mutant(
        "binary",
        rule,
        place[0],
        function.name,
        place[1],
        place[1],
        insn.pc,
        insn.pc + insn.length,
        new.hex(),
        " ".join(what.split()),
    )


def patched(data: bytes, image: Image, mutant: Mutant) -> bytes:
    """The bytes of the ELF file with the instruction replaced, in every segment that holds it."""
    new = bytes.fromhex(mutant.text)
    segment = image.segment_at(mutant.start)
    assert segment is not None
    inside = mutant.start - segment.address
    at = _file_offset(data, segment.address) + inside
    assert data[at : at + len(new)] == segment.data[inside : inside + len(new)]
    return data[:at] + new + data[at + len(new) :]


def _file_offset(data: bytes, address: int) -> int:
    """Where the program header that is loaded at an address has its bytes in the file."""
    import io

    from elftools.elf.elffile import ELFFile

    for header in ELFFile(io.BytesIO(data)).iter_segments("PT_LOAD"):
        if header["p_vaddr"] == address and header["p_filesz"]:
            return int(header["p_offset"])
    raise ValueError(f"no segment of the file is loaded at {address:#010x}")
