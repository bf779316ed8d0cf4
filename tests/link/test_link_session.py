"""Sessions over lines that lose, double, delay, split and cut; nothing is executed twice, nothing is lost."""

from __future__ import annotations

import contextlib
import os
import pty
import random
import sys
import threading
import tty
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from faulty_line import Damage, FaultyLine

from emu.link.board import Board
from emu.link.client import Client
from emu.link.errors import BoardFault, BoardReset, LinkFault, Refused
from emu.link.find import Finder
from emu.link.ports import Line
from emu.link.requests import Place, Word, call_request, check_request
from emu.link.session import Session, Timing

QUICK = Timing(first=0.03, longest=0.3, silent=20.0, patience=120.0, hello=0.2, reopen=0.02)
PATTERN = b"".join(i.to_bytes(4, "little") for i in range(16384))
"""64 KiB that count."""


def connect(url: str, timing: Timing = QUICK) -> Client:
    client = Client(Session(lambda baud: Line(url, baud), timing))
    client.buffer(0, 0, 0, 1 << 20)
    return client


def carry(client: Client) -> None:
    client.write(0, 0, PATTERN)
    assert client.checksums([Place(0, 0, len(PATTERN))]) == [zlib.crc32(PATTERN)]
    assert client.read(Place(0, 0, len(PATTERN))) == PATTERN


def test_a_sound_line_needs_no_repair(serve) -> None:
    client = connect(serve().url)
    carry(client)
    assert client.session.tally.clean
    assert "nothing had to be mended" in client.session.tally.summary()


@pytest.mark.parametrize(
    "damage",
    [
        Damage(bit_errors=1e-4),
        Damage(lost=0.02),
        Damage(doubled=0.05),
        Damage(delayed=0.1),
        Damage(text=0.2),
        Damage(longest_chunk=3),
    ],
    ids=lambda d: next(
        (k for k in ("bit_errors", "lost", "doubled", "delayed", "text") if getattr(d, k)), "split"
    ),
)
def test_damaged_lines_carry_everything(serve, damage: Damage) -> None:
    line = FaultyLine(serve().port, 11, damage)
    client = connect(line.url)
    carry(client)
    client.session.close()
    line.close()
    if damage.text:
        assert any("other code: says something" in text for text in client.session.tally.log)


@pytest.mark.parametrize("lost", [1, 64])
def test_b066_lost_bytes_are_asked_for_again(serve, lost: int) -> None:
    """64 KiB of a counted pattern, the host pauses, bytes are dropped on the way to the host."""
    server = serve()
    taken, drops = server.agent.put, [3000]

    def lossy(data: bytes) -> bytes:
        out = taken(data)
        if drops and len(out) > drops[0]:
            at = drops.pop()
            return out[:at] + out[at + lost :]
        return out

    client = connect(server.url)
    client.write(0, 0, PATTERN)
    server.agent.put = lossy
    assert client.read(Place(0, 0, len(PATTERN))) == PATTERN
    counts = client.session.tally.counts
    assert not drops
    assert counts["damaged"] >= 1
    assert counts["repeated"] == 0, "the board had executed everything: only replies were lost"
    assert counts["duplicates"] <= 1


def test_lost_requests_alone_are_sent_again(serve) -> None:
    server = serve()
    client = connect(server.url)
    taken, drops = server.agent.put, [1]

    def lossy(data: bytes) -> bytes:
        if drops and len(data) > 4000:
            drops.pop()
            data = data[:500] + data[600:]
        return taken(data)

    server.agent.put = lossy
    client.write(0, 0, PATTERN)
    assert client.checksums([Place(0, 0, len(PATTERN))]) == [zlib.crc32(PATTERN)]
    assert not drops
    assert client.session.tally.counts["repeated"] == 1


def test_a_lost_reply_is_not_executed_again(serve) -> None:
    """xorshift32_array writes its state back: executed twice, it would give other numbers."""
    server = serve()
    client = connect(server.url)
    function = client.kernels["xorshift32_array"]
    arguments = [Place(0, 0), Place(0, 64), Word(1)]

    def once() -> bytes:
        client.write(0, 0, bytes.fromhex("78563412"))
        client.ask([call_request(function, arguments)])
        return client.read(Place(0, 0, 4))

    expected, taken, drops = once(), server.agent.put, []

    def deaf(data: bytes) -> bytes:
        out = taken(data)
        if not drops and b"\x96" in out:
            drops.append(out)
            return b""
        return out

    server.agent.put = deaf
    assert once() == expected
    assert drops
    assert client.session.tally.counts["repeated"] == 0


