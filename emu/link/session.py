"""A session with the agent of a board: what the line loses is asked for again, what the board loses is told.

One thread, no polling: the line is read until something comes or the next timer runs out. The board never
sends on its own account except events, so every timer is here.
"""

from __future__ import annotations

import secrets
import struct
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from emu.link.errors import BoardReset, LineLost, LinkFault
from emu.link.frames import Damage, Frame, Piece, Splitter, Text, encode
from emu.link.linetest import LineTest, complaint, is_converted
from emu.link.ports import FIRST_BAUD, Line
from emu.link.requests import Request
from emu.link.tally import Tally
from emu.link.window import Window
from emu.link.wire import HELLO_WORD, REPLY, RESET_WORD, Flag, Hello, Status, Type, require_versions

Reopen = Callable[[int], Line]
"""(baud) -> an open line to the same board; raises LineLost while there is none."""


@dataclass(frozen=True)
class Timing:
    """Seconds. ``first``: shortest wait before asking what is missing; ``silent``: without any valid frame
    before the port is opened again; ``patience``: before the link counts as broken; ``hello``: between two
    HELLO.
    """

    first: float = 0.05
    longest: float = 1.0
    silent: float = 3.0
    patience: float = 30.0
    hello: float = 0.3
    reopen: float = 0.1


