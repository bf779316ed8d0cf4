"""Compile, assemble and link: what comes out, which messages reach the user, what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from emu.isa.decode import decode_all
from emu.toolchain import Toolchain, ToolchainError

SCRIPT = "SECTIONS { . = 0x40370000; .text : { *(.literal .literal.*) *(.text .text.*) } }\n"


def write(folder: Path, name: str, text: str) -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


def test_c_and_assembly_become_one_image(toolchain: Toolchain, tmp_path: Path) -> None:
    c = write(tmp_path, "a.c", "int twice(int); int start(int x) { return twice(x) + 0x12345678; }\n")
    s = write(
        tmp_path,
        "b.S",
        "#define A a2\n.text\n.align 4\n.global twice\n.type twice,@function\n"
        "twice: entry a1, 32\n ee.zero.accx\n add A, A, A\n retw\n",
    )
    toolchain.compile(c, tmp_path / "a.o", ["-O2", "-g"])
    toolchain.assemble(s, tmp_path / "b.o")
    script = write(tmp_path, "link.ld", SCRIPT)
    toolchain.link([tmp_path / "a.o", tmp_path / "b.o"], tmp_path / "all.elf", script, ["-Wl,-estart"])
    assert "ee.zero.accx" in toolchain.objdump(tmp_path / "all.elf")
    assert "40370" in toolchain.run("nm", [tmp_path / "all.elf"])


@pytest.mark.parametrize("flags", [["-O0"], ["-O2"], ["-Os"], ["-O3", "-ffp-contract=off"]])
def test_code_is_windowed_and_decodes(toolchain: Toolchain, tmp_path: Path, flags: list[str]) -> None:
    text = (
        "float f(float *p, int n) { float s = 0; for (int i = 0; i < n; i++) s += p[i] * p[i]; return s; }\n"
    )
    source = write(tmp_path, "f.c", text)
    toolchain.compile(source, tmp_path / "f.o", flags)
    mnemonics = [insn.mnemonic for insn in decode_all(toolchain.text_bytes(tmp_path / "f.o"), 0)]
    assert mnemonics[0] == "entry"
    contracted = "-ffp-contract=off" not in flags and "-O0" not in flags
    assert ("madd.s" in mnemonics) == contracted
    assert ("add.s" in mnemonics) != contracted


def test_warnings_are_returned(toolchain: Toolchain, tmp_path: Path) -> None:
    source = write(tmp_path, "w.c", "int f(void) { int unused; return 0; }\n")
    assert "unused variable" in toolchain.compile(source, tmp_path / "w.o", ["-Wall"])
    assert toolchain.compile(source, tmp_path / "w.o") == ""


def test_errors_carry_the_compilers_message(toolchain: Toolchain, tmp_path: Path) -> None:
    source = write(tmp_path, "e.c", "int f(void) { return missing; }\n")
    with pytest.raises(ToolchainError, match=r"cannot compile .*e\.c: [\s\S]*e\.c:1.*missing"):
        toolchain.compile(source, tmp_path / "e.o")
    source = write(tmp_path, "e.s", "frobnicate a2\n")
    with pytest.raises(ToolchainError, match=r"cannot assemble [\s\S]*unknown opcode.*frobnicate"):
        toolchain.assemble(source, tmp_path / "e.o")


def test_undefined_symbol_stops_the_link(toolchain: Toolchain, tmp_path: Path) -> None:
    source = write(tmp_path, "u.c", "float start(float a, float b) { return a / b; }\n")
    toolchain.compile(source, tmp_path / "u.o", ["-O2"])
    with pytest.raises(ToolchainError, match="undefined reference to `__divsf3'"):
        toolchain.link([tmp_path / "u.o"], tmp_path / "u.elf", write(tmp_path, "link.ld", SCRIPT))


def test_mixing_abis_stops_the_link(toolchain: Toolchain, tmp_path: Path) -> None:
    """ld only warns about it; a call0 object in windowed code crashes at run time."""
    a = write(tmp_path, "a.c", "int other(int); int start(int x) { return other(x); }\n")
    b = write(tmp_path, "b.c", "int other(int x) { return x; }\n")
    toolchain.compile(a, tmp_path / "a.o")
    toolchain.compile(b, tmp_path / "b.o", ["-mabi=call0"])
    with pytest.raises(ToolchainError, match=r"[Ii]ncompatible|ABI"):
        toolchain.link(
            [tmp_path / "a.o", tmp_path / "b.o"], tmp_path / "x.elf", write(tmp_path, "l.ld", SCRIPT)
        )


def test_users_own_settings_do_not_change_the_build(
    toolchain: Toolchain, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = write(tmp_path, "s.c", "#include <stdint.h>\nint32_t f(int32_t x) { return x + 1; }\n")
    toolchain.compile(source, tmp_path / "s1.o", ["-O2", "-ffreestanding"])
    write(tmp_path, "stdint.h", "#error taken from CPATH\n")
    monkeypatch.setenv("CPATH", str(tmp_path))
    monkeypatch.setenv("XTENSA_GNU_CONFIG", "/nowhere/other.so")
    monkeypatch.setenv("LD_LIBRARY_PATH", "/nowhere")
    toolchain.compile(source, tmp_path / "s2.o", ["-O2", "-ffreestanding"])
    assert (tmp_path / "s1.o").read_bytes() == (tmp_path / "s2.o").read_bytes()


def test_section_bytes(toolchain: Toolchain, tmp_path: Path) -> None:
    source = write(tmp_path, "d.s", ".text\n nop.n\n.data\n .byte 1,2,3\n")
    toolchain.assemble(source, tmp_path / "d.o")
    assert toolchain.text_bytes(tmp_path / "d.o") == bytes.fromhex("3df0")
    assert toolchain.text_bytes(tmp_path / "d.o", ".data") == b"\x01\x02\x03"
    assert toolchain.text_bytes(tmp_path / "d.o", ".none") == b""


def test_identity(toolchain: Toolchain) -> None:
    identity = toolchain.identity()
    assert set(identity) == {"kind", "gcc", "binutils"}
    assert int(identity["gcc"].split(".")[0]) >= 8