def test_a_cut_line_is_resumed(serve) -> None:
    line = FaultyLine(serve().port, 1, Damage())
    client = connect(line.url)
    rng = random.Random(5)
    for _ in range(10):
        if rng.random() < 0.5:
            line.cut()
        carry(client)
    assert client.session.tally.counts["reconnects"] == line.counts["cut"] > 0
    assert client.session.tally.counts["resets"] == 0
    client.session.close()
    line.close()


def test_b071_a_reset_is_seen_by_the_nonce(serve) -> None:
    server = serve()
    client = connect(server.url)
    nonce = client.hello.nonce
    server.reset()
    with pytest.raises(BoardReset):
        carry(client)
    again = connect(server.url)
    assert again.hello.nonce != nonce
    carry(again)


def test_b071_lines_are_released_before_the_port_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    import serial

    seen: list[tuple[bool, bool]] = []

    class Port:
        dtr = rts = True
        timeout = write_timeout = None

        def open(self) -> None:
            seen.append((self.dtr, self.rts))

        def fileno(self) -> int:
            return os.dup(0)

    monkeypatch.setattr(serial, "serial_for_url", lambda *a, **k: Port())
    line = Line("/dev/somewhere")
    assert seen == [(False, False)]
    assert line.has_lines
    assert not Line("socket://localhost:1").has_lines


@pytest.mark.parametrize(
    ("way", "names"),
    [("to_host", ("from the board to the host", "tx")), ("to_board", ("from the host to the board", "rx"))],
)
def test_b028_converted_line_ends_are_named(serve, way: str, names: tuple[str, str]) -> None:
    server = serve()
    taken = server.agent.put

    def converting(data: bytes) -> bytes:
        if way == "to_board":
            return taken(data.replace(b"\r", b"\n"))
        return taken(data).replace(b"\n", b"\r\n")

    server.agent.put = converting
    with pytest.raises(LinkFault) as caught:
        connect(server.url)
    assert all(name in str(caught.value) for name in names)


def test_b028_the_small_case() -> None:
    """What the two conversions do to 00 0A 0D 0A FF."""
    data = bytes.fromhex("000A0D0AFF")
    assert data.replace(b"\n", b"\r\n").hex() == "000d0a0d0d0aff"
    assert data.replace(b"\r", b"\n").hex() == "000a0a0aff"


def test_a_client_of_another_session_drops_buffers(serve) -> None:
    server = serve()
    client = connect(server.url)
    other = Client(Session(lambda baud: Line(server.url, baud), QUICK))
    with pytest.raises(Refused, match="no such buffer"):
        other.read(Place(0, 0, 4))
    client.session.close()
    other.session.close()


def test_round_trips_do_not_wait_for_a_poll(serve) -> None:
    """Counted, not timed: a request and its reply need no timer of ours."""
    client = connect(serve().url)
    before = dict(client.session.tally.counts)
    for _ in range(100):
        client.checksums([Place(0, 0, 4)])
    assert client.session.tally.counts["polls"] == before.get("polls", 0)


def test_nobody_there_is_a_link_fault() -> None:
    timing = Timing(patience=0.3, hello=0.05)
    board = Board("socket://127.0.0.1:9", timing=timing)
    with pytest.raises(LinkFault, match="no agent"):
        board.client()


def test_an_exception_in_a_kernel_is_a_board_fault(serve) -> None:
    server = serve()
    board = Board(server.url, timing=QUICK)
    client = board.client()
    server.agent.library.host_plant(client.kernels["relu_in_place"].index, 2)

    def work(client: Client) -> None:
        client.buffer(0, 0, 0, 4096)
        client.call(client.kernels["relu_in_place"], [Place(0, 0), Word(4)])

    with pytest.raises(BoardFault, match="exception 28 in relu_in_place") as caught:
        board.attempt(work)
    assert caught.value.pc == 0x40378123
    server.agent.library.host_plant(0, 0)
    board.attempt(work)
    board.close()


