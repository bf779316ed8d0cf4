"""A hostile client of the virtual board: random calls, of which nothing outside its buffers changes."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from emu.board.board import Board as VirtualBoard
from emu.link.board import Board
from emu.link.client import Client
from emu.link.errors import BoardFault, Refused
from emu.link.requests import Argument, Function, Null, Place, Word

BUFFERS = {0: (0x10000, 0x4000), 1: (0x18000, 0x1000), 2: (0x20000, 0x10), 3: (0x10800, 0x400)}
"""Offset in the pool, and size; 3 lies in 0."""
SIZES = (0, 0, 1, 1, 2, 3, 16, 16, 17, 32, 48, 64, 300, 2000)
ODD = (0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 0x40000000, 0x10000, 0xFFFF0001, 133144, 133145, 0x20000000, 70000)
LIMIT = 2_000_000


class Memory:
    """What a client must not change: code, constants, and the pool outside the buffers."""

    def __init__(self, virtual: VirtualBoard, client: Client) -> None:
        self._memory = virtual.machine.memory
        hello, pool = client.hello, client.regions[0]
        edges = sorted((start, start + size) for n, (start, size) in BUFFERS.items() if n != 3)
        starts = [0, *(end for _, end in edges)]
        ends = [*(start for start, _ in edges), pool.size]
        self._parts = [(hello.code, hello.code_bytes), (hello.constants, hello.constants_bytes)]
        self._parts += [(pool.address + a, b - a) for a, b in zip(starts, ends, strict=True)]

    def now(self) -> list[bytes]:
        """The bytes of every part."""
        return [bytes(self._memory.read(address, size)) for address, size in self._parts]


def prepare(client: Client) -> None:
    """Every byte of the pool is known, then the buffers."""
    pool = client.regions[0].size & ~15
    client.buffer(9, 0, 0, pool)
    client.fill(Place(9, 0, pool), 77)
    client.buffer(0xFFFFFFFF, 0, 0, 0)
    make_buffers(client)


def make_buffers(client: Client) -> None:
    """The buffers of a new session."""
    for number, (offset, size) in BUFFERS.items():
        client.buffer(number, 0, offset, size)


def argument(rng: random.Random, kind: str) -> Argument:
    """A value of the right kind, which is all that is right about it."""
    if kind in "<>=":
        number = rng.choice((0, 0, 0, 1, 2, 3))
        size = BUFFERS[number][1]
        return (
            Null if rng.random() < 0.03 else Place(number, rng.choice((0, 0, 16, size // 2, size - 4, size)))
        )
    return Word(rng.choice(SIZES) if rng.random() < 0.9 else rng.choice((*ODD, rng.getrandbits(32))))


def arguments(rng: random.Random, function: Function) -> list[Argument]:
    """For each parameter of the signature."""
    kinds = function.signature.partition(" ")[2]
    found: list[Argument] = []
    while kinds:
        pointer = kinds[0] in "<>="
        found.append(argument(rng, kinds[0]))
        kinds = kinds[2 if pointer else 1 :]
    return found


def attack(board: Board, rng: random.Random, count: int) -> Counter[str]:
    """How so many calls ended."""
    ends: Counter[str] = Counter()
    ready: list[Client] = []
    for _ in range(count):

        def once(client: Client) -> str:
            if client not in ready:
                make_buffers(client)
                ready[:] = [client]
            function = rng.choice([*client.kernels.values()])
            nowhere = rng.random() < 0.05
            client.call(
                function, arguments(rng, function), limit=LIMIT, dirt=rng.getrandbits(32), nowhere=nowhere
            )
            return "called"

        try:
            ends[board.attempt(once)] += 1
        except Refused as refusal:
            ends[f"status {refusal.status}"] += 1
        except BoardFault as fault:
            ends[fault.kind] += 1
    return ends


def campaign(virtual: VirtualBoard, board: Board, seed: int, count: int) -> Counter[str]:
    """Attack, and look at the memory."""
    board.attempt(prepare)
    memory = board.attempt(lambda client: Memory(virtual, client))
    before = memory.now()
    ends = attack(board, random.Random(seed), count)
    print(dict(ends))
    assert memory.now() == before
    assert "damaged" not in ends
    return ends


def test_hostile_calls_change_nothing_else(virtual: VirtualBoard, board: Board) -> None:
    ends = campaign(virtual, board, 1, 150)
    assert ends["called"] >= 20
    assert ends["status 11"] >= 40
    assert ends["status 12"] >= 1


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 6))
def test_many_hostile_calls(virtual: VirtualBoard, board: Board, seed: int) -> None:
    assert campaign(virtual, board, seed, 2500)["called"] >= 300


def test_a_wild_call_without_the_checks_would_be_seen(virtual: VirtualBoard, board: Board) -> None:
    """The comparison of memory finds a byte that the agent is allowed to write by a buffer elsewhere."""
    board.attempt(prepare)
    memory = board.attempt(lambda client: Memory(virtual, client))
    before = memory.now()

    def elsewhere(client: Client) -> None:
        client.buffer(5, 0, 0x30000, 16)
        client.call(client.kernels["relu_in_place"], [Place(5, 0), Word(4)])
        client.write(5, 0, b"\x01")

    board.attempt(elsewhere)
    assert memory.now() != before


def test_the_argument_is_named(board: Board) -> None:
    def work(client: Client) -> None:
        client.buffer(0, 0, 0, 64)
        client.buffer(1, 0, 64, 64)
        kernel = client.kernels["add_array"]
        for places, n, status, which in (
            ((Place(0, 0), Place(0, 0), Place(1, 0)), 17, 11, 0),
            ((Place(0, 0), Place(0, 4), Place(1, 0)), 16, 11, 1),
            ((Place(0, 0), Place(0, 0), Place(1, 0)), 0xFFFFFFFF, 11, 3),
            ((Place(0, 0), Place(0, 0), Place(0, 16)), 9, 12, 2),
            ((Place(0, 0), Null, Place(1, 0)), 1, 11, 1),
        ):
            with pytest.raises(Refused, match=f"argument {which}") as caught:
                client.call(kernel, [*places, Word(n)])
            assert caught.value.status == status
        client.call(kernel, [Place(0, 0), Place(0, 0), Place(1, 0), Word(16)])
        client.call(kernel, [Place(0, 0), Place(0, 0), Place(0, 32), Word(8)])

    board.attempt(work)


def test_what_the_function_refuses_runs_without_memory(board: Board) -> None:
    """133,145 columns: status 2 by the function itself; one that goes on is a board fault, nothing worse."""

    def refused(client: Client) -> int:
        client.buffer(0, 0, 0, 4096)
        places = [Place(0, 0), Word(133152), Word(3), Place(0, 0), Word(133145), Place(0, 2048), Word(1)]
        return client.call(client.kernels["dot_rows_s8"], places, nowhere=True).low

    assert board.attempt(refused) == 2

    def wild(client: Client) -> None:
        client.buffer(0, 0, 0, 4096)
        client.call(client.kernels["relu_in_place"], [Place(0, 0), Word(100_000)], nowhere=True)

    with pytest.raises(BoardFault, match=r"exception 2[89] in relu_in_place at .*address 0xa00000"):
        board.attempt(wild)


def test_probes_reach_their_scratch_memory_only(board: Board) -> None:
    def work(client: Client) -> None:
        client.buffer(0, 0, 0, 4096)
        client.write(0, 228, (0x1000).to_bytes(4, "little"))
        probe = client.kernels["selftest_probe"]
        assert client.call(probe, [Word(60), Place(0, 0), Place(0, 272)]).low == 2
        assert client.call(probe, [Word(60), Place(0, 8), Place(0, 288)]).low == 2

    board.attempt(work)
