"""`emu disasm`, `trace`, `run` on stripped and odd files: an answer, soon, that harms no terminal."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from click.testing import CliRunner

from emu.cli import main
from emu.image import load_image
from tests.cpu.lab import CODE, DATA, assemble
from tests.image.elf_files import OBJECT, Name, Part, make_elf

TEXT = assemble("f: entry a1, 32\n addi a2, a2, 1\n retw\n", CODE).data
RED = "\x1b[31mred\x07\n"


def emu(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert "internal error" not in done.output
    return done.exit_code, done.output


@pytest.fixture
def stripped(tmp_path: Path) -> Path:
    (tmp_path / "stripped.elf").write_bytes(make_elf([Part(CODE, TEXT)], []))
    return tmp_path / "stripped.elf"


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    names = [
        Name("f", CODE, 9),
        Name("x", DATA, 4, OBJECT, section=1),
        Name("beyond", CODE + 0x10000, 4),
        Name("nothing", CODE, 0),
        Name(RED, CODE + 3, 3),
    ]
    data = make_elf([Part(CODE, TEXT), Part(DATA, b"abcd", "rw", 64, ".data")], names)
    (tmp_path / "odd.elf").write_bytes(data)
    return tmp_path / "odd.elf"


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["disasm", "ELF"], 0, "addi\ta2, a2, 1"),
        (["disasm", "ELF", "f"], 2, "no symbol is called 'f'"),
        (["disasm", "ELF", f"{CODE:#x}..{CODE + 6:#x}"], 0, "addi\ta2, a2, 1"),
        (["trace", "ELF", hex(CODE), "5"], 0, "a2 = 0x00000006"),
        (["trace", "ELF", hex(CODE + 1), "5"], 2, "does not begin with entry"),
        (["trace", "ELF", "0xffffffff"], 4, "no code can run there"),
        (["run", "ELF", "--call", hex(CODE), "5"], 0, "a2 = 0x00000006"),
        (["run", "ELF", "--call", hex(DATA), "5"], 4, "no code can run there"),
        (["lockstep", "ELF", hex(CODE), "5"], 0, "no difference"),
    ],
)
def test_files_without_symbols(words: list[str], code: int, told: str, stripped: Path) -> None:
    got, text = emu(*(stripped if word == "ELF" else word for word in words))
    assert (got, told in text) == (code, True), text
    assert "4fffffed" not in text, "the address that calls return to is the engine's own"


def test_an_image_that_starts_without_handlers_ends_at_once(stripped: Path) -> None:
    """Its first exception would go round the empty vectors until the budget is used up: minutes."""
    code, text = emu("run", stripped)
    assert code == 4
    assert f"exception ILLEGAL_INSTRUCTION (cause 0) at {CODE:#010x} has no handler" in text


@pytest.mark.parametrize(
    "words", [["disasm"], ["disasm", "--json"], ["trace", "f", "1"], ["disasm", "nothing"]]
)
def test_names_cannot_move_the_cursor(words: list[str], odd: Path) -> None:
    code, text = emu(words[0], odd, *words[1:])
    assert code == 0
    assert "\x1b" not in text
    assert "\x07" not in text
    assert "\\x1b[31mred\\x07\\x0a" in text.replace("\\\\", "\\")


def test_a_name_is_found_as_it_is_shown(odd: Path) -> None:
    image = load_image(odd)
    assert image.symbols.get("\\x1b[31mred\\x07\\x0a").address == CODE + 3
    assert str(image.locate(CODE + 4)).isprintable()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["disasm", "ELF", "beyond"], "not in an executable segment"),
        (["disasm", "ELF", "x"], "not in an executable segment"),
        (["disasm", "ELF", "f+100000"], "not in an executable segment"),
        (["disasm", "ELF", "f..x"], "does not lie behind the start"),
        (["trace", "ELF", "x"], "is data, not a function"),
        (["run", "ELF", "--call", "f", "@/dev/zero"], "a pipe or a device"),
        (["run", "ELF", "--call", "f", "@/"], "a folder"),
        (["run", "ELF", "--call", "f", "zeros:99999999999"], "16,777,216 bytes"),
        (["run", "ELF", "--call", "f", "u8:300"], "does not fit"),
        (["run", "ELF", "--call", "f", "&nosuch"], "no symbol is called"),
    ],
)
def test_odd_words_are_refused_with_the_reason(words: list[str], told: str, odd: Path) -> None:
    code, text = emu(*(odd if word == "ELF" else word for word in words))
    assert code == 2
    assert told in text


def test_a_pipe_as_an_argument_does_not_hang(odd: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    code, text = emu("run", odd, "--call", "f", f"@{tmp_path / 'pipe'}")
    assert code == 2
    assert "a pipe or a device" in text
