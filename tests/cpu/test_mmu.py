"""B052: one table of 512 entries for flash and PSRAM, shown in both cache windows."""

from __future__ import annotations

import pytest

from emu.cpu.engine import Engine
from emu.cpu.map import MMU_BLOCK, PSRAM_START
from emu.cpu.memory import Memory
from emu.cpu.mmu import DATA, ENTRIES, INSTRUCTIONS, INVALID, PSRAM, TABLE_START, Mmu, MmuError
from emu.cpu.options import EngineOptions
from emu.cpu.traps import Trap, TrapKind
from emu.image import Image, ImageError, load_image
from tests.cpu import images
from tests.cpu.images import engine_of
from tests.cpu.lab import assemble
from tests.image.elf_files import Name, Part, make_elf

PAGES = 400


@pytest.fixture(params=images.TIERS, autouse=True)
def tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every test here runs on both tiers."""
    monkeypatch.setattr(images, "TIER", request.param)
    return str(request.param)


@pytest.fixture(scope="module")
def mmu() -> Mmu:
    """Chips of 400 pages; the first word of each page is its number, that of PSRAM with bit 31."""
    memory = Memory()
    flash, psram = memory.new_buffer(PAGES * MMU_BLOCK), memory.new_buffer(PAGES * MMU_BLOCK)
    for page in range(PAGES):
        at = page * MMU_BLOCK
        flash.view[at : at + 4] = page.to_bytes(4, "little")
        psram.view[at : at + 4] = (page | 1 << 31).to_bytes(4, "little")
    made = Mmu(memory, flash, psram)
    made.attach()
    return made


def test_bit_15_selects_psram(mmu: Mmu) -> None:
    memory = mmu.memory
    memory.store(TABLE_START + 4 * 7, 4, 0x8003)
    assert memory.load(DATA + 7 * MMU_BLOCK, 4) == 3 | 1 << 31
    assert memory.load(INSTRUCTIONS + 7 * MMU_BLOCK, 4) == 3 | 1 << 31
    memory.store(DATA + 7 * MMU_BLOCK + 8, 4, 0x12345678)
    assert mmu.psram is not None
    assert bytes(mmu.psram.view[3 * MMU_BLOCK + 8 : 3 * MMU_BLOCK + 12]) == b"\x78\x56\x34\x12"
    memory.store(TABLE_START + 4 * 7, 4, 0x0003)
    assert memory.load(DATA + 7 * MMU_BLOCK, 4) == 3
    assert memory.find(DATA + 7 * MMU_BLOCK) is not None
    with pytest.raises(Exception, match="does not allow"):
        memory.store(DATA + 7 * MMU_BLOCK, 4, 0)
    memory.store(TABLE_START + 4 * 7, 4, INVALID)
    with pytest.raises(Exception, match="no memory is mapped"):
        memory.load(DATA + 7 * MMU_BLOCK, 4)


def test_12_megabytes_fit_beside_psram_and_the_program() -> None:
    """192 + 128 = 320 entries of 512, with the program's 40: they must fit, and what does not says why."""
    memory = Memory()
    chip = memory.new_buffer(256 * MMU_BLOCK)
    mmu = Mmu(memory, chip, chip)
    mmu.map(INSTRUCTIONS, 0, 40)
    mmu.map(DATA + 384 * MMU_BLOCK, 0, 128, is_psram=True)
    address = mmu.map_anywhere(40, 192)
    assert address == DATA + 40 * MMU_BLOCK
    assert str(mmu.use) == "232 pages of flash, 128 of PSRAM, 152 free; a page is 64 KiB"
    with pytest.raises(MmuError, match=r"160 pages .* longest free run has 152 of its 512 .*152 free"):
        mmu.map_anywhere(0, 160)
    for index in range(240, 384, 10):
        mmu.set_entry(index, 1)
    with pytest.raises(MmuError, match="longest free run has 9 of"):
        mmu.map_anywhere(0, 10)


def test_every_entry_at_its_place_in_both_windows(mmu: Mmu) -> None:
    for index in range(ENTRIES):
        mmu.set_entry(index, (index * 7 + 1) % PAGES | PSRAM * (index & 1))
    for index in range(ENTRIES):
        expected = (index * 7 + 1) % PAGES | (index & 1) << 31
        for window in (DATA, INSTRUCTIONS):
            assert mmu.memory.load(window + index * MMU_BLOCK, 4) == expected
    assert mmu.use.free == 0
    # An access over the border of two entries reads both pages.
    low, high = mmu.memory.load(DATA + MMU_BLOCK - 2, 2), mmu.memory.load(DATA + MMU_BLOCK, 2)
    assert mmu.memory.load(DATA + MMU_BLOCK - 2, 4) == low | high << 16
    for index in range(ENTRIES):
        mmu.set_entry(index, INVALID)
    assert mmu.use.free == ENTRIES


