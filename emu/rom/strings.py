"""String functions of the C library (C standard, "String handling"; ROM group libc)."""

from __future__ import annotations

from emu.rom.functions import RomCall, rom_function

MASK32 = 0xFFFFFFFF
_UPPER = bytes(range(65, 91))


def _lower(text: bytes) -> bytes:
    return bytes(b + 32 if b in _UPPER else b for b in text)


def _compare(a: bytes, b: bytes) -> int:
    """The difference of the first two bytes that differ, the closing 0 included."""
    return next((x - y for x, y in zip(a + b"\0", b + b"\0", strict=False) if x != y), 0)


@rom_function("strlen")
def strlen(call: RomCall) -> int:
    """Bytes before the 0."""
    return len(call.string(call[0]))


@rom_function("strnlen")
def strnlen(call: RomCall) -> int:
    """The same, at most the limit."""
    return len(call.string(call[0], call[1]))


@rom_function("strcpy")
def strcpy(call: RomCall) -> int:
    """With the closing 0."""
    call.write(call[0], call.string(call[1]) + b"\0")
    return call[0]


@rom_function("strncpy")
def strncpy(call: RomCall) -> int:
    """Padded with zeros to the limit; without a closing 0 when there is no room for one."""
    call.check(call[0], call[2], "store")
    call.write(call[0], call.string(call[1], call[2]).ljust(call[2], b"\0"))
    return call[0]


@rom_function("strlcpy")
def strlcpy(call: RomCall) -> int:
    """Always closed; returns the length of the source (BSD)."""
    text = call.string(call[1])
    if call[2]:
        call.write(call[0], text[: call[2] - 1] + b"\0")
    return len(text)


@rom_function("strcat")
def strcat(call: RomCall) -> int:
    """Behind the string that is there."""
    call.write(call[0] + len(call.string(call[0])), call.string(call[1]) + b"\0")
    return call[0]


@rom_function("strncat")
def strncat(call: RomCall) -> int:
    """At most so many bytes, and a closing 0."""
    call.write(call[0] + len(call.string(call[0])), call.string(call[1], call[2]) + b"\0")
    return call[0]


@rom_function("strlcat")
def strlcat(call: RomCall) -> int:
    """Never beyond ``size`` bytes in all; returns the length that it tried to make (BSD)."""
    size, text = call[2], call.string(call[1])
    have = len(call.string(call[0], size))
    if have < size:
        call.write(call[0] + have, text[: size - have - 1] + b"\0")
    return have + len(text)


@rom_function("strcmp", "strcoll")
def strcmp(call: RomCall) -> int:
    """The sign says which is greater."""
    return _compare(call.string(call[0]), call.string(call[1]))


@rom_function("strncmp")
def strncmp(call: RomCall) -> int:
    """At most so many bytes."""
    return _compare(call.string(call[0], call[2]), call.string(call[1], call[2]))


@rom_function("strcasecmp")
def strcasecmp(call: RomCall) -> int:
    """ASCII letters of both cases are equal."""
    return _compare(_lower(call.string(call[0])), _lower(call.string(call[1])))


@rom_function("strncasecmp")
def strncasecmp(call: RomCall) -> int:
    """The same, at most so many bytes."""
    return _compare(_lower(call.string(call[0], call[2])), _lower(call.string(call[1], call[2])))


def _place(base: int, at: int) -> int:
    return base + at if at >= 0 else 0


@rom_function("strchr")
def strchr(call: RomCall) -> int:
    """The closing 0 can be found too."""
    return _place(call[0], (call.string(call[0]) + b"\0").find(bytes([call[1] & 0xFF])))


@rom_function("strrchr")
def strrchr(call: RomCall) -> int:
    """The last place."""
    return _place(call[0], (call.string(call[0]) + b"\0").rfind(bytes([call[1] & 0xFF])))


@rom_function("strstr")
def strstr(call: RomCall) -> int:
    """The first place of the second string in the first."""
    return _place(call[0], call.string(call[0]).find(call.string(call[1])))


@rom_function("strcasestr")
def strcasestr(call: RomCall) -> int:
    """The same for ASCII letters of both cases."""
    return _place(call[0], _lower(call.string(call[0])).find(_lower(call.string(call[1]))))


def _span(text: bytes, of: bytes, wanted: bool) -> int:
    return next((i for i, byte in enumerate(text) if (byte in of) != wanted), len(text))


@rom_function("strspn")
def strspn(call: RomCall) -> int:
    """Bytes at the beginning that are in the second string."""
    return _span(call.string(call[0]), call.string(call[1]), True)


@rom_function("strcspn")
def strcspn(call: RomCall) -> int:
    """Bytes at the beginning that are not."""
    return _span(call.string(call[0]), call.string(call[1]), False)


@rom_function("strlwr")
def strlwr(call: RomCall) -> int:
    """In place."""
    call.write(call[0], _lower(call.string(call[0])))
    return call[0]


@rom_function("strupr")
def strupr(call: RomCall) -> int:
    """In place."""
    text = call.string(call[0])
    call.write(call[0], bytes(b - 32 if b - 32 in _UPPER else b for b in text))
    return call[0]


@rom_function("strtok_r")
def strtok(call: RomCall) -> int:
    """The place to go on from is kept where the third argument points to."""
    delimiters = call.string(call[1])
    start = call[0] or int.from_bytes(call.read(call[2], 4), "little")
    if not start:
        return 0
    text = call.string(start)
    skipped = _span(text, delimiters, True)
    token = text[skipped : skipped + _span(text[skipped:], delimiters, False)]
    end = skipped + len(token)
    following = 0
    if end < len(text):
        call.write(start + end, b"\0")
        following = start + end + 1
    call.write(call[2], following.to_bytes(4, "little"))
    return start + skipped if token else 0


@rom_function("strsep")
def strsep(call: RomCall) -> int:
    """The pointer to the string is moved behind the delimiter, to 0 at the end."""
    start = int.from_bytes(call.read(call[0], 4), "little")
    if not start:
        return 0
    text = call.string(start)
    end = _span(text, call.string(call[1]), False)
    if end < len(text):
        call.write(start + end, b"\0")
    call.write(call[0], (start + end + 1 if end < len(text) else 0).to_bytes(4, "little"))
    return start