class Session:
    """Talks to one board. Not thread-safe. Raises LinkFault, BoardReset."""

    def __init__(self, reopen: Reopen, timing: Timing | None = None, tally: Tally | None = None) -> None:
        self.tally = tally or Tally()
        self.timing = timing or Timing()
        self.stage = ""
        """Stage that the board last named."""
        self.baud = FIRST_BAUD
        self.start: Hello | None = None
        """The last HELLO or BOOT of the board."""
        self._reopen = reopen
        self._line: Line | None = None
        self._number = 0
        self._window = Window()
        self._splitter = Splitter()
        self._hello: Hello | None = None
        self._heard = self._moved = time.monotonic()
        self._asked: dict[int, int] = {}
        self._tag = 0
        self._pongs: list[bytes] = []
        self._bad_pieces: list[bytes] = []
        self._status: Status | None = None

    # --- connecting --------------------------------------------------------------------------------
    @property
    def hello(self) -> Hello:
        """What the board said of itself; :meth:`connect` comes first."""
        assert self._hello is not None, "connect() first"
        return self._hello

    def connect(self) -> Hello:
        """Begin a new session: whatever the board kept for an earlier one is dropped.

        Raises LinkFault when nobody answers, when the line changes bytes, or when the board follows another
        version.
        """
        self._window = Window()  # first: HELLO carries its ack
        self._number = self._new_number()
        self._hello = None
        self._greet(time.monotonic() + self.timing.patience)
        require_versions(self.hello)
        self._window.size = self.hello.window
        return self.hello

    def _new_number(self) -> int:
        """Random; HELLO with it has no line ends, so that a line that converts them lets it pass."""
        for _ in range(1000):
            self._number = secrets.randbelow(0xFFFFFFFE) + 1
            hello = encode(self._frame(Type.HELLO, HELLO_WORD.to_bytes(4, "little")))
            if not {0x0A, 0x0D} & set(hello):
                break
        return self._number

    def _greet(self, end: float) -> None:
        """HELLO until it is answered. The nonce may be another one: the caller looks."""
        before, self.start = self.start, None
        problem = "nobody answers HELLO"
        while not self._is_greeted():
            if time.monotonic() > end:
                self.start = before
                raise LinkFault(f"no agent: {problem}{self._last_words()}")
            try:
                self._open()
                self._send(Type.HELLO, HELLO_WORD.to_bytes(4, "little"))
                self._collect(self.timing.hello, self._is_greeted)
                if not self._is_greeted() and is_converted(self._bad_pieces):
                    raise LinkFault(complaint(LineTest(to_host=1)))
            except LineLost as error:
                problem = str(error)
                self._lose()
                time.sleep(self.timing.reopen)
        if self._hello is None:
            self._hello = self.start

    def _is_greeted(self) -> bool:
        return self.start is not None

    def _last_words(self) -> str:
        said = [*self.tally.log][-3:]
        waiting = self._splitter.text_waiting()
        said += [waiting[-200:]] if waiting else []
        return f"; the board's last words: {' | '.join(said)}" if said else ""

    def _open(self) -> None:
        if self._line is None:
            self._line = self._reopen(self.baud)
            self._splitter = Splitter()

    def _lose(self) -> None:
        if self._line is not None:
            self._line.close()
            self._line = None
            self.tally.add("reconnects")

    def check_line(self) -> None:
        """PING with all 256 byte values (docs/wire.md section 8). Raises LinkFault that names the remedy."""
        test = LineTest()
        end, wait = time.monotonic() + self.timing.patience, self.timing.hello
        while time.monotonic() < end and test.is_open:
            self._pongs.clear()
            self._bad_pieces.clear()
            self._send(Type.PING, test.payload)
            self._collect(wait, lambda: bool(self._pongs or self._bad_pieces))
            if test.payload in self._pongs:
                return
            wait = min(2 * wait, self.timing.longest)
            self._status = None
            bad = list(self._bad_pieces)
            self._send(Type.POLL, bytes(8))
            self._collect(self.timing.hello, self._has_status)
            test.look(encode(self._frame(Type.PING, test.payload)), bad, self._status)
        text = complaint(test)
        raise LinkFault(text or "the line test (all 256 byte values) is not answered")

    @property
    def doing(self) -> str:
        """What the board was last known to do: a stage, or the oldest request without a reply."""
        waiting = self._window.sent.get(self._window.ack)
        return self.stage or (waiting.request.type.name if waiting is not None else "")

    # --- requests ----------------------------------------------------------------------------------
    def exchange(self, requests: Sequence[Request]) -> list[bytes]:
        """Have all requests executed, in order, each exactly once; their replies.

        Raises BoardReset when the board starts anew meanwhile, LinkFault when the line cannot be mended.
        """
        numbers = self._window.add(requests)
        self.tally.add("requests", len(requests))
        self._moved = self._heard = time.monotonic()
        self._asked.clear()
        wait = self._first_wait()
        while not self._window.idle:
            try:
                wait = self._turn(wait)
            except LineLost:
                self._lose()
                self._resume()
        return [self._window.replies.pop(n) for n in numbers]

    def _turn(self, wait: float) -> float:
        """Send what may leave, wait for what comes or for the timer; the next wait."""
        assert self._line is not None
        for sequence, request in self._window.sendable(bool(self.hello.flags & Flag.CONCURRENT)):
            self._send(request.type, request.payload, sequence)
        before, unsent = self._moved, self._line.unsent
        long = self._window.running_long
        self._take(self._line.read(wait))
        if self._moved != before or (self._line is not None and self._line.unsent < unsent):
            return self._first_wait()
        now = time.monotonic()
        if now - self._moved < wait:
            return wait
        self._check_silence(now, long)
        self._ask()
        return min(wait * 2, self.timing.longest)

    def _check_silence(self, now: float, long: Request | None) -> None:
        limit = self.timing.silent if long is None else max(long.seconds, self.timing.silent)
        if now - self._heard > limit:
            self._lose()
            self._resume()
        if long is None and now - self._moved > self.timing.patience:
            raise LinkFault(
                f"nothing gets through for {self.timing.patience:g} s although the board answers"
                f"{self._last_words()}"
            )

    def _first_wait(self) -> float:
        return self.timing.first + 33_000 / self.baud

    def _resume(self) -> None:
        """Open the port again and go on where the session was."""
        self._greet(time.monotonic() + self.timing.patience)
        self._look_at_nonce()
        self._moved = self._heard = time.monotonic()
        self._ask()

    def _ask(self, wanted: int = 0) -> None:
        """POLL: what is missing on either side? ``wanted``: bits of replies that are surely lost."""
        self._tag = self._tag % 0xFFFFFFFF + 1
        self._asked[self._tag] = self._window.frames
        self.tally.add("polls")
        self._send(Type.POLL, struct.pack("<II", wanted, self._tag))

    def _ask_once(self, wanted: int = 0) -> None:
        if not self._asked and self._window.sent:
            self._ask(wanted)

    # --- frames ------------------------------------------------------------------------------------
    def _frame(self, kind: int, payload: bytes, sequence: int = 0) -> Frame:
        return Frame(kind, self._number, sequence, self._window.ack, payload)

    def _send(self, kind: int, payload: bytes, sequence: int = 0) -> None:
        if self._line is None:
            raise LineLost("the port is closed")
        data = encode(self._frame(kind, payload, sequence))
        self.tally.add("sent", len(data))
        self._line.write(data)

    def _collect(self, seconds: float, enough: Callable[[], bool]) -> None:
        end = time.monotonic() + seconds
        while not enough() and (left := end - time.monotonic()) > 0:
            assert self._line is not None
            self._take(self._line.read(left))

    def _take(self, data: bytes) -> None:
        self.tally.add("received", len(data))
        for piece in self._splitter.feed(data) if data else ():
            self._take_piece(piece)

    def _take_piece(self, piece: Piece) -> None:
        if isinstance(piece, Text):
            self.tally.say(piece.text)
        elif isinstance(piece, Damage):
            self.tally.add("damaged")
            self._bad_pieces.append(piece.data)
            del self._bad_pieces[:-8]
            self._ask_once()
        else:
            self._heard = time.monotonic()
            self._take_frame(piece)

    def _take_frame(self, frame: Frame) -> None:
        if frame.type == Type.LOG:
            self.tally.say(frame.payload.decode("utf-8", "replace"))
        elif frame.type == Type.BOOT:
            self._take_boot(frame)
        elif frame.session != self._number:
            self.tally.add("stale")
        elif frame.sequence:
            self._take_reply(frame)
        elif frame.type == Type.HELLO | REPLY:
            self.start = Hello.of(frame.payload) or self.start
        elif frame.type == Type.POLL | REPLY:
            self._take_status(frame)
        elif frame.type == Type.PING | REPLY:
            self._pongs.append(frame.payload)
        elif frame.type == Type.MARK:
            self.stage = frame.payload.split(b"\0")[0].decode("ascii", "replace")

    def _take_boot(self, frame: Frame) -> None:
        hello = Hello.of(frame.payload)
        if hello is not None and self._hello is not None:
            self.start = hello
            self._look_at_nonce()

    def _take_reply(self, frame: Frame) -> None:
        sent = self._window.sent.get(frame.sequence)
        if sent is not None and frame.type != sent.request.type | REPLY:
            raise LinkFault(f"reply of type {frame.type:#x} to {sent.request.type.name}: not an agent")
        if not self._window.take(frame.sequence, frame.payload):
            self.tally.add("duplicates")
            return
        self._moved = time.monotonic()
        if lost := self._window.wanted_below(frame.sequence):
            self._ask_once(lost)

    def _take_status(self, frame: Frame) -> None:
        status = Status.of(frame.payload)
        if status is None:
            return
        self._status = status
        self.stage = status.stage
        self.tally.at_least("damaged_there", status.damaged)
        self.tally.at_least("lost_there", status.lost)
        if self._hello is not None and status.nonce != self._hello.nonce:
            self._greet(time.monotonic() + self.timing.patience)
            self._look_at_nonce()
        elif status.session == self._number:
            self._answer(status)

    def _answer(self, status: Status) -> None:
        asked = self._asked.pop(status.tag, None)
        if asked is None:
            self._ask_once()
            return
        self._asked = {tag: at for tag, at in self._asked.items() if tag > status.tag}
        for sequence, request in self._window.missing_there(status, asked):
            self.tally.add("repeated")
            self._send(request.type, request.payload, sequence)
        if lost := self._window.wanted_of(status):
            self._ask(lost)

    def _look_at_nonce(self) -> None:
        """Raise BoardReset when the board is not in the run in which this session began."""
        if self.start is None or self._hello is None or self.start.nonce == self._hello.nonce:
            return
        self.tally.add("resets")
        raise BoardReset(f"the board started anew{self._last_words()}", self.start.reason)

    # --- the rest ----------------------------------------------------------------------------------
    def ping(self, payload: bytes = b"") -> float:
        """Seconds until the board has sent ``payload`` back. Raises LinkFault when it does not."""
        started = time.monotonic()
        for _ in range(8):
            self._pongs.clear()
            self._send(Type.PING, payload)
            self._collect(self.timing.longest, lambda: payload in self._pongs)
            if payload in self._pongs:
                return time.monotonic() - started
        raise LinkFault("PING is not answered")

    def change_baud(self, baud: int) -> bool:
        """Both sides go to ``baud``; False, at the old speed, when the board cannot be heard then."""
        if not self.hello.flags & Flag.CAN_BAUD:
            return False
        reply = self.exchange([Request(Type.BAUD, baud.to_bytes(4, "little"))])[0]
        if reply != bytes(4) or self._line is None:
            return False
        old, self.baud = self.baud, baud
        self._line.set_baud(baud)
        time.sleep(0.01)
        if self._hears():
            return True
        self.baud = old
        self._line.set_baud(old)
        time.sleep(1.2)
        return False

    def _hears(self) -> bool:
        self._status = None
        for _ in range(3):
            self._send(Type.POLL, bytes(8))
            self._collect(0.25, self._has_status)
            if self._has_status():
                return True
        return False

    def _has_status(self) -> bool:
        return self._status is not None

    def reset_board(self) -> None:
        """RESET; the next :meth:`connect` finds the board started anew."""
        self._send(Type.RESET, RESET_WORD.to_bytes(4, "little"))
        assert self._line is not None
        self._line.drain()

    def reset_by_lines(self) -> bool:
        """Reset the chip by RTS; False where the transport has no such line. Raises LinkFault."""
        try:
            self._open()
            assert self._line is not None
            if not self._line.has_lines:
                return False
            self._line.pulse_reset()
        except LineLost as error:
            raise LinkFault(str(error)) from error
        self.tally.add("reset by lines")
        return True

    def close(self) -> None:
        """Close the port; the board keeps the session until another one begins."""
        if self._line is not None:
            self._line.close()
            self._line = None
