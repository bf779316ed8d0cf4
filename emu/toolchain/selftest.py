"""Proof that a toolchain makes ESP32-S3 code: windowed calls, FPU instructions, and the right vector bytes."""

from __future__ import annotations

import tempfile
from pathlib import Path

from emu.toolchain.errors import ToolchainError
from emu.toolchain.tools import Toolchain

C_TEXT = """\
float emu_probe(float a, float b, int n) { while (n-- > 0) a = a * b - 1.0f; return a; }
"""
ASM_TEXT = """\
\t.text
\t.align 4
\tentry a1, 32
\tee.zero.accx
"""
ASM_BYTES = bytes.fromhex("364100 040825")


def check(toolchain: Toolchain) -> None:
    """Compile and assemble a probe.

    Raises:
        ToolchainError: the tools fail, or what they make is not for this core.
    """
    with tempfile.TemporaryDirectory() as scratch:
        _check_compiler(toolchain, Path(scratch))
        _check_assembler(toolchain, Path(scratch))


def _check_compiler(toolchain: Toolchain, scratch: Path) -> None:
    source, obj = scratch / "probe.c", scratch / "probe.s"
    source.write_text(C_TEXT, encoding="utf-8")
    toolchain.run("gcc", ["-O2", "-S", source, "-o", obj], "the compiler does not work")
    mnemonics = {line.split()[0] for line in obj.read_text(encoding="utf-8").splitlines() if line.strip()}
    if not {"entry", "retw.n"} <= mnemonics or not mnemonics & {"msub.s", "mul.s", "madd.s"}:
        raise ToolchainError(
            f"GCC {toolchain.version} ignores the ESP32-S3 core description: it made code without register windows "
            "or without FPU instructions"
        )


def _check_assembler(toolchain: Toolchain, scratch: Path) -> None:
    source, obj = scratch / "probe.s", scratch / "probe.o"
    source.write_text(ASM_TEXT, encoding="utf-8")
    toolchain.assemble(source, obj)
    made = toolchain.text_bytes(obj)
    if made != ASM_BYTES:
        raise ToolchainError(
            f"the assembler of {toolchain.gcc} makes wrong bytes: {made.hex(' ')} instead of {ASM_BYTES.hex(' ')}"
        )
