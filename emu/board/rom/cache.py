"""Cache and MMU functions of the ROM (rom/cache.h). Caches hold nothing here: operations are done at once."""

from __future__ import annotations

from emu.board.rom.common import giving, machine
from emu.cpu.mmu import ENTRIES, INVALID, PSRAM, MmuError
from emu.rom.functions import RomCall, RomFunction

OK, NOT_ALIGNED, BAD_PAGE, BAD_ADDRESS = 0, 2, 3, 4


def _map(call: RomCall) -> int:
    """``Cache_Ibus_MMU_Set`` and ``Cache_Dbus_MMU_Set``.

    ``(0 or the PSRAM bit, address, physical address, KiB of a page, pages, fixed)``
    """
    target, address, physical, page_kib, count, fixed = call.guest.arguments(6)
    if physical % 0x10000 or address % 0x10000:
        return NOT_ALIGNED
    if page_kib != 64:
        return BAD_PAGE
    mmu = machine(call).mmu
    try:
        for i in range(count):
            page = physical // 0x10000 + (0 if fixed else i)
            mmu.map(address + i * 0x10000, page, 1, bool(target & PSRAM))
    except MmuError:
        return BAD_ADDRESS
    return OK


def _clear(call: RomCall) -> int:
    """``Cache_MMU_Init``, and ``ROM_Boot_Cache_Init`` behind it: every entry invalid."""
    for index in range(ENTRIES):
        machine(call).mmu.set_entry(index, INVALID)
    return OK


_NOTHING = (
    *("Cache_Enable_ICache", "Cache_Disable_ICache", "Cache_Suspend_ICache", "Cache_Resume_ICache"),
    *("Cache_Enable_DCache", "Cache_Disable_DCache", "Cache_Suspend_DCache", "Cache_Resume_DCache"),
    *("rom_Cache_Suspend_ICache", "rom_Cache_Suspend_DCache", "rom_Cache_WriteBack_Addr"),
    *("rom_Cache_Freeze_ICache_Enable", "rom_Cache_Freeze_DCache_Enable"),
    *("Cache_Invalidate_ICache_All", "Cache_Invalidate_DCache_All", "Cache_Invalidate_Addr"),
    *("Cache_WriteBack_Addr", "Cache_WriteBack_All", "Cache_Invalidate_ICache_Items"),
    *("Cache_Set_ICache_Mode", "Cache_Set_DCache_Mode", "Cache_Set_Default_Mode"),
    *("Cache_Mask_All", "Cache_UnMask_All", "Cache_Occupy_ICache_MEMORY", "Cache_Occupy_DCache_MEMORY"),
    *("Cache_Set_IDROM_MMU_Size", "Cache_Start_ICache_Preload", "Cache_Start_DCache_Preload"),
    *("Cache_Freeze_ICache_Enable", "Cache_Freeze_ICache_Disable"),
    *("Cache_Freeze_DCache_Enable", "Cache_Freeze_DCache_Disable", "Cache_Clean_All", "Cache_Clean_Addr"),
    *("rom_config_instruction_cache_mode", "rom_config_data_cache_mode"),
)

FUNCTIONS: dict[str, RomFunction] = {
    **{name: giving(OK) for name in _NOTHING},
    "Cache_Ibus_MMU_Set": _map,
    "Cache_Dbus_MMU_Set": _map,
    "Cache_MMU_Init": _clear,
    "ROM_Boot_Cache_Init": _clear,
}
