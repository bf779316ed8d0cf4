"""Symbols and lines of the same file in different dress (known fault B051)."""

from __future__ import annotations

from pathlib import Path

import pytest

from emu.image import Image, load_image
from emu.toolchain import Toolchain

GOLDEN = Path(__file__).parents[2] / "golden" / "firmware" / "esp32s3-bare.elf"

C_SOURCE = """
int twice(int x)
{
    return 2 * x;
}

int main(void)
{
    return twice(21);
}
"""
ASSEMBLER = """
    .text
    .global plain
    .type plain, @function
plain:
    entry a1, 32
    retw
    .size plain, . - plain
"""


@pytest.fixture(scope="module")
def images(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Image]:
    folder = tmp_path_factory.mktemp("debug")
    (folder / "small.c").write_text(C_SOURCE)
    (folder / "plain.S").write_text(ASSEMBLER)
    flags = {"none": ["-g0"], "dwarf4": ["-gdwarf-4"], "dwarf5": ["-gdwarf-5"], "compressed": ["-g", "-gz"]}
    return {name: _build(toolchain, folder, name, extra) for name, extra in flags.items()}


def _build(toolchain: Toolchain, folder: Path, name: str, flags: list[str]) -> Image:
    objects = []
    for source in ("small.c", "plain.S"):
        made = folder / f"{name}-{source}.o"
        toolchain.compile(folder / source, made, ["-O1", "-ffreestanding", *flags])
        objects.append(made)
    elf = folder / f"{name}.elf"
    script = folder / "image.ld"
    script.write_text("ENTRY(main) SECTIONS { .text 0x40378000 : { *(.literal*) *(.text*) } }")
    toolchain.link(objects, elf, script)
    return load_image(elf)


def test_symbols_do_not_depend_on_debug_information(images: dict[str, Image]) -> None:
    tables = {name: sorted((s.name, s.address, s.size) for s in i.symbols) for name, i in images.items()}
    assert all(table == tables["none"] for table in tables.values())
    names = {name for name, _, _ in tables["none"]}
    assert {"twice", "main", "plain"} <= names


@pytest.mark.parametrize("name", ["dwarf4", "dwarf5", "compressed"])
def test_lines(images: dict[str, Image], name: str) -> None:
    image = images[name]
    place = image.locate(image.symbols.get("twice").address)
    assert (Path(place.file).name, place.line) == ("small.c", 3)
    place = image.locate(image.symbols.get("main").address)
    assert (Path(place.file).name, place.line) == ("small.c", 8)
    assert image.lines.warning == ""


def test_an_assembler_unit_and_no_unit_at_all(images: dict[str, Image]) -> None:
    image = images["dwarf5"]
    place = image.locate(image.symbols.get("plain").address)
    assert Path(place.file).name in ("plain.S", "")
    bare = images["none"]
    assert bare.locate(bare.symbols.get("twice").address).file == ""
    assert "no debug information" in bare.lines.warning


def test_every_address_of_the_reference_image_agrees_with_addr2line(toolchain: Toolchain) -> None:
    image = load_image(GOLDEN)
    addresses = [a for s in image.segments if "x" in s.perms for a in range(s.address, s.end)]
    answers = toolchain.run("addr2line", ["-e", GOLDEN, *map(hex, addresses)]).splitlines()
    for address, answer in zip(addresses, answers, strict=True):
        place = image.locate(address)
        theirs = answer.partition(" (")[0]
        if place.file:
            assert theirs.endswith(f"{place.file}:{place.line}"), hex(address)
        else:
            assert theirs.startswith("??"), hex(address)
