"""memcpy and its relatives (C standard, "Copying functions", "Comparison functions"; ROM group libc)."""

from __future__ import annotations

from emu.rom.functions import RomCall, rom_function


@rom_function("memcpy", "memmove", "xthal_memcpy")
def copy(call: RomCall) -> int:
    """An overlap, which memcpy need not stand, is copied as memmove does."""
    call.write(call[0], call.read(call[1], call[2]))
    return call[0]


@rom_function("xthal_bcopy")
def bcopy(call: RomCall) -> None:
    """Source first."""
    call.write(call[1], call.read(call[0], call[2]))


@rom_function("memset")
def memset(call: RomCall) -> int:
    """Every byte is the low byte of the second argument."""
    call.fill(call[0], call[1] & 0xFF, call[2])
    return call[0]


@rom_function("bzero")
def bzero(call: RomCall) -> None:
    """``bzero(place, size)``."""
    call.fill(call[0], 0, call[1])


@rom_function("memcmp", "__gcc_bcmp")
def memcmp(call: RomCall) -> int:
    """The difference of the first two bytes that differ."""
    a, b = call.read(call[0], call[2]), call.read(call[1], call[2])
    return next((x - y for x, y in zip(a, b, strict=True) if x != y), 0)


@rom_function("memchr")
def memchr(call: RomCall) -> int:
    """Bytes behind the one that is found need not be readable."""
    wanted = call[1] & 0xFF
    for i in range(call[2]):
        if call.read(call[0] + i, 1)[0] == wanted:
            return call[0] + i
    return 0


@rom_function("memrchr")
def memrchr(call: RomCall) -> int:
    """The last place."""
    at = call.read(call[0], call[2]).rfind(bytes([call[1] & 0xFF]))
    return call[0] + at if at >= 0 else 0


@rom_function("memccpy")
def memccpy(call: RomCall) -> int:
    """Copies up to and with the byte; returns the place behind it in the destination."""
    wanted = call[2] & 0xFF
    for i in range(call[3]):
        byte = call.read(call[1] + i, 1)
        call.write(call[0] + i, byte)
        if byte[0] == wanted:
            return call[0] + i + 1
    return 0