def test_a_board_that_always_restarts_is_given_up(serve) -> None:
    server = serve()
    board = Board(server.url, timing=QUICK)

    def work(client: Client) -> None:
        server.reset()
        carry(client)

    with pytest.raises(BoardFault, match="started anew"):
        board.attempt(work)
    board.close()


@pytest.mark.parametrize(
    ("lines", "comes_back", "verdict", "says"),
    [
        (True, True, BoardFault, "stopped answering during CHECK; a reset by RTS brought it back"),
        (True, False, LinkFault, "rack fault"),
        (False, True, LinkFault, "no line to reset it"),
    ],
)
def test_a_board_that_hangs(serve, monkeypatch: pytest.MonkeyPatch, lines, comes_back, verdict, says) -> None:
    server = serve()
    taken = server.agent.put
    monkeypatch.setattr(Line, "has_lines", property(lambda self: lines))

    def reset(self: Line) -> None:
        if comes_back:
            server.agent.put = taken
            server.reset()

    monkeypatch.setattr(Line, "pulse_reset", reset)
    board = Board(server.url, timing=Timing(first=0.03, silent=0.3, patience=1.5, hello=0.1))
    board.attempt(lambda client: client.buffer(0, 0, 0, 4096))
    server.agent.put = lambda data: b""
    with pytest.raises(verdict, match=says):
        board.attempt(lambda client: client.checksums([Place(0, 0, 4)]))
    board.close()


class Cable:
    """A pseudo terminal that leads to an agent, under names that change."""

    def __init__(self, put: Callable[[bytes], bytes]) -> None:
        self._put = put
        self.plug()

    def plug(self) -> None:
        master, slave = pty.openpty()
        tty.setraw(slave)
        self.name = os.ttyname(slave)
        self._master = os.dup(master)
        self._slave = slave
        os.close(master)
        threading.Thread(target=self._serve, args=(self._master,), daemon=True).start()

    def _serve(self, master: int) -> None:
        with contextlib.suppress(OSError):
            while data := os.read(master, 65536):
                out = self._put(data)
                while out:
                    out = out[os.write(master, out) :]

    def unplug(self) -> None:
        os.close(self._slave)
        os.close(self._master)


class Listed:
    """An entry of pyserial's list of ports."""

    def __init__(self, device: str) -> None:
        self.device, self.serial_number, self.vid, self.pid, self.description = (
            device,
            "A1",
            0x303A,
            0x1001,
            "",
        )


def test_replugged_under_another_name(serve, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve()
    cable = Cable(server.agent.put)
    board = Board(cable.name, timing=QUICK)
    board._finder = Finder(cable.name, lambda: [Listed(cable.name)])
    board.attempt(lambda client: client.buffer(0, 0, 0, 1 << 17))
    first = cable.name
    cable.unplug()
    holders = [pty.openpty() for _ in range(2)]  # whoever comes first takes the old name
    cable.plug()
    assert cable.name != first
    board.attempt(carry)
    assert board.tally.counts["reconnects"] >= 1
    assert board.tally.counts["resets"] == 0
    board.close()
    cable.unplug()
    for pair in holders:
        for end in pair:
            os.close(end)


def test_the_window_is_used(serve) -> None:
    """The line never idles: all requests of a window leave before the first reply is awaited."""
    server = serve()
    client = connect(server.url)
    sizes: list[int] = []
    taken = server.agent.put

    def watching(data: bytes) -> bytes:
        sizes.append(len(data))
        return taken(data)

    server.agent.put = watching
    client.write(0, 0, bytes(range(256)) * 64)
    assert max(sizes) > 8000


def test_another_board_is_no_continuation(serve) -> None:
    first, second = serve(), serve()
    board = Board(first.url, timing=QUICK)
    board.attempt(lambda client: client.hello)
    board._finder = Finder(second.url)
    second.agent.library.host_identity(7)
    first.close()
    with pytest.raises(LinkFault, match="another board answers: MAC 00:00:00:00:00:07"):
        board.attempt(carry)
    board.close()


def test_sessions_begin_anew_after_any_number_of_requests(serve) -> None:
    """10 and 13 are line ends: a number for HELLO is found all the same."""
    server = serve()
    board = Board(server.url, timing=QUICK)
    for count in range(1, 16):
        client = board.client()
        client.ask([check_request([])] * count)
        server.agent.library.host_start(0)
        with pytest.raises(BoardReset):
            client.ask([check_request([])])
        board._client = None
    board.close()
