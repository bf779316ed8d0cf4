"""Our encoder against the assembler: the same bytes for every row, the same refusals."""

from __future__ import annotations

import random
import re
import subprocess
from pathlib import Path

import pytest
from isa_samples import at, end_raws, random_raw

from emu.isa import registers
from emu.isa.decode import decode
from emu.isa.disasm import text
from emu.isa.encode import encode
from emu.isa.table import Row, rows
from emu.toolchain import Toolchain

ORIGIN = 0x100000
# The assembler never chooses the 4-byte nop by itself.
ASSEMBLED = [row for row in rows() if row.key != "nop/4"]


def is_refused(row: Row, values: dict[str, int]) -> bool:
    """What the assembler will not write although it can be encoded."""
    results = [(op.kind.cls, values[op.name]) for op in row.operands if op.is_written and op.kind.is_register]
    too_long = row.mnemonic == "extui" and values["sh"] + values["len"] > 32
    return len(set(results)) != len(results) or too_long


def source_line(row: Row, values: dict[str, int], pc: int) -> str:
    """Assembler text; labels are written relative to a symbol, so that no number is taken for a distance."""
    insn = decode(encode(row, values, pc), pc)
    return "_" + text(insn, lambda address: f"origin{address - ORIGIN:+d}")


def program(seed: int, per_row: int) -> tuple[list[str], bytes]:
    """A source text of every row in turn and the bytes that we say it becomes."""
    rng, pc = random.Random(seed), ORIGIN
    lines, expected = [], []
    for row in ASSEMBLED:
        for raw in [*end_raws(row), *(random_raw(row, rng) for _ in range(per_row))]:
            if not is_refused(row, raw):
                values = at(row, raw, pc)
                lines.append(source_line(row, values, pc))
                expected.append(encode(row, values, pc))
                pc += row.length
    return lines, b"".join(expected)


def assemble(toolchain: Toolchain, lines: list[str], folder: Path) -> bytes:
    source = "\n".join([".text", f".org {ORIGIN:#x}", "origin:", *lines, ""])
    (folder / "rows.s").write_text(source, encoding="utf-8")
    toolchain.assemble(folder / "rows.s", folder / "rows.o", ["-Wa,--no-transform"])
    return toolchain.text_bytes(folder / "rows.o")[ORIGIN:]


@pytest.mark.parametrize(("seed", "per_row"), [(1, 40), pytest.param(2, 300, marks=pytest.mark.long)])
def test_same_bytes_for_every_row(toolchain: Toolchain, tmp_path: Path, seed: int, per_row: int) -> None:
    lines, expected = program(seed, per_row)
    assert {line.split("\t")[0] for line in lines} == {"_" + row.mnemonic for row in ASSEMBLED}
    made = assemble(toolchain, lines, tmp_path)
    at = next((i for i, (a, b) in enumerate(zip(made, expected, strict=False)) if a != b), None)
    assert (len(made), at) == (len(expected), None)


def out_of_range_lines() -> list[str]:
    """Every immediate of every row just outside its range, the other operands at their least value."""
    lines = []
    for row in ASSEMBLED:
        lowest = {operand.name: operand.kind.min for operand in row.operands}
        for place, operand in enumerate(row.operands):
            kind = operand.kind
            if kind.cls != "imm" or is_refused(row, lowest):
                continue
            for value in (kind.min - (kind.step or 1), kind.max + (kind.step or 1)):
                words = [_word(op.kind.cls, lowest[op.name]) for op in row.operands]
                words[place] = str(value)
                lines.append(f"_{row.mnemonic} {', '.join(words)}")
    return lines


def _word(cls: str, value: int) -> str:
    if cls == "label":
        return "origin+4"
    return str(value) if cls == "imm" else f"{registers.REGISTER_FILES[cls.upper()].prefix}{value}"


def test_assembler_refuses_what_does_not_fit(toolchain: Toolchain, tmp_path: Path) -> None:
    """A plug-in whose encoder cuts values down would be silently wrong; every such line must be an error."""
    lines = out_of_range_lines()
    assert len(lines) > 200
    source = tmp_path / "bad.s"
    source.write_text("origin:\n" + "\n".join(lines) + "\n", encoding="utf-8")
    command = [toolchain.tool("as"), "--no-transform", "-o", tmp_path / "bad.o", source]
    done = subprocess.run(command, env=toolchain.full_env, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    refused = {int(number) for number in re.findall(r"bad\.s:(\d+): Error", done.stderr)}
    assert [line for number, line in enumerate(lines, 2) if number not in refused] == []


def test_named_registers(toolchain: Toolchain, tmp_path: Path) -> None:
    """`rsr a2, NAME` reaches the register of that number (two have instructions but no such name)."""
    lines, expected = [], b""
    named = [*registers.SPECIAL_BY_NAME.values(), *registers.USER_BY_NAME.values()]
    for register in named:
        if register.read and register.name not in ("LITBASE", "ERACCESS"):
            lines.append(f"{'rur' if register.is_user else 'rsr'} a2, {register.name.lower()}")
            row = next(row for row in rows() if row.mnemonic == register.read)
            expected += encode(row, {row.operands[0].name: 2})
    assert assemble(toolchain, lines, tmp_path) == expected
