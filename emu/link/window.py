"""Requests on their way and replies that came: the host's side of the window (docs/wire.md section 3)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from emu.link.requests import Request
from emu.link.wire import Status


@dataclass
class Sent:
    """A request that was sent at least once. ``order``: when it was last sent, in frames."""

    request: Request
    order: int
    times: int = 1


@dataclass
class Window:
    """``size`` requests may be on their way; numbering goes on over all batches of a session."""

    size: int = 1
    next: int = 1
    waiting: deque[Request] = field(default_factory=deque)
    sent: dict[int, Sent] = field(default_factory=dict)
    replies: dict[int, bytes] = field(default_factory=dict)
    frames: int = 0

    @property
    def ack(self) -> int:
        """The lowest sequence number whose reply is not here."""
        return min(self.sent, default=self.next)

    @property
    def idle(self) -> bool:
        """Every request has its reply."""
        return not self.sent and not self.waiting

    @property
    def running_long(self) -> Request | None:
        """The oldest CALL or RUN that is on its way."""
        return next((s.request for s in self.sent.values() if s.request.is_long), None)

    def add(self, requests: Iterable[Request]) -> range:
        """Queue requests; their sequence numbers."""
        first = self.next + len(self.waiting)
        self.waiting.extend(requests)
        return range(first, self.next + len(self.waiting))

    def sendable(self, concurrent: bool) -> Iterable[tuple[int, Request]]:
        """Requests that may leave now, marked as sent one by one."""
        while self.waiting and self.next - self.ack < self.size:
            if not concurrent and self.running_long is not None:
                return
            sequence, request = self.next, self.waiting.popleft()
            self.next += 1
            self.frames += 1
            self.sent[sequence] = Sent(request, self.frames)
            yield sequence, request

    def take(self, sequence: int, payload: bytes) -> bool:
        """A reply came; False when it is not waited for (again)."""
        if sequence not in self.sent:
            return False
        del self.sent[sequence]
        self.replies[sequence] = payload
        return True

    def wanted_below(self, sequence: int) -> int:
        """Bits, from ``ack`` on, of older requests without reply: it was lost, for replies come in order."""
        return self._bits(s for s in self.sent if s < sequence)

    def _bits(self, sequences: Iterable[int]) -> int:
        ack = self.ack
        return sum(1 << (s - ack) for s in sequences if s - ack < 32)

    def wanted_of(self, status: Status) -> int:
        """Bits of requests that are executed and whose reply is not here: it was lost on its way."""
        return self._bits(
            s for s in self.sent if 0 <= s - status.base < 32 and status.done >> (s - status.base) & 1
        )

    def missing_there(self, status: Status, asked: int) -> list[tuple[int, Request]]:
        """Requests sent before frame ``asked`` that the board lacks; marked as sent again."""
        found = []
        for sequence, sent in self.sent.items():
            bit = sequence - status.base
            if sent.order <= asked and 0 <= bit < 32 and not status.have >> bit & 1:
                self.frames += 1
                sent.order = self.frames
                sent.times += 1
                found.append((sequence, sent.request))
        return found
