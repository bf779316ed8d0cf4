"""ROM functions are served by address; whatever is not served says its name."""

from __future__ import annotations

from pathlib import Path

import pytest

from emu.cpu.engine import Engine
from emu.cpu.traps import Trap, TrapKind
from emu.rom import rom_address, rom_function, rom_symbol_at, rom_symbols, serve
from emu.toolchain import Toolchain
from tests.rom.programs import build, engine_of

SOURCE = """
#include <stddef.h>
#include <stdint.h>
void *memcpy(void *, const void *, size_t); void *memset(void *, int, size_t);
int memcmp(const void *, const void *, size_t);
int ets_efuse_get_mac(uint8_t *);
int esp_rom_spiflash_read(uint32_t, uint32_t *, int32_t);
static uint8_t buffer[64];
int copies(const uint8_t *from, int n)
{
    memset(buffer, 0x5A, sizeof buffer);
    memcpy(buffer + 3, from, n);
    return memcmp(buffer + 3, from, n + 1);
}
int sum(void) { int s = 0; for (int i = 0; i < 64; i++) s += buffer[i]; return s; }
int mac(void) { return ets_efuse_get_mac(buffer) + 1; }
int radio(void) { return ((int (*)(void))0x40005d9c)() + 1; }
int nothing(void) { return ((int (*)(void))0x40001235)() + 1; }
int far_copy(void) { memcpy(buffer, (const void *)0x20000000, 4); return 1; }
int to_rodata(void) { memset((void *)0x42000020, 0, 4); return 1; }
"""


@pytest.fixture(scope="module", params=["translator", "stepper"])
def engine(
    request: pytest.FixtureRequest, toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory
) -> Engine:
    engine = engine_of(build(toolchain, tmp_path_factory.mktemp("rom"), SOURCE), tier=request.param)
    serve(engine)
    return engine


def test_the_table_is_in_order_and_its_anchors_are_those_of_the_linker_scripts() -> None:
    addresses = [s.address for s in rom_symbols()]
    assert addresses == sorted(addresses)
    assert len({(s.address, s.name) for s in rom_symbols()}) == len(addresses)
    anchors = {"memcpy": 0x400011F4, "__divsf3": 0x40002274, "ets_printf": 0x400005D0, "crc32_le": 0x40001C98}
    assert {name: rom_address(name) for name in anchors} == anchors
    symbol = rom_symbol_at(0x40000A20)
    assert symbol is not None
    assert symbol.name == "esp_rom_spiflash_read"
    assert rom_address("esp_rom_delay_us") == rom_address("ets_delay_us") == 0x40000600


def test_memory_functions_at_rom_addresses(engine: Engine) -> None:
    at = engine.arena.start
    engine.memory.write(at, bytes(range(1, 21)))
    result = engine.call("copies", [at, 9])
    assert result.s32 == 0x5A - 10
    assert engine.call("sum").s32 == 55 * 0x5A + sum(range(1, 10))


@pytest.mark.parametrize(
    ("function", "words"),
    [
        ("mac", "ets_efuse_get_mac (efuse) at 0x40001f68 is called, which is not served"),
        ("radio", "radio part"),
        ("nothing", "0x40001235"),
    ],
)
def test_what_is_not_served_traps_with_its_name(engine: Engine, function: str, words: str) -> None:
    with pytest.raises(Trap) as caught:
        engine.call(function)
    assert caught.value.kind is TrapKind.NOT_CODE
    assert words in str(caught.value)
    assert f" {function}+" in str(caught.value).split("called from", 1)[1]


@pytest.mark.parametrize(
    ("function", "kind", "words"),
    [
        ("far_copy", TrapKind.UNMAPPED_LOAD, "while memcpy is served"),
        ("to_rodata", TrapKind.PROTECTION, "while memset is served"),
    ],
)
def test_a_served_function_may_touch_only_what_the_guest_may(
    engine: Engine, function: str, kind: TrapKind, words: str
) -> None:
    with pytest.raises(Trap) as caught:
        engine.call(function)
    assert caught.value.kind is kind
    assert words in str(caught.value)


def test_two_functions_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="memcpy"):
        rom_function("memcpy")(lambda call: 0)


def test_extra_functions_take_the_place_of_functions_of_the_image(
    toolchain: Toolchain, tmp_path: Path
) -> None:
    engine = engine_of(build(toolchain, tmp_path, SOURCE))
    rom = serve(engine, extra={"sum": lambda call: 7, "ets_efuse_get_mac": lambda call: 41})
    assert engine.call("mac").s32 == 42
    assert "ets_efuse_get_mac" in rom.served
