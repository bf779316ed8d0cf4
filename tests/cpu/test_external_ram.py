"""Images with variables in external RAM, where ESP-IDF puts them: behind the constants."""

from __future__ import annotations

import pytest

from emu.cpu.engine import Engine
from emu.cpu.map import MMU_BLOCK, PSRAM_START
from emu.cpu.options import EngineOptions
from emu.cpu.traps import Trap, TrapKind
from emu.image import Image, ImageError, load_image
from tests.cpu import images
from tests.cpu.lab import assemble
from tests.image.elf_files import OBJECT, Name, Part, make_elf

FLASH, RODATA, EXTERNAL = 0x42000020, 0x3C010020, 0x3C020000
TEXT = """
    f: entry a1, 32
       l32i a4, a2, 0
       add a4, a4, a3
       s32i a4, a2, 0
       mov.n a2, a4
       retw
    """


@pytest.fixture(params=images.TIERS)
def tier(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def image(external: int = EXTERNAL, size: int = 0x18000, data: bytes = b"\x05") -> Image:
    """Code and constants in flash, variables in external RAM."""
    parts = [
        Part(FLASH, assemble(TEXT, FLASH).data),
        Part(RODATA, bytes(range(64)), "r", name=".flash.rodata"),
        Part(external, data, "rw", size, ".ext_ram.data"),
    ]
    return load_image(make_elf(parts, [Name("f", FLASH, 16), Name("v", external, 4, OBJECT, section=2)]))


@pytest.mark.parametrize("mmu", [False, True])
def test_its_variables_can_be_written(tier: str, mmu: bool) -> None:
    engine = Engine(image(), EngineOptions(tier=tier, mmu=mmu))  # type: ignore[arg-type]
    assert engine.call("f", [EXTERNAL, 3]).a2 == 8
    assert engine.call("f", [EXTERNAL, 3]).a2 == 11
    last = EXTERNAL + 0x18000 - 4
    assert engine.call("f", [last, 7]).a2 == 7, "zeroed up to its end"
    assert engine.memory.read(EXTERNAL, 4) == b"\x0b\0\0\0"
    assert engine.call("f", [engine.arena.start, 1]).a2 == 1
    assert engine.arena.start == PSRAM_START


@pytest.mark.parametrize("mmu", [False, True])
def test_its_constants_cannot(tier: str, mmu: bool) -> None:
    engine = Engine(image(), EngineOptions(tier=tier, mmu=mmu))  # type: ignore[arg-type]
    with pytest.raises(Trap) as caught:
        engine.call("f", [RODATA, 1])
    assert caught.value.kind == TrapKind.PROTECTION


@pytest.mark.parametrize("mmu", [False, True])
@pytest.mark.parametrize("place", [PSRAM_START, PSRAM_START + 0x7F0000, PSRAM_START - MMU_BLOCK])
def test_buffers_make_room_for_an_image_at_their_place(tier: str, mmu: bool, place: int) -> None:
    engine = Engine(image(place), EngineOptions(tier=tier, mmu=mmu))  # type: ignore[arg-type]
    assert engine.call("f", [place, 3]).a2 == 8
    assert engine.call("f", [engine.arena.start, 9]).a2 == 9
    assert engine.call("f", [engine.arena.end - 4, 2]).a2 == 2
    assert engine.memory.read(place, 4) == b"\x08\0\0\0"
    assert engine.arena.start >= place + 0x18000 or engine.arena.end <= place


def test_an_image_that_leaves_no_room_for_buffers_is_refused_with_the_numbers() -> None:
    crowded = image(0x3C700000, 0x1200000)
    with pytest.raises(ImageError, match=r"no 0x800000 bytes in a row are left .* use less of it"):
        Engine(crowded)
    assert Engine(crowded, EngineOptions(psram_bytes=1 << 20)).arena.start == 0x3D900000


def test_code_in_flash_stays_read_only_although_a_segment_says_otherwise(tier: str) -> None:
    """The instruction bus cannot write."""
    parts = [Part(FLASH, assemble(TEXT, FLASH).data, "rwx")]
    engine = Engine(load_image(make_elf(parts, [Name("f", FLASH, 16)])), EngineOptions(tier=tier))  # type: ignore[arg-type]
    with pytest.raises(Trap) as caught:
        engine.call("f", [FLASH, 1])
    assert caught.value.kind == TrapKind.PROTECTION
