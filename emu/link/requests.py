"""Requests of docs/wire.md section 6: what to send, and what a reply says."""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

from emu.link.errors import LinkFault, Refused
from emu.link.wire import NONE, NOWHERE, NULL, STAGE_BYTES, STATUS_TEXT, Type

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True)
class Request:
    """Type and payload. ``seconds``: how long it may be executed before the board counts as hung."""

    type: Type
    payload: bytes
    seconds: float = 5.0

    @property
    def is_long(self) -> bool:
        """The board may not listen while it executes this."""
        return self.type in (Type.CALL, Type.RUN)


@dataclass(frozen=True)
class Word:
    """A scalar argument: its 32 bits."""

    value: int


@dataclass(frozen=True)
class Place:
    """A pointer argument, or a piece of a buffer; CALL ignores ``length``."""

    buffer: int
    offset: int
    length: int = 0


Null = Place(NULL, 0, 0)
Argument = Word | Place


@dataclass(frozen=True)
class Region:
    """Memory of the board that buffers can lie in."""

    address: int
    size: int
    writable: bool
    name: str


@dataclass(frozen=True)
class Function:
    """A kernel or model of the board."""

    index: int
    fingerprint: int
    name: str
    signature: str


@dataclass(frozen=True)
class Called:
    """Reply of CALL. ``data``: bytes of the first results; the others have to be read."""

    low: int
    high: int
    cycles: int
    checks: tuple[int, ...]
    data: tuple[bytes, ...]


@dataclass(frozen=True)
class Wanted:
    """A tensor that RUN copies to a place: elements from ``first`` on."""

    stage: str
    place: Place
    first: int = 0


@dataclass(frozen=True)
class Ran:
    """Reply of RUN; ``tensors``: (dtype, total, copied) of each wanted tensor."""

    result: int
    cycles: int
    records: int
    dropped: int
    arena_high: int
    slow_high: int
    bad: int
    reason: int
    row: int
    column: int
    stage: str
    tensors: tuple[tuple[int, int, int], ...]


_RAN = struct.Struct("<iQIIIIIIII24s")


def list_request(what: int, first: int) -> Request:
    """LIST: regions (0), kernels (1), models (2) from ``first`` on."""
    return Request(Type.LIST, struct.pack("<II", what, first))


def buffer_request(buffer: int, region: int, offset: int, size: int) -> Request:
    """BUFFER: make, replace or (size 0) remove a buffer."""
    return Request(Type.BUFFER, struct.pack("<IIII", buffer, region, offset, size))


def map_request(offset: int, size: int, psram: int) -> Request:
    """MAP: a piece of flash and PSRAM as regions."""
    return Request(Type.MAP, struct.pack("<III", offset, size, psram))


def write_requests(buffer: int, offset: int, data: bytes, payload: int) -> list[Request]:
    """WRITE, as many as it takes."""
    step = (payload - 8) & ~15
    return [
        Request(Type.WRITE, struct.pack("<II", buffer, offset + at) + data[at : at + step])
        for at in range(0, len(data), step)
    ]


def read_requests(place: Place, payload: int) -> list[Request]:
    """READ, as many as it takes."""
    step = (payload - 4) & ~15
    return [
        Request(
            Type.READ,
            struct.pack("<III", place.buffer, place.offset + at, min(step, place.length - at)),
        )
        for at in range(0, place.length, step)
    ]


def fill_request(place: Place, seed: int) -> Request:
    """FILL with the generator's bytes."""
    return Request(Type.FILL, struct.pack("<IIII", place.buffer, place.offset, place.length, seed))


def check_request(places: Sequence[Place]) -> Request:
    """CHECK: CRC-32 of each place."""
    return Request(Type.CHECK, struct.pack("<I", len(places)) + b"".join(map(_place, places)))


def call_request(
    function: Function,
    arguments: Sequence[Argument],
    results: Sequence[Place] = (),
    limit: int = 0,
    dirt: int = 0,
    nowhere: bool = False,
    seconds: float = 60.0,
) -> Request:
    """CALL of a kernel; ``nowhere``: its pointers lead to where no memory is."""
    counts = len(arguments) | (NOWHERE if nowhere else 0) << 8, len(results)
    head = struct.pack("<IIIIHH", function.index, function.fingerprint, limit, dirt, *counts)
    words = b"".join(_argument(a)[:8] for a in arguments)
    return Request(Type.CALL, head + words + b"".join(map(_place, results)), seconds)


