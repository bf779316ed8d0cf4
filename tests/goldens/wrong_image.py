"""An image with one instruction replaced: the float addition of a function becomes a subtraction."""

from __future__ import annotations

from pathlib import Path

from emu.image import load_image
from emu.isa.decode import decode_all
from emu.isa.encode import assemble_one
from emu.verify.reference import reference_elf


def image_that_subtracts(function: str, path: Path) -> Path:
    """Write the reference image with the first add.s of ``function`` replaced by sub.s."""
    image = load_image(reference_elf())
    symbol = image.symbols.function(function)
    segment = image.segment_at(symbol.address)
    assert segment is not None
    start = symbol.address - segment.address
    code = segment.data[start : start + symbol.size]
    found = next(insn for insn in decode_all(code, symbol.address) if insn.mnemonic == "add.s")
    place = image.data.index(code) + found.pc - symbol.address
    operands = [found.operands[operand.name] for operand in found.row.operands]
    new = assemble_one("sub.s", *operands, pc=found.pc)
    path.write_bytes(image.data[:place] + new + image.data[place + len(new) :])
    return path
