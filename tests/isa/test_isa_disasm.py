"""Our disassembler against the assembler's own: legal or not, mnemonic and operand text, word by word."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from isa_samples import random_blob

from emu.isa.decode import decode
from emu.isa.disasm import listing, text
from emu.isa.encode import assemble_one
from emu.toolchain import Toolchain

BASE = 0x40370001
LINE = re.compile(r"^\s*[0-9a-f]+:\t")
LITERAL = re.compile(r" \(0x[0-9a-f]+\)$")


def objdump_lines(toolchain: Toolchain, blob: bytes, folder: Path) -> list[str]:
    """objdump's lines in our spelling: its column padding, literal values and `.byte` digits aside."""
    (folder / "words.bin").write_bytes(blob)
    options = ["-D", "-z", "-EL", "-b", "binary", "-m", "xtensa", f"--adjust-vma={BASE:#x}"]
    out = toolchain.objdump(folder / "words.bin", options)
    return [ours(line) for line in out.splitlines() if LINE.match(line)]


def ours(line: str) -> str:
    parts = [part.strip() for part in line.split("\t")]
    if parts[2] == ".byte":
        parts[3] = f"{int(parts[3], 16):#04x}"
    return LITERAL.sub("", "\t".join(parts)) if parts[2] == "l32r" else "\t".join(parts)


def compare(toolchain: Toolchain, folder: Path, count: int, seed: int) -> None:
    blob = random_blob(count, seed)
    theirs, mine = objdump_lines(toolchain, blob, folder), listing(blob, BASE)
    different = [(a, b) for a, b in zip(theirs, mine, strict=True) if a != b]
    assert different[:5] == []
    assert len(mine) > count
    assert sum("\t.byte\t" in line for line in mine) > count // 20


def test_200_000_random_words(toolchain: Toolchain, tmp_path: Path) -> None:
    compare(toolchain, tmp_path, 200_000, seed=5)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(10, 18))
def test_millions_of_random_words(toolchain: Toolchain, tmp_path: Path, seed: int) -> None:
    compare(toolchain, tmp_path, 1_000_000, seed)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        (assemble_one("movi", 2, -2048), "movi\ta2, 0xfffff800"),
        (assemble_one("movi", 2, -255), "movi\ta2, -255"),
        (assemble_one("all4", 3, 8), "all4\tb3, b8:b9:b10:b11"),
        (assemble_one("rsr.br", 3), "rsr.br\ta3"),
        (assemble_one("nop.n"), "nop.n"),
        (assemble_one("j", 0x40370000, pc=BASE), "j\t0x40370000"),
    ],
)
def test_spelling(code: bytes, expected: str) -> None:
    assert text(decode(code, BASE)) == expected


def test_labels_can_be_named() -> None:
    insn = decode(assemble_one("j", 0x40370000, pc=BASE), BASE)
    assert text(insn, lambda address: f"start+{address - 0x40370000}") == "j\tstart+0"


def test_bytes_that_are_no_instruction_are_shown_one_by_one() -> None:
    assert listing(bytes.fromhex("d3ffff3d"), 0x10) == [
        "00000010:\td3\t.byte\t0xd3",
        "00000011:\tff\t.byte\t0xff",
        "00000012:\tff\t.byte\t0xff",
        "00000013:\t3d\t.byte\t0x3d",
    ]
