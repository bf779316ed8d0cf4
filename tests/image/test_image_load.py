"""What loads, and how everything else is refused."""

from __future__ import annotations

import hashlib
import struct
import sys
from pathlib import Path

import pytest

from emu.image import ImageError, SymbolError, load_image
from tests.image.elf_files import CODE, DATA, LABEL, OBJECT, Name, Part, make_elf, plain, xtensa_info

GOLDEN = Path(__file__).parents[2] / "golden" / "firmware" / "esp32s3-bare.elf"


def refusal(data: bytes | Path) -> str:
    with pytest.raises(ImageError) as caught:
        load_image(data)
    text = str(caught.value)
    assert "Traceback" not in text
    return text


def test_a_small_image() -> None:
    data = make_elf(
        [Part(CODE, b"\x36\x41\x00\x1d\xf0"), Part(DATA, b"abcd", "rw", 32, ".data")],
        [
            Name("f", CODE, 5),
            Name("table", DATA, 4, OBJECT, section=1),
            Name("_end", DATA + 32, section=None),
        ],
    )
    image = load_image(data, "small.elf")
    assert [(s.address, s.size, s.data, s.perms) for s in image.segments] == [
        (DATA, 32, b"abcd", "rw"),
        (CODE, 5, b"\x36\x41\x00\x1d\xf0", "rx"),
    ]
    assert image.sha256 == hashlib.sha256(data).hexdigest()
    assert image.symbols.function("f").address == CODE
    assert image.symbols.get("_end").address == DATA + 32
    assert str(image.locate(CODE + 3)) == f"{CODE + 3:#010x} f+0x3"
    assert image.locate(DATA + 2).symbol == "table"
    assert image.is_code(CODE)
    assert not image.is_code(DATA)


def test_the_reference_image_has_symbols_and_lines() -> None:
    image = load_image(GOLDEN)
    function = image.symbols.function("dot_rows_s8")
    assert function.size > 100
    place = image.locate(function.address)
    assert place.file.endswith("dot_rows_s8.S")
    assert place.line > 0
    source = GOLDEN.parents[2] / place.file
    line = source.read_text().splitlines()[place.line - 1]
    assert "entry" in line or "function" in line
    assert image.lines.warning == ""


def test_assembler_and_c_functions_all_have_lines() -> None:
    image = load_image(GOLDEN)
    for function in image.symbols.functions():
        place = image.locate(function.address)
        assert place.file.endswith((".S", ".c", ".h", ".inc")), function.name


def test_program_headers_are_not_needed() -> None:
    """B051: e_phnum = 0; the sections say what goes where."""
    parts = [Part(CODE, b"\x36\x41\x00\x1d\xf0"), Part(DATA, b"", "rw", 64, ".bss")]
    names = [Name("f", CODE, 5)]
    with_, without = (load_image(make_elf(parts, names, with_headers=flag)) for flag in (True, False))
    assert [(s.address, s.size, s.data) for s in with_.segments] == [
        (s.address, s.size, s.data) for s in without.segments
    ]
    assert list(with_.symbols) == list(without.symbols)


def test_missing_debug_information_is_a_warning() -> None:
    image = load_image(plain())
    assert image.locate(CODE).file == ""
    assert "no debug information" in image.lines.warning


