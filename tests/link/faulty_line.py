"""A TCP proxy that damages what passes, from a seed: bits flipped, chunks lost or doubled, delays, cuts."""

from __future__ import annotations

import random
import select
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Damage:
    """Rates: of bits, of chunks (lost, doubled, delayed), and text that other code prints between chunks."""

    bit_errors: float = 0.0
    lost: float = 0.0
    doubled: float = 0.0
    delayed: float = 0.0
    text: float = 0.0
    stall: float = 0.02
    longest_chunk: int = 300


class FaultyLine:
    """Listens at ``url`` and passes everything on to ``target_port``, damaged."""

    def __init__(self, target_port: int, seed: int, damage: Damage) -> None:
        self._target = target_port
        self._random = random.Random(seed)
        self.damage = damage
        self.counts = dict.fromkeys(("flipped", "lost", "doubled", "delayed", "texts", "cut"), 0)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"socket://127.0.0.1:{self._listener.getsockname()[1]}"
        self._wake, self._signal = socket.socketpair()
        self._orders: list[str] = []
        self._cuts_to_come = 0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def cut(self) -> None:
        """Disconnect whoever is connected, or else the next one, once something has passed."""
        self._order("cut")

    def close(self) -> None:
        """End the thread."""
        self._order("end")
        self._thread.join()

    def _order(self, what: str) -> None:
        self._orders.append(what)
        self._signal.send(b"x")

    def _run(self) -> None:
        pair: tuple[socket.socket, socket.socket] | None = None
        while True:
            ready, _, _ = select.select([self._listener, self._wake, *(pair or ())], [], [])
            if self._wake in ready:
                self._wake.recv(64)
                orders, self._orders = self._orders, []
                self._cuts_to_come += orders.count("cut")
                if pair is not None and self._cuts_to_come:
                    pair = self._cut(pair)
                if "end" in orders:
                    break
            elif self._listener in ready:
                pair = self._drop(pair)
                pair = self._accept()
            elif pair is not None and not self._pass(pair, ready):
                pair = self._drop(pair)
            elif pair is not None and self._cuts_to_come:
                pair = self._cut(pair)
        self._drop(pair)
        self._listener.close()

    def _accept(self) -> tuple[socket.socket, socket.socket]:
        client = self._listener.accept()[0]
        server = socket.create_connection(("127.0.0.1", self._target))
        for side in (client, server):
            side.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return client, server

    def _cut(self, pair: tuple[socket.socket, socket.socket]) -> None:
        self._cuts_to_come -= 1
        self.counts["cut"] += 1
        self._drop(pair)

    def _drop(self, pair: tuple[socket.socket, socket.socket] | None) -> None:
        for side in pair or ():
            side.close()

    def _pass(self, pair: tuple[socket.socket, socket.socket], ready: list[socket.socket]) -> bool:
        try:
            for side in ready:
                data = side.recv(65536)
                if not data:
                    return False
                other = pair[1] if side is pair[0] else pair[0]
                self._send(data, other, to_host=side is pair[1])
        except OSError:
            return False
        return True

    def _send(self, data: bytes, to: socket.socket, to_host: bool) -> None:
        rng, d = self._random, self.damage
        while data:
            n = rng.randint(1, d.longest_chunk)
            chunk, data = data[:n], data[n:]
            if self._happens("lost", d.lost):
                continue
            if self._happens("delayed", d.delayed):
                time.sleep(d.stall)
            copies = 2 if self._happens("doubled", d.doubled) else 1
            to.sendall(self._flipped(chunk) * copies)
            if to_host and self._happens("texts", d.text):
                to.sendall(b"W (4711) other code: says something\r\n")

    def _happens(self, what: str, rate: float) -> bool:
        happens = self._random.random() < rate
        self.counts[what] += happens
        return happens

    def _flipped(self, chunk: bytes) -> bytes:
        """Gaps between errors are geometric; exponential draws are close enough and quick."""
        if not self.damage.bit_errors:
            return chunk
        out, at = bytearray(chunk), self._random.expovariate(self.damage.bit_errors)
        while at < 8 * len(out):
            out[int(at) // 8] ^= 1 << int(at) % 8
            self.counts["flipped"] += 1
            at += 1 + self._random.expovariate(self.damage.bit_errors)
        return bytes(out)


class At:
    """Calls ``event`` when the count of cases reaches the drawn numbers."""

    def __init__(self, rng: random.Random, cases: int, times: int, event: Callable[[], object]) -> None:
        self._numbers = sorted(rng.uniform(0, cases) for _ in range(times))
        self._event = event
        self.done = 0

    def case(self, number: float) -> None:
        """Case ``number`` begins."""
        while self._numbers and self._numbers[0] <= number:
            self._numbers.pop(0)
            self._event()
            self.done += 1
