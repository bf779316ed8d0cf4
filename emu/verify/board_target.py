"""A board behind a serial line, as a target (docs/wire.md): same cases, same bytes, same verdicts.

Each case is placed as on the other targets, sent as one piece (guard bytes included), called, and looked at
again: small cases come back whole with the reply; of large ones the checksums of everything that must not
have changed, and the outputs.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np

from emu.kernels.spec import Kernel, Tensor
from emu.ledger.writer import Session
from emu.link.board import Board
from emu.link.client import Client
from emu.link.errors import BoardFault, LinkFault, Refused
from emu.link.requests import Argument, Called, Function, Place, Region, Request, Word, write_requests
from emu.link.signatures import fingerprint, signature
from emu.link.wire import BAD_SIZE, OVERLAP
from emu.verify.case import Case
from emu.verify.errors import LinkTrouble, TargetFault, ToolError, UsageProblem
from emu.verify.layout import GUARD, Layout, place
from emu.verify.target import CallResult, host_arena

_INTERNAL, _PSRAM = 0, 1
"""Buffers: the largest memory that the board shows by itself, and PSRAM, once a case needs it."""
_PSRAM_BYTES = 2 << 20
_ALIGN = 64
T = TypeVar("T")


@dataclass(frozen=True)
class _Span:
    """The bytes of the arena that the board gets, and where they go: ``at`` in the board's ``buffer``."""

    start: int
    end: int
    at: int
    buffer: int = _INTERNAL

    def place(self, start: int, end: int) -> Place:
        """Bytes ``start`` .. ``end`` of the arena on the board."""
        return Place(self.buffer, self.at + start - self.start, end - start)


