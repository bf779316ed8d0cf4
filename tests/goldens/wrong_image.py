"""Images with single instructions replaced: faults that are planted without a compiler."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from emu.image import load_image
from emu.isa.decode import decode_all
from emu.isa.encode import assemble_one
from emu.verify.reference import reference_elf

Replaced = tuple[str, str, str]
"""(function, mnemonic, other mnemonic with the same operands)."""


def wrong_image(path: Path, replaced: Sequence[Replaced]) -> Path:
    """Write the reference image with the first such instruction of each function replaced."""
    image = load_image(reference_elf())
    data = image.data
    for function, old, new in replaced:
        symbol = image.symbols.function(function)
        segment = image.segment_at(symbol.address)
        assert segment is not None
        start = symbol.address - segment.address
        code = segment.data[start : start + symbol.size]
        found = next(insn for insn in decode_all(code, symbol.address) if insn.mnemonic == old)
        place = image.data.index(code) + found.pc - symbol.address
        operands = [found.operands[operand.name] for operand in found.row.operands]
        other = assemble_one(new, *operands, pc=found.pc)
        assert len(other) == found.length
        data = data[:place] + other + data[place + len(other) :]
    path.write_bytes(data)
    return path


def image_that_subtracts(function: str, path: Path) -> Path:
    """The float addition of a function becomes a subtraction."""
    return wrong_image(path, [(function, "add.s", "sub.s")])
