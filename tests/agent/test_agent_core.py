"""The agent's core on this machine: what it answers, what it refuses, what it never does twice."""

from __future__ import annotations

import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from emu.link.frames import Frame, Splitter, Text, encode
from emu.link.requests import (
    Argument,
    Function,
    Null,
    Place,
    Request,
    Word,
    buffer_request,
    call_request,
    check_request,
    fill_request,
    parse_functions,
    read_requests,
    write_requests,
)
from emu.link.wire import HELLO_WORD, REPLY, Hello, Status, Type

ROOT = Path(__file__).resolve().parents[2]
SIZE = 4096


class Talk:
    """One client without any cleverness: a request, its reply."""

    def __init__(self, agent, session: int = 7) -> None:
        self.agent, self.session, self.next = agent, session, 1
        self.splitter = Splitter()
        self.splitter.feed(agent.take())
        self.hello = Hello.of(self.send(Type.HELLO, HELLO_WORD.to_bytes(4, "little"))[0].payload)

    def send(self, kind: int, payload: bytes, sequence: int = 0, ack: int | None = None) -> list[Frame]:
        frame = Frame(kind, self.session, sequence, self.next if ack is None else ack, payload)
        return [p for p in self.splitter.feed(self.agent.put(encode(frame))) if isinstance(p, Frame)]

    def ask(self, request: Request) -> tuple[int, bytes]:
        sequence, self.next = self.next, self.next + 1
        replies = self.send(request.type, request.payload, sequence, ack=sequence)
        assert [(r.type, r.sequence) for r in replies] == [(request.type | REPLY, sequence)]
        return int.from_bytes(replies[0].payload[:4], "little"), replies[0].payload[4:]

    def status(self) -> Status:
        found = Status.of(self.send(Type.POLL, struct.pack("<II", 0, 9))[-1].payload)
        assert found is not None
        assert found.tag == 9
        return found

    def functions(self) -> dict[str, Function]:
        found: list[Function] = []
        while True:
            reply = self.ask(Request(Type.LIST, struct.pack("<II", 1, len(found))))[1]
            total, more = parse_functions(reply, len(found))
            found += more
            if len(found) == total:
                return {f.name: f for f in found}


@pytest.fixture
def talk(make_agent) -> Talk:
    talk = Talk(make_agent(sram=SIZE, psram=SIZE, model=bytes(SIZE)))
    assert talk.ask(buffer_request(0, 0, 0, SIZE))[0] == 0
    assert talk.ask(buffer_request(1, 0, 256, 64))[0] == 0
    assert talk.ask(buffer_request(2, 2, 0, SIZE))[0] == 0
    return talk