class BoardTarget:
    """Runs kernels by name on a board."""

    name = "board"

    def __init__(self, board: Board, budget: int = 0) -> None:
        self._board = board
        self._budget = min(budget, 0x7FFFFFFF)
        self._arena = host_arena()
        self._ready: Client | None = None
        self._sizes: dict[int, int] = {}

    def call(self, kernel: Kernel, case: Case) -> CallResult:
        """Run the kernel on the board.

        Raises TargetFault (the code on the board stopped), LinkTrouble (the line cannot be mended), ToolError
        (the board lacks the kernel, or the case does not fit its memory).
        """
        layout = Layout(kernel, case, self._arena)
        return judged(lambda: self._board.attempt(lambda client: self._call(client, kernel, case, layout)))

    def _call(self, client: Client, kernel: Kernel, case: Case, layout: Layout) -> CallResult:
        self._prepare(client)
        function = find(client.kernels, kernel)
        span = self._span(client, kernel, case)
        Layout(kernel, case, self._arena)  # a repeated attempt starts from the same bytes
        before = self._arena[span.start : span.end].tobytes()
        places = _looked_at(layout, span)
        small = span.place(span.start, span.end)
        wanted = [small] if small.length <= client.hello.payload - 64 else places
        sent = write_requests(span.buffer, span.at, before, client.hello.payload)
        called = self._called(client, function, _arguments(kernel, case, layout, span), wanted, case, sent)
        self._bring_back(client, called, wanted, span)
        return CallResult(layout.outputs(), _returned(kernel, called), called.cycles, layout.damage())

    def _called(
        self,
        client: Client,
        function: Function,
        arguments: list[Argument],
        wanted: list[Place],
        case: Case,
        before: list[Request],
    ) -> Called:
        """The call; sizes that no buffer has are the function's to refuse, and it gets no buffers then."""
        limit, dirt = self._budget, case.dirty & 0xFFFFFFFF
        try:
            return client.call(function, arguments, wanted, limit, dirt, before)
        except Refused as refusal:
            if refusal.status not in (BAD_SIZE, OVERLAP):
                raise
        return client.call(function, arguments, wanted, limit, dirt, nowhere=True)

    def _prepare(self, client: Client) -> None:
        """One buffer over the largest memory, after each new session."""
        if client is not self._ready:
            self._sizes = {}
            self._make_buffer(
                client, _INTERNAL, max((r for r in client.regions if r.writable), key=attrgetter("size"))
            )
            self._ready = client

    def _make_buffer(self, client: Client, number: int, region: Region) -> None:
        skip = -region.address % _ALIGN
        self._sizes[number] = (region.size - skip) & ~15
        client.buffer(number, client.regions.index(region), skip, self._sizes[number])

    def _add_psram(self, client: Client) -> None:
        """Show PSRAM where the board does not do it by itself; the buffers are made anew."""
        self._sizes[_PSRAM] = 0
        if any(region.name == "psram" for region in client.regions):
            return  # no larger than what is used already
        with contextlib.suppress(Refused):
            client.map_memories(0, 0, _PSRAM_BYTES)
        for number, name in ((_INTERNAL, "sram"), (_PSRAM, "psram")):
            for region in client.regions:
                if region.name == name:
                    self._make_buffer(client, number, region)

    def _span(self, client: Client, kernel: Kernel, case: Case) -> _Span:
        slots, used = place(kernel, case)
        if not slots:
            return _Span(0, 0, 0)
        start = (slots[0].start - GUARD) & ~(_ALIGN - 1)
        end = min(-(-(slots[-1].end + GUARD) // 16) * 16, used)
        if end - start <= self._sizes[_INTERNAL]:
            return _Span(start, end, 0)
        if _PSRAM not in self._sizes:
            self._add_psram(client)
        if end - start > self._sizes[_PSRAM]:
            raise ToolError(
                f"kernel {kernel.symbol}: the buffers need {end - start:,} bytes, the board has "
                f"{max(self._sizes.values()):,}"
            )
        return _Span(start, end, 0, _PSRAM)

    def _bring_back(self, client: Client, called: Called, wanted: list[Place], span: _Span) -> None:
        """The board's bytes into the arena, as far as they may differ from what is there."""
        for i, place_ in enumerate(wanted):
            start = span.start + place_.offset - span.at
            here = self._arena[start : start + place_.length]
            if i < len(called.data):
                data = called.data[i]
            elif zlib.crc32(here.tobytes()) == called.checks[i]:
                continue
            else:
                data = client.read(place_)
            if zlib.crc32(data) != called.checks[i]:
                raise LinkFault("the bytes of a result do not have the checksum that the board gave")
            here[:] = np.frombuffer(data, np.uint8)

    def close(self) -> None:
        """End the session; the board keeps running."""
        self._board.close()

    @property
    def summary(self) -> str:
        """What happened on the line."""
        return self._board.tally.summary()

    @property
    def session(self) -> Session:
        """The same for the ledger."""
        return session_of(self._board)


def session_of(board: Board) -> Session:
    """What happened on the line to a board up to now."""
    counts = board.tally.counts
    carried = (counts["requests"], counts["sent"], counts["received"])
    told = board.tally.summary()
    return Session(board.url, *carried, board.tally.mended, told, board.identity, board.build)


def judged(work: Callable[[], T]) -> T:
    """Run ``work``; its troubles as this room names them."""
    try:
        return work()
    except BoardFault as fault:
        raise TargetFault(fault.kind, fault.message, fault.where, fault.pc) from None
    except LinkFault as fault:
        raise LinkTrouble(str(fault)) from None
    except Refused as refusal:
        raise ToolError(str(refusal)) from None


def find(functions: dict[str, Function], kernel: Kernel) -> Function:
    """The board's function for a kernel. Raises UsageProblem: it is missing, or another one."""
    found = functions.get(kernel.symbol)
    if found is None:
        raise UsageProblem(
            f"the agent on the board has no kernel {kernel.symbol}; it offers {len(functions)}: "
            "add it to the kernel table of the firmware (docs/your-board.md), or choose others with --kernel"
        )
    try:
        text = signature(kernel)
    except ValueError as error:
        raise UsageProblem(f"kernel {kernel.symbol} cannot run on a board: {error}") from error
    if found.fingerprint != fingerprint(kernel.symbol, text):
        raise UsageProblem(
            f"kernel {kernel.symbol}: the board's function is {found.signature!r}, the spec says {text!r}; "
            "build the firmware and this checkout from the same sources"
        )
    return found


def _looked_at(layout: Layout, span: _Span) -> list[Place]:
    """Outputs first, then everything between and around them."""
    outputs = [(s.start, s.end) for s in layout.slots if s.tensor.role != "in" and s.size]
    rest, position = [], span.start
    for start, end in [*outputs, (span.end, span.end)]:
        if start > position:
            rest.append((position, start))
        position = max(position, end)
    return [span.place(*piece) for piece in [*outputs, *rest]]


def _arguments(kernel: Kernel, case: Case, layout: Layout, span: _Span) -> list[Argument]:
    starts = {s.tensor.name: s.start for s in layout.slots}
    found: list[Argument] = []
    for param in kernel.params:
        if isinstance(param, Tensor):
            found.append(span.place(starts[param.name], starts[param.name]))
        else:
            found += _words(case.scalars[param.name], param.dtype)
    return found


def _words(value: Any, dtype: str) -> list[Argument]:
    raw = np.array(value).astype(dtype).tobytes()
    raw = raw.ljust(-(-len(raw) // 4) * 4, b"\xff" if dtype.startswith("int") and raw[-1] & 0x80 else b"\0")
    return [Word(int.from_bytes(raw[i : i + 4], "little")) for i in range(0, len(raw), 4)]


def _returned(kernel: Kernel, called: Called) -> int | None:
    if kernel.returns is None:
        return None
    bits = 8 * np.dtype(kernel.returns).itemsize
    return (called.high << 32 | called.low) & ((1 << bits) - 1)