def test_no_symbols_is_a_warning() -> None:
    image = load_image(make_elf([Part(CODE, b"\x1d\xf0")]))
    assert len(image.symbols) == 0
    assert "no symbols" in image.warnings[0]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "empty"),
        (b"hello", "not an ELF file"),
        (b"\xe9\x03\x02\x20" + bytes(100), "application image (.bin)"),
        (b"!<arch>\nfoo", "static library"),
        (plain()[:10], "truncated"),
        (plain()[:40], "truncated"),
        (plain()[:60], "truncated"),
        (plain()[:-1], "truncated"),
        (make_elf([Part(CODE, b"1234")], machine=62, word=2), "x86-64"),
        (make_elf([Part(CODE, b"1234")], machine=62), "x86-64"),
        (make_elf([Part(CODE, b"1234")], machine=243), "RISC-V"),
        (make_elf([Part(CODE, b"1234")], machine=40), "ARM"),
        (make_elf([Part(CODE, b"1234")], machine=999), "machine number 999"),
        (make_elf([Part(CODE, b"1234")], word=2), "64-bit"),
        (make_elf([Part(CODE, b"1234")], word=7), "damaged"),
        (make_elf([Part(CODE, b"1234")], kind=1), "relocatable"),
        (make_elf([Part(CODE, b"1234")], kind=3), "shared object"),
        (make_elf([]), "nothing to load"),
        (make_elf([Part(CODE, b"1234")], info=xtensa_info("USE_ABSOLUTE_LITERALS=0\nABI=1\n")), "call0"),
        (
            make_elf([Part(CODE, b"1234")], info=xtensa_info("USE_ABSOLUTE_LITERALS=1\nABI=0\n")),
            "absolute literals",
        ),
        (make_elf([Part(0x400D0020, b"1234")]), "flash code of the ESP32"),
        (make_elf([Part(0x3FFB0000, b"1234", "rw")]), "data RAM of the ESP32"),
        (make_elf([Part(0x40080000, b"1234")]), "instruction RAM of the ESP32"),
        (make_elf([Part(0x3F400020, b"1234", "r")]), "flash data of the ESP32"),
        (make_elf([Part(0, b"1234")]), "no memory"),
        (make_elf([Part(0x60000000, b"1234", "rw")]), "device registers"),
        (make_elf([Part(CODE, b"1234", size=1 << 20)]), "does not fit"),
        (make_elf([Part(DATA, b"", "rw", 0xF0000000)]), "does not fit"),
        (make_elf([Part(CODE, b"12345678"), Part(CODE + 4, b"1234")]), "overlap"),
        (make_elf([Part(0x40388000, b"1234"), Part(0x3FC98000, b"1234", "rw")]), "the same RAM"),
    ],
)
def test_refusals_say_what_is_wrong(data: bytes, words: str) -> None:
    assert words in refusal(data)


def test_big_endian_is_refused() -> None:
    data = bytearray(make_elf([Part(CODE, b"1234")], order=2))
    data[18:20] = struct.pack(">H", 94)
    assert "big-endian" in refusal(bytes(data))


def test_zeroed_ranges_may_lie_over_their_alias() -> None:
    """ESP-IDF reserves data RAM that shows the code with a range of zeros."""
    code = Part(0x40388000, b"\x36\x41\x00\x1d\xf0")
    load_image(make_elf([code, Part(0x3FC98000, b"", "rw", 0x1000, ".dram0.dummy")]))


def test_the_interpreter_of_this_machine_is_refused() -> None:
    text = refusal(Path(sys.executable).resolve())
    assert "ESP32-S3" in text


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    assert "No such file" in refusal(tmp_path / "none.elf")
    assert "folder" in refusal(tmp_path)
    assert "cannot be read" in refusal(Path("a\0b"))


def test_missing_and_wrong_symbols() -> None:
    names = [Name("dot_rows", CODE, 4), Name("table", CODE + 4, 4, OBJECT), Name("mark", CODE, 0, LABEL)]
    names += [Name("twin", CODE, 2, is_global=False), Name("twin", CODE + 2, 2, is_global=False)]
    image = load_image(make_elf([Part(CODE, b"12345678")], names), "app.elf")
    with pytest.raises(SymbolError, match=r"app\.elf: no symbol is called 'dot_row'; did you mean dot_rows"):
        image.symbols.function("dot_row")
    with pytest.raises(SymbolError, match="is data, not a function"):
        image.symbols.function("table")
    with pytest.raises(SymbolError, match="several local symbols"):
        image.symbols.get("twin")
    assert image.symbols.function("mark").address == CODE


def test_nearest_symbol_prefers_the_one_around_the_address() -> None:
    names = [Name("outer", CODE, 8), Name(".Llocal", CODE + 2, 0, LABEL), Name("inner", CODE + 4, 2)]
    names += [Name("unsized", CODE + 12, 0, LABEL)]
    image = load_image(make_elf([Part(CODE, bytes(16))], names))
    found = [image.locate(CODE + i).symbol for i in range(16)]
    assert found == ["outer"] * 4 + ["inner"] * 2 + ["outer"] * 2 + [""] * 4 + ["unsized"] * 4
