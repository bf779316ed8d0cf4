"""Proof that a toolchain makes ESP32-S3 code: windowed calls, FPU instructions, and the right vector bytes.

A compiler that ignores the core description ends with status 0 and code for another chip, so versions and
exit codes prove nothing: the bytes that come out are decoded with the project's own table.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from emu.isa.decode import IllegalInstruction, decode_all
from emu.isa.encode import assemble_one
from emu.toolchain.errors import ToolchainError
from emu.toolchain.tools import Toolchain

C_TEXT = """\
float emu_probe(float a, float b, int n) { while (n-- > 0) a = a * b - 1.0f; return a; }
"""
ASM_TEXT = """\
\t.text
\t.align 4
\t.global emu_probe_asm
emu_probe_asm:
\tentry a1, 32
\tee.zero.accx
\tee.vmulas.s8.accx.ld.ip q1, a3, -32, q2, q5
\tmadd.s f1, f2, f15
\tretw
"""


def expected_bytes() -> bytes:
    """What `ASM_TEXT` must become, from the table."""
    return (
        assemble_one("entry", 1, 32)
        + assemble_one("ee.zero.accx")
        + assemble_one("ee.vmulas.s8.accx.ld.ip", 1, 3, -32, 2, 5)
        + assemble_one("madd.s", 1, 2, 15)
        + assemble_one("retw")
    )


def check(toolchain: Toolchain) -> None:
    """Compile, assemble and link a probe.

    Raises:
        ToolchainError: the tools fail, or what they make is not for this core.
    """
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        compiled = _check_compiler(toolchain, folder)
        assembled = _check_assembler(toolchain, folder)
        toolchain.link(
            [compiled, assembled], folder / "probe.elf", None, ["-Wl,-Ttext=0x40370000", "-Wl,-eemu_probe"]
        )


def _check_compiler(toolchain: Toolchain, folder: Path) -> Path:
    source, obj = folder / "probe.c", folder / "probe_c.o"
    source.write_text(C_TEXT, encoding="utf-8")
    # No -mabi here: the core description alone has to make the compiler choose the windowed ABI.
    toolchain.run("gcc", ["-O2", "-c", source, "-o", obj], "the compiler does not work")
    made = _mnemonics(toolchain, obj)
    windowed, floating = {"entry"} & made and {"retw", "retw.n"} & made, {"mul.s", "madd.s", "msub.s"} & made
    if not (windowed and floating):
        lacking = [
            what
            for what, there in (("register windows", windowed), ("FPU instructions", floating))
            if not there
        ]
        raise ToolchainError(
            f"GCC {toolchain.version} ignores the ESP32-S3 core description: "
            f"its code has no {' and no '.join(lacking)}"
        )
    return obj


def _mnemonics(toolchain: Toolchain, obj: Path) -> set[str]:
    try:
        return {insn.mnemonic for insn in decode_all(toolchain.text_bytes(obj), 0)}
    except IllegalInstruction as error:
        raise ToolchainError(
            f"GCC {toolchain.version} makes code that is not for the ESP32-S3: {error}"
        ) from error


def _check_assembler(toolchain: Toolchain, folder: Path) -> Path:
    source, obj = folder / "probe_s.s", folder / "probe_s.o"
    source.write_text(ASM_TEXT, encoding="utf-8")
    toolchain.assemble(source, obj, ["-Wa,--no-transform"])
    made, wanted = toolchain.text_bytes(obj), expected_bytes()
    if made != wanted:
        tool = toolchain.tool("as")
        raise ToolchainError(f"{tool} makes wrong bytes: {made.hex(' ')} instead of {wanted.hex(' ')}")
    return obj