def run_request(
    function: Function,
    memory: Sequence[Place | None],
    arguments: Sequence[Argument],
    tensors: Sequence[Wanted] = (),
    flags: int = 0,
    limit: int = 0,
    seconds: float = 600.0,
) -> Request:
    """RUN of a model; ``memory``: arena, slow memory, digest records."""
    head = struct.pack("<IIII", function.index, function.fingerprint, limit, flags)
    for place in memory:
        head += (
            struct.pack("<II", NONE, 0) if place is None else struct.pack("<II", place.buffer, place.offset)
        )
    head += struct.pack("<HH", len(arguments), len(tensors))
    wanted = b"".join(
        t.stage.encode("ascii").ljust(STAGE_BYTES, b"\0") + _place(t.place) + struct.pack("<I", t.first)
        for t in tensors
    )
    return Request(Type.RUN, head + b"".join(map(_argument, arguments)) + wanted, seconds)


def _place(place: Place) -> bytes:
    return struct.pack("<III", place.buffer, place.offset, place.length)


def _argument(argument: Argument) -> bytes:
    if isinstance(argument, Word):
        return struct.pack("<III", NONE, argument.value & 0xFFFFFFFF, 0)
    return _place(argument)


def body(request: Request, reply: bytes) -> bytes:
    """A reply without its status. Raises Refused, or LinkFault for a reply that is none."""
    if len(reply) < 4:
        raise LinkFault(
            f"the reply of {request.type.name} has {len(reply)} bytes; the other side is no agent"
        )
    status = int.from_bytes(reply[:4], "little")
    if status:
        about = int.from_bytes(reply[4:8], "little") if len(reply) == 8 else None
        raise Refused(request.type.name, status, STATUS_TEXT.get(status, "unknown status"), about)
    return reply[4:]


def _told(parser: Callable[P, T]) -> Callable[P, T]:
    """A reply that is shorter than it says is no agent's: LinkFault."""

    @functools.wraps(parser)
    def told(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return parser(*args, **kwargs)
        except struct.error as error:
            raise LinkFault("a reply is shorter than it says; the other side is no agent") from error

    return told


@_told
def parse_regions(data: bytes) -> tuple[int, list[Region]]:
    """(total, entries) of LIST 0."""
    total, n = struct.unpack_from("<II", data)
    found = []
    for i in range(n):
        address, size, flags, name = struct.unpack_from("<III20s", data, 8 + 32 * i)
        found.append(Region(address, size, bool(flags & 1), name.split(b"\0")[0].decode("ascii", "replace")))
    return total, found


@_told
def parse_functions(data: bytes, first: int) -> tuple[int, list[Function]]:
    """(total, entries) of LIST 1 and 2."""
    total, n = struct.unpack_from("<II", data)
    found, at = [], 8
    for i in range(n):
        mark, length = struct.unpack_from("<IB", data, at)
        text = data[at + 5 : at + 5 + length].decode("ascii", "replace")
        name, _, signature = text.partition(" ")
        found.append(Function(first + i, mark, name, signature))
        at += 5 + length
    return total, found


@_told
def parse_called(data: bytes, results: Sequence[Place]) -> Called:
    """Reply of CALL with these results."""
    low, high, cycles = struct.unpack_from("<III", data)
    checks = struct.unpack_from(f"<{len(results)}I", data, 12)
    at, found = 12 + 4 * len(results), []
    for place in results:
        if at + place.length > len(data):
            break
        found.append(data[at : at + place.length])
        at += place.length
    return Called(low, high, cycles, checks, tuple(found))


@_told
def parse_ran(data: bytes, tensors: int) -> Ran:
    """Reply of RUN."""
    f: Any = _RAN.unpack_from(data)
    triples = tuple(struct.unpack_from("<III", data, _RAN.size + 12 * i) for i in range(tensors))
    values: list[Any] = [*f[:10]]
    values += [f[10].split(b"\0")[0].decode("ascii", "replace"), triples]
    return Ran(*values)