@pytest.mark.parametrize("tool", ["agent_signatures.py", "agent_probes.py"])
def test_generated_files_are_current(tool: str) -> None:
    command = [sys.executable, ROOT / "tools" / tool, "--check"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_fingerprints_are_those_of_the_specs(talk: Talk) -> None:
    from emu.kernels.spec import REGISTRY
    from emu.link.signatures import fingerprint, signature
    from emu.verify.selection import known_kernels

    known_kernels(None)
    functions = talk.functions()
    assert set(functions) >= set(REGISTRY)
    for name, kernel in REGISTRY.items():
        assert functions[name].fingerprint == fingerprint(name, signature(kernel)), name


@pytest.mark.parametrize(
    ("offset", "length", "status"),
    [
        (0, SIZE, 0),
        (SIZE, 0, 0),
        (SIZE - 1, 1, 0),
        (SIZE - 1, 2, 4),
        (SIZE, 1, 4),
        (SIZE + 1, 0, 4),
        (0xFFFFFFFF, 1, 4),
        (0xFFFFFFFF, 0xFFFFFFFF, 4),
        (1, 0xFFFFFFFF, 4),
        (0x80000000, 0x80000000, 4),
        (16, 0xFFFFFFF0, 4),
    ],
)
def test_every_range_is_checked(talk: Talk, offset: int, length: int, status: int) -> None:
    place = Place(0, offset, length)
    checks = {
        "FILL": fill_request(place, 5),
        "CHECK": check_request([place]),
        "READ": Request(Type.READ, struct.pack("<III", 0, offset, length)),
    }
    if length < 1000:
        checks["WRITE"] = Request(Type.WRITE, struct.pack("<II", 0, offset) + bytes(length))
    for name, request in checks.items():
        wanted = 9 if name == "READ" and status == 0 and length > 1036 else status
        assert talk.ask(request)[0] == wanted, name
    assert talk.agent.guards_intact()


def test_buffers_are_checked(talk: Talk) -> None:
    cases = {
        (32, 0, 0, 16): 3,
        (0, 3, 0, 16): 3,
        (0, 0, 8, 16): 9,
        (0, 0, 0, 8): 9,
        (0, 0, SIZE, 16): 4,
        (0, 0, 16, SIZE): 4,
        (0, 0, 0xFFFFFFF0, 32): 4,
        (0, 0, 16, 0xFFFFFFF0): 4,
    }
    for case, status in cases.items():
        assert talk.ask(buffer_request(*case))[0] == status, case
    assert talk.ask(Request(Type.READ, struct.pack("<III", 5, 0, 1)))[0] == 3
    assert talk.ask(Request(Type.WRITE, struct.pack("<II", 2, 0) + b"x"))[0] == 5
    assert talk.ask(fill_request(Place(2, 0, 16), 1))[0] == 5
    assert talk.ask(Request(Type.READ, struct.pack("<III", 1, 60, 5)))[0] == 4
    assert talk.agent.guards_intact()


def test_calls_are_checked(talk: Talk) -> None:
    kernel = talk.functions()["relu_in_place"]
    good: list[Argument] = [Place(1, 0), Word(4)]
    cases: list[tuple[list[Argument], int]] = [
        (good, 0),
        ([Word(0x3FC88000), Word(4)], 8),
        ([Place(1, 0), Place(1, 0)], 8),
        ([Place(1, 65), Word(0)], 4),
        ([Place(9, 0), Word(0)], 3),
        ([Place(2, 0), Word(0)], 5),
        ([Place(1, 0)], 8),
        ([*good, Word(1)], 8),
    ]
    for arguments, status in cases:
        assert talk.ask(call_request(kernel, arguments))[0] == status, arguments
    assert talk.ask(call_request(kernel, good, [Place(1, 60, 5)]))[0] == 4
    assert talk.ask(call_request(kernel, good, limit=0x80000000))[0] == 9
    wrong = Function(kernel.index, kernel.fingerprint ^ 1, kernel.name, kernel.signature)
    assert talk.ask(call_request(wrong, good))[0] == 7
    assert talk.ask(call_request(Function(999, 0, "", ""), good))[0] == 3
    assert talk.ask(call_request(kernel, [Null, Word(0)]))[0] == 0


def test_results_come_back_as_long_as_they_fit(talk: Talk) -> None:
    kernel = talk.functions()["relu_in_place"]
    places = [Place(0, 0, 500), Place(0, 500, 400), Place(0, 900, 400), Place(0, 1300, 4)]
    status, reply = talk.ask(call_request(kernel, [Place(1, 0), Word(0)], places))
    assert status == 0
    memory = bytes(talk.agent.memory[0][talk.agent.guard : talk.agent.guard + SIZE])
    checks = struct.unpack_from("<4I", reply, 12)
    assert list(checks) == [zlib.crc32(memory[p.offset : p.offset + p.length]) for p in places]
    assert reply[28:] == memory[:900]


def test_requests_are_executed_once_and_in_order(talk: Talk) -> None:
    first = talk.next
    writes = write_requests(0, 0, bytes(range(64)) * 40, 280)[:8]
    assert talk.send(Type.WRITE, writes[1].payload, first + 1, ack=first) == []
    replies = talk.send(Type.WRITE, writes[0].payload, first, ack=first)
    assert [r.sequence for r in replies] == [first, first + 1]
    again = talk.send(Type.WRITE, writes[1].payload, first + 1, ack=first)
    assert [r.sequence for r in again] == [first + 1]
    assert talk.send(Type.WRITE, writes[0].payload, first, ack=first + 2) == []
    talk.next = first + 2
    assert talk.status().base == first + 2


def test_the_window_has_an_end(talk: Talk) -> None:
    first, window = talk.next, talk.hello.window
    assert talk.send(Type.READ, b"", first + window, ack=first) == []
    assert talk.status().have == 0
    for i in range(1, window):
        assert talk.send(Type.LIST, struct.pack("<II", 0, 0), first + i, ack=first) == []
    assert talk.status().have == (1 << window) - 2
    assert len(talk.send(Type.LIST, struct.pack("<II", 0, 0), first, ack=first)) == window


def test_an_ack_from_the_future_is_ignored(talk: Talk) -> None:
    talk.send(Type.POLL, bytes(8), ack=talk.next + 5)
    assert talk.status().base == talk.next


def test_other_sessions_are_not_heard(talk: Talk) -> None:
    other = Frame(Type.READ, 99, talk.next, talk.next, struct.pack("<III", 0, 0, 4))
    assert talk.agent.put(encode(other)) == b""
    answer = talk.splitter.feed(talk.agent.put(encode(Frame(Type.POLL, 99, 0, 1, bytes(8)))))
    status = Status.of(answer[0].payload)
    assert status is not None
    assert status.session == talk.session


def test_damaged_pieces_are_told_and_text_is_not(talk: Talk) -> None:
    before = talk.status().damaged
    assert talk.agent.put(b"\0some text of a terminal\r\n\0") == b""
    assert talk.status().damaged == before + 1
    told = talk.splitter.feed(talk.agent.put(b"\0" + b"\x80\n\r\n" * 100 + b"\0"))
    status = Status.of(told[0].payload)
    assert status is not None
    assert (status.last_length, status.last_newlines, status.last_returns) == (400, 200, 100)
    assert status.tag == 0


def test_a_start_is_told_with_its_reason(make_agent) -> None:
    agent = make_agent()
    agent.take()
    agent.start(2)
    pieces = Splitter().feed(agent.take())
    assert not any(isinstance(p, Text) for p in pieces)
    hello = Hello.of(pieces[0].payload)
    assert hello is not None
    assert (pieces[0].type, hello.reason, hello.cause, hello.pc) == (Type.BOOT, 2, 29, 0x40378123)
    assert (hello.vaddr, hello.sequence, hello.where) == (0xDEAD0000, 7, "rne_array")


def test_reads_of_read_only_memory(talk: Talk) -> None:
    for request in read_requests(Place(2, 0, SIZE), talk.hello.payload):
        status, data = talk.ask(request)
        assert status == 0
        assert data == bytes(len(data))
