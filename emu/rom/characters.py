"""Character classes and conversions of the C locale, as in <ctype.h> (ROM group libc)."""

from __future__ import annotations

from collections.abc import Callable

from emu.rom.functions import RomCall, rom_function

_CLASSES: dict[str, Callable[[int], bool]] = {
    "isalnum": lambda c: chr(c).isalnum(),
    "isalpha": lambda c: chr(c).isalpha(),
    "isascii": lambda c: True,
    "isblank": lambda c: c in (9, 32),
    "iscntrl": lambda c: c < 32 or c == 127,
    "isdigit": lambda c: 48 <= c <= 57,
    "islower": lambda c: 97 <= c <= 122,
    "isgraph": lambda c: 33 <= c <= 126,
    "isprint": lambda c: 32 <= c <= 126,
    "ispunct": lambda c: 33 <= c <= 126 and not chr(c).isalnum(),
    "isspace": lambda c: c in b" \t\n\v\f\r",
    "isupper": lambda c: 65 <= c <= 90,
    "isxdigit": lambda c: c in b"0123456789abcdefABCDEF",
}


def _classify(name: str, test: Callable[[int], bool]) -> None:
    @rom_function(name)
    def classify(call: RomCall) -> int:
        """1 for yes; the C standard promises any value but 0."""
        return int(call[0] < 128 and test(call[0]))


for _name, _test in _CLASSES.items():
    _classify(_name, _test)


@rom_function("toupper")
def toupper(call: RomCall) -> int:
    """ASCII letters; everything else as it is."""
    return call[0] - 32 if 97 <= call[0] <= 122 else call[0]


@rom_function("tolower")
def tolower(call: RomCall) -> int:
    """ASCII letters; everything else as it is."""
    return call[0] + 32 if 65 <= call[0] <= 90 else call[0]


@rom_function("toascii")
def toascii(call: RomCall) -> int:
    """The low seven bits."""
    return call[0] & 127
