"""Listings: every byte once, the compiler's own objdump agrees, literals and sources are named."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from emu.cli import main
from emu.debug.errors import DebugInputError
from emu.debug.listing import entries, select
from emu.debug.listing_text import json_objects, text_lines
from emu.debug.sections import CodeMap
from emu.image import Image, load_image
from emu.toolchain import Toolchain
from tests.cpu.images import image_of

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "golden" / "firmware" / "esp32s3-bare.elf"
TEXT = """
.word 0x12345678, table+4
first: entry a1, 32
l32r a2, 0x40378000
l32r a3, 0x40378004
call8 second
retw.n
.align 4
second: entry a1, 32
beqz a2, _out
movi.n a2, 7
_out: retw.n
"""


@pytest.fixture(scope="module")
def golden() -> Image:
    return load_image(GOLDEN)


def emu(*words: object) -> tuple[int, str]:
    result = CliRunner().invoke(main, [str(w) for w in words])
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, result.output + (result.stderr if result.stderr_bytes else "")


def test_every_byte_of_executable_segments_is_listed_once(golden: Image) -> None:
    code_map = CodeMap(golden)
    for span in select(golden, []):
        at = span.start
        for entry in entries(golden, span, code_map):
            assert entry.address == at
            at += len(entry.data)
        assert at == span.end
    assert all("x" in span.segment.perms for span in select(golden, []))


def _rows(lines: list[str]) -> dict[str, tuple[str, str]]:
    """Address to (word, text without symbols and comments)."""
    found = {}
    for line in lines:
        match = re.match(r"\s*([0-9a-f]{8}):\t([0-9a-f]{4,8})\s*\t(.*)$", line.rstrip())
        if match and not match[3].startswith("."):
            text = re.sub(r"\s*(;|<|\([0-9a-f]{4,}).*", "", match[3].replace("\t", " "))
            found[match[1]] = (match[2], re.sub(r"\s+", " ", text).strip())
    return found


def test_instructions_are_those_of_objdump(golden: Image, toolchain: Toolchain) -> None:
    ours = _rows(list(text_lines(golden, select(golden, []))))
    theirs = _rows(toolchain.objdump(GOLDEN, ["-d"]).splitlines())
    literals = set(theirs) - set(ours)
    code_map = CodeMap(golden)
    # objdump shows the zeros between functions as instructions of zeros.
    assert all(theirs[at][1] in ("ill", "") or code_map.kind(int(at, 16)) != "code" for at in literals)
    assert {at: row for at, row in ours.items() if theirs.get(at) != row} == {}
    assert len(ours) > 2000


def test_literals_are_words_and_l32r_shows_their_value(golden: Image) -> None:
    rows = [e for span in select(golden, []) for e in entries(golden, span, CodeMap(golden))]
    words = {e.address: e.value for e in rows if e.insn is None and e.value is not None}
    loads = [e for e in rows if e.insn is not None and e.insn.mnemonic == "l32r"]
    assert len(loads) > 50
    for load in loads:
        assert load.value == words[load.literal]
        assert load.target is None
    text = "\n".join(text_lines(golden, select(golden, ["main"])))
    assert re.search(r"l32r\ta\d+, [0-9a-f]{8} <.*>\t; 0x[0-9a-f]{8} <emu_ready>", text)


def test_an_image_without_tables_finds_literals_by_their_loads() -> None:
    image = image_of(TEXT)
    assert not CodeMap(image).has_tables
    lines = list(text_lines(image, select(image, [])))
    assert any(line.endswith(".word\t0x12345678") for line in lines)
    assert any("l32r\ta2, 0x40378000\t; 0x12345678" in line for line in lines)
    assert any("; 0x3fc98004 <table+0x4>" in line for line in lines)
    assert any("<second>" in line and "call8" in line for line in lines)
    assert any("<second+0x8>" in line and "beqz" in line for line in lines)


def test_damaged_tables_change_nothing_but_the_kinds(golden: Image) -> None:
    data = bytearray(GOLDEN.read_bytes())
    at = data.find(b".xt.prop\0")
    data[at : at + 8] = b".xt.xxxx"
    at = data.find(b".xt.lit\0")
    data[at : at + 7] = b".xt.yyy"
    image = load_image(bytes(data), "no-tables.elf")
    span = select(image, ["dot_rows_s8"])[0]
    want = [e.data for e in entries(golden, span, CodeMap(golden))]
    assert [e.data for e in entries(image, span, CodeMap(image))] == want


def test_source_lines_with_their_text(golden: Image) -> None:
    lines = list(text_lines(golden, select(golden, ["main"]), source=True, root=ROOT))
    sources = [line for line in lines if line.startswith("; ")]
    assert any("firmware/port/bare/main.c:" in line and "\t" in line for line in sources)
    code = (ROOT / "firmware" / "port" / "bare" / "main.c").read_text().splitlines()
    for line in sources:
        place, _, text = line.removeprefix("; ").partition("\t")
        assert text in code[int(place.rpartition(":")[2]) - 1]
    nowhere = list(text_lines(golden, select(golden, ["main"]), source=True, root=Path("/nonexistent")))
    assert any(re.fullmatch(r"; firmware/port/bare/main\.c:\d+", line) for line in nowhere)


def test_json_has_what_the_text_has(golden: Image) -> None:
    found = list(json_objects(golden, select(golden, ["crc32_bytes"])))
    symbol = golden.symbols.get("crc32_bytes")
    assert sum(len(e["bytes"]) // 2 for e in found) == symbol.size
    assert found[0]["text"] == "entry a1, 32"
    assert found[0]["symbol"] == "crc32_bytes"
    branch = next(e for e in found if e["mnemonic"].startswith("b") and "target" in e)
    assert branch["target_symbol"].startswith("crc32_bytes+")
    load = next(e for e in found if e["mnemonic"] == "l32r")
    assert load["value_symbol"] == "crc_of_nibble"
    json.dumps(found)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("no_such_function", "no symbol"),
        ("emu_ready", "executable"),
        ("0x3fc98000", "executable"),
        ("0x10", "executable"),
        ("0x1ffffffff", "32 bits"),
        ("zzz..0x40378010", "no symbol"),
        ("0x40378010..0x40378000", "does not lie behind"),
        ("0x40378010..", "no symbol"),
        ("..", "no symbol"),
        ("0xzz", "neither"),
        ("", "no symbol"),
    ],
)
def test_ranges_that_cannot_be_listed(golden: Image, text: str, why: str) -> None:
    with pytest.raises(DebugInputError, match=why):
        select(golden, [text])


def test_ranges(golden: Image) -> None:
    symbol = golden.symbols.get("crc32_bytes")
    (span,) = select(golden, [f"{symbol.address:#x}..{symbol.address + 8:#x}"])
    assert (span.start, span.end) == (symbol.address, symbol.address + 8)
    (span,) = select(golden, ["crc32_bytes+3..crc32_bytes+0x8"])
    assert (span.start, span.end) == (symbol.address + 3, symbol.address + 8)
    (span,) = select(golden, [f"{symbol.address + 3:#x}"])
    assert span.end == symbol.end


def test_the_command() -> None:
    code, text = emu("disasm", GOLDEN, "crc32_bytes", "main")
    assert code == 0
    assert text.count("entry\ta1, 32") == 2
    code, text = emu("disasm", "-", "crc32_bytes", "--json")
    assert code == 0
    assert all(json.loads(line)["symbol"] == "crc32_bytes" for line in text.splitlines())
    code, text = emu("disasm", GOLDEN, "nothing_like_it")
    assert code == 2
    assert "nothing_like_it" in text
    code, text = emu("disasm", __file__)
    assert code == 2
    assert "not an ELF file" in text
