"""Numbers and structures of docs/wire.md."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from typing import Any, Final

from emu.link.errors import LinkFault

VERSION: Final = 1
AGENT_VERSION: Final = 1
"""Of requests and replies, which HELLO names."""
SPEC_VERSION: Final = 1
"""Of docs/numerics.md and docs/models.md, which HELLO names."""
HEADER: Final = struct.Struct("<BBHIII")
CHECK_BYTES: Final = 4
FIRST_PAYLOAD: Final = 1040
"""Longest payload before HELLO has said another."""
HELLO_WORD: Final = 0x31554D45
RESET_WORD: Final = 0x54455352
NONE: Final = 0xFFFFFFFF
NULL: Final = 0xFFFFFFFE
NOWHERE: Final = 1
"""Flag of CALL."""
BAD_SIZE: Final = 11
"""Status of CALL: its sizes lead outside a buffer, or are none that the function takes."""
OVERLAP: Final = 12
"""Status: what is written, and something else, have bytes in common."""
REPLY: Final = 0x80
STAGE_BYTES: Final = 24


class Type(IntEnum):
    """Types of frames; a reply has REPLY added."""

    HELLO = 0x01
    POLL = 0x02
    PING = 0x03
    RESET = 0x04
    LIST = 0x10
    BUFFER = 0x11
    WRITE = 0x12
    READ = 0x13
    FILL = 0x14
    CHECK = 0x15
    CALL = 0x16
    RUN = 0x17
    BAUD = 0x18
    MAP = 0x19
    LOG = 0xC0
    BOOT = 0xC1
    MARK = 0xC2


class Flag(IntFlag):
    """Flags of HELLO."""

    CONCURRENT = 1
    CAN_BAUD = 2
    RESTARTS = 4


class Reason(IntEnum):
    """Why the board started."""

    POWER_ON = 0
    ASKED = 1
    EXCEPTION = 2
    ENDLESS = 3
    DAMAGED = 4


STATUS_TEXT: Final = {
    1: "unknown type of request",
    2: "the length does not fit the type",
    3: "no such buffer, region, kernel or model",
    4: "offset and length are not inside the buffer",
    5: "the buffer cannot be written",
    6: "no room",
    7: "the fingerprint is not that of the function on the board",
    8: "wrong number or kind of arguments",
    9: "a value outside its range",
    10: "not possible on this port",
    BAD_SIZE: "the sizes lead outside a buffer, or are none that the function takes",
    OVERLAP: "pieces of memory overlap, and one of them is written",
}

_HELLO = struct.Struct("<IIQQIIIIIIIIIIIII32sIIIIIII24s")
_STATUS = struct.Struct("<QIIIIIHHHHI24sI")


def _text(field: bytes) -> str:
    return field.split(b"\0", 1)[0].decode("ascii", "replace")


@dataclass(frozen=True)
class Hello:
    """What a board says of itself (docs/wire.md section 5)."""

    agent: int
    spec: int
    nonce: int
    identity: int
    build: int
    code: int
    code_bytes: int
    constants: int
    constants_bytes: int
    payload: int
    window: int
    flags: Flag
    hertz: int
    regions: int
    kernels: int
    models: int
    buffers: int
    name: str
    reason: int
    vector: int
    cause: int
    pc: int
    vaddr: int
    ps: int
    sequence: int
    where: str

    @classmethod
    def of(cls, payload: bytes) -> Hello | None:
        """The structure, or None for a payload that is none (or breaks the limits of the document)."""
        if len(payload) < _HELLO.size:
            return None
        fields: Any = _HELLO.unpack_from(payload)
        flags = Flag(fields[11] & 7)
        values: list[Any] = [*fields[:11], flags, *fields[12:17], _text(fields[17]), *fields[18:25]]
        found = cls(*[*values, _text(fields[25])])
        sane = 320 <= found.payload <= 0xFFFF and 1 <= found.window <= 32
        return found if sane else None


def require_versions(hello: Hello) -> None:
    """Raises LinkFault when the board speaks or computes by another version than this program."""
    for what, theirs, ours in (
        ("speaks version {} of docs/wire.md", hello.agent, AGENT_VERSION),
        ("computes by version {} of docs/numerics.md", hello.spec, SPEC_VERSION),
    ):
        if theirs != ours:
            raise LinkFault(
                f"the board {what.format(theirs)}, this program knows version {ours}; "
                "put the agent of this version on it (emu flash), or use the program of its version"
            )


@dataclass(frozen=True)
class Status:
    """Reply of POLL."""

    nonce: int
    session: int
    base: int
    have: int
    done: int
    damaged: int
    last_length: int
    last_newlines: int
    last_returns: int
    lost: int
    tag: int
    stage: str

    @classmethod
    def of(cls, payload: bytes) -> Status | None:
        """The structure, or None for a payload that is none."""
        if len(payload) != _STATUS.size:
            return None
        f: Any = _STATUS.unpack(payload)
        values: list[Any] = [*f[:9], f[10], f[12]]
        return cls(*[*values, _text(f[11])])
