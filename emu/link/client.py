"""The agent's services as functions: what a board offers, its memory, its kernels and models."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

from emu.link.errors import LinkFault
from emu.link.requests import (
    Argument,
    Called,
    Function,
    Place,
    Ran,
    Region,
    Request,
    Wanted,
    body,
    buffer_request,
    call_request,
    check_request,
    fill_request,
    list_request,
    map_request,
    parse_called,
    parse_functions,
    parse_ran,
    parse_regions,
    read_requests,
    run_request,
    write_requests,
)
from emu.link.session import Session
from emu.link.wire import Hello


class Client:
    """One connected session. Errors: Refused, LinkFault, BoardReset."""

    def __init__(self, session: Session, test_line: bool = True) -> None:
        """Connect; ``test_line``: look first whether all byte values pass."""
        self.session = session
        self.hello: Hello = session.connect()
        if test_line:
            session.check_line()

    def ask(self, requests: Sequence[Request]) -> list[bytes]:
        """Bodies of the replies, in order."""
        replies = self.session.exchange(requests)
        return [body(request, reply) for request, reply in zip(requests, replies, strict=True)]

    # --- what the board offers ---------------------------------------------------------------------
    @cached_property
    def regions(self) -> list[Region]:
        """Memories that buffers can lie in."""
        found: list[Region] = []
        while True:
            total, more = parse_regions(self.ask([list_request(0, len(found))])[0])
            found += more
            if len(found) >= total or not more:
                return found

    def map_memories(self, offset: int, size: int, psram: int) -> None:
        """Show a piece of the flash chip, and PSRAM. Raises Refused (10) on boards that do it themselves."""
        self.ask([map_request(offset, size, psram)])
        self.__dict__.pop("regions", None)

    @cached_property
    def kernels(self) -> dict[str, Function]:
        """Kernels by name."""
        return self._functions(1)

    @cached_property
    def models(self) -> dict[str, Function]:
        """Models by name."""
        return self._functions(2)

    def _functions(self, what: int) -> dict[str, Function]:
        found: list[Function] = []
        while True:
            total, more = parse_functions(self.ask([list_request(what, len(found))])[0], len(found))
            found += more
            if len(found) >= total or not more:
                return {function.name: function for function in found}

    # --- memory ------------------------------------------------------------------------------------
    def buffer(self, number: int, region: int, offset: int, size: int) -> int:
        """Make buffer ``number``; its address."""
        return int.from_bytes(self.ask([buffer_request(number, region, offset, size)])[0], "little")

    def write(self, buffer: int, offset: int, data: bytes) -> None:
        """Write bytes of any length."""
        self.ask(write_requests(buffer, offset, data, self.hello.payload))

    def read(self, place: Place) -> bytes:
        """Read bytes of any length."""
        data = b"".join(self.ask(read_requests(place, self.hello.payload)))
        if len(data) != place.length:
            raise LinkFault(f"{len(data)} bytes came where {place.length} were asked for: not an agent")
        return data

    def fill(self, place: Place, seed: int) -> None:
        """Fill with the generator of docs/wire.md."""
        self.ask([fill_request(place, seed)])

    def checksums(self, places: Sequence[Place]) -> list[int]:
        """CRC-32 of each place."""
        per_request = (min(self.hello.payload, 1024) - 4) // 12
        parts = [places[i : i + per_request] for i in range(0, len(places), per_request)]
        replies = self.ask([check_request(part) for part in parts])
        joined = b"".join(replies)
        return [int.from_bytes(joined[i : i + 4], "little") for i in range(0, len(joined), 4)]

    # --- functions ---------------------------------------------------------------------------------
    def call(
        self,
        function: Function,
        arguments: Sequence[Argument],
        results: Sequence[Place] = (),
        limit: int = 0,
        dirt: int = 0,
        before: Sequence[Request] = (),
        nowhere: bool = False,
    ) -> Called:
        """Call a kernel, after the requests ``before`` (sent together with it).

        ``nowhere``: with pointers to where no memory is, for a call that the function has to refuse.
        """
        request = call_request(function, arguments, results, limit, dirt, nowhere)
        return parse_called(self.ask([*before, request])[-1], results)

    def run(
        self,
        function: Function,
        memory: Sequence[Place | None],
        arguments: Sequence[Argument],
        tensors: Sequence[Wanted] = (),
        flags: int = 0,
        limit: int = 0,
    ) -> Ran:
        """Run a model; ``memory``: arena, slow memory, digest records."""
        request = run_request(function, memory, arguments, tensors, flags, limit)
        return parse_ran(self.ask([request])[0], len(tensors))