def test_the_table_as_registers(mmu: Mmu) -> None:
    memory = mmu.memory
    memory.store(TABLE_START + 8, 4, 0xFFFF8123)
    assert memory.load(TABLE_START + 8, 4) == 0x8123
    memory.store(TABLE_START + 9, 1, 0x00)
    assert (mmu.entry(2), memory.load(TABLE_START + 8, 2)) == (0x23, 0x23)
    memory.store(TABLE_START + 12, 8, 5 << 32 | 4)
    assert (mmu.entry(3), mmu.entry(4)) == (4, 5)
    assert memory.load(TABLE_START + 4 * 511, 16) == mmu.entry(511)
    assert memory.load(TABLE_START + 0x900, 4) == 0


def test_bad_ranges_are_refused(mmu: Mmu) -> None:
    for address, count in ((DATA + 1, 1), (DATA + 511 * MMU_BLOCK, 2), (0x3FC88000, 1)):
        with pytest.raises(MmuError, match="cache window"):
            mmu.map(address, 0, count)
    with pytest.raises(ValueError, match="multiple"):
        Mmu(Memory(), Memory().new_buffer(4096))


CODE_AT, DATA_AT = INSTRUCTIONS + 0x20000 + 32, DATA + 0x50000 + 32
TEXT = """
    f: entry a1, 32
       l32i a2, a2, 0
       retw
       .align 4
    remap: entry a1, 32
       s32i a3, a2, 0
       retw
"""


def flash_image(data_at: int = DATA_AT) -> Image:
    made = assemble(TEXT, CODE_AT)
    parts = [Part(CODE_AT, made.data), Part(data_at, b"\x2a\0\0\0", "r", name=".rodata")]
    return load_image(make_elf(parts, [Name(n, made.labels[n], 9) for n in ("f", "remap")]), "flash.elf")


def test_an_image_in_flash_and_buffers_in_psram_through_the_table() -> None:
    engine = Engine(flash_image(), EngineOptions(tier=images.TIER, mmu=True))  # type: ignore[arg-type]
    assert engine.mmu is not None
    assert str(engine.mmu.use).startswith("2 pages of flash, 128 of PSRAM")
    assert engine.call("f", [DATA_AT]).a2 == 42
    engine.memory.write(PSRAM_START, b"\x07\0\0\0")
    assert engine.call("f", [PSRAM_START]).a2 == 7
    with pytest.raises(Trap) as caught:
        engine.call("f", [DATA])
    assert caught.value.kind == TrapKind.UNMAPPED_LOAD
    plain = Engine(flash_image(), EngineOptions(tier=images.TIER))  # type: ignore[arg-type]
    assert plain.mmu is None
    assert plain.call("f", [DATA_AT]).a2 == 42


def test_software_remaps_pages_under_translated_code() -> None:
    """The guest moves data pages, then its own code page away: nothing stale is executed or read."""
    engine = Engine(flash_image(), EngineOptions(tier=images.TIER, mmu=True))  # type: ignore[arg-type]
    assert engine.mmu is not None
    data_entry, code_entry = TABLE_START + 4 * 5, TABLE_START + 4 * 2
    engine.memory.write(PSRAM_START + 3 * MMU_BLOCK + 32, b"\x63\0\0\0")
    assert engine.call("f", [DATA_AT]).a2 == 42
    engine.call("remap", [data_entry, 0x8003])
    assert engine.call("f", [DATA_AT]).a2 == 99
    engine.call("remap", [data_entry, 0])
    assert engine.call("f", [DATA_AT]).a2 == 42
    with pytest.raises(Trap) as caught:
        engine.call("remap", [code_entry, INVALID])
    assert caught.value.kind == TrapKind.NOT_CODE
    engine.mmu.set_entry(2, 1)
    assert engine.call("f", [DATA_AT]).a2 == 42
    other = assemble("f: entry a1, 32\n movi a2, 5\n retw", CODE_AT).data
    engine.memory.write(PSRAM_START + MMU_BLOCK + 32, other)
    engine.mmu.set_entry(2, 0x8001)
    assert engine.call("f", [DATA_AT]).a2 == 5


def test_code_and_data_cannot_share_an_entry() -> None:
    with pytest.raises(ImageError, match="share one MMU table"):
        Engine(flash_image(DATA + 0x20000), EngineOptions(tier=images.TIER, mmu=True))  # type: ignore[arg-type]


def test_images_in_ram_need_no_flash() -> None:
    assert engine_of("f: entry a1, 32\n retw", mmu=True).call("f").instructions == 2
