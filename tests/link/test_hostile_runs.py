"""A hostile client of models: memory that overlaps, a file that is trusted too early, a file that changes."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "agent"))

from host_agent import HostAgent, Server

from emu.link.board import Board
from emu.link.client import Client
from emu.link.errors import Refused
from emu.link.requests import Place, Word
from emu.models.modelfile.kinds import Kind
from emu.models.modelfile.random_weights import random_model
from emu.models.modelfile.reader import ModelFile

FILE, SLOW, ARENA, OUT = range(4)
SLOW_BYTES = 442_368
TRUST = 1
OK, BAD_MODEL = 0, 5
OUTPUTS = ModelFile(random_model(Kind.TERNARY, 1), "ternary").outputs


@pytest.fixture
def client(agent_library: Path, tmp_path: Path) -> Iterator[Client]:
    """Buffers for a file, slow memory and outputs in PSRAM, apart from each other; the arena in SRAM."""
    copied = tmp_path / "one.so"
    copied.write_bytes(agent_library.read_bytes())
    server = Server(HostAgent(copied, sram=296_640, psram=8 << 20))
    board = Board(server.url)
    found = board.client()
    found.buffer(ARENA, 0, 0, 296_640)
    found.buffer(FILE, 1, 0, 6 << 20)
    found.buffer(SLOW, 1, 6 << 20, SLOW_BYTES)
    found.buffer(OUT, 1, 7 << 20, 65_536)
    yield found
    board.close()
    server.close()


def put(client: Client, kind: Kind) -> Place:
    """A model file on the board."""
    data = random_model(kind, 1)
    client.write(FILE, 0, data)
    return Place(FILE, 0, len(data))


def ternary(client: Client, file: Place, flags: int = 0, out: Place | None = None, **memory: Place) -> int:
    """What ternary_run returns."""
    client.write(OUT, 0, b"1+2".ljust(16))
    outputs = out or Place(OUT, 1024, 4 * OUTPUTS)
    spaces = (memory.get("arena", Place(ARENA, 0)), memory.get("slow", Place(SLOW, 0)), memory.get("records"))
    return client.run(
        client.models["ternary_run"], spaces, [file, Place(OUT, 0, 3), outputs], flags=flags
    ).result


def test_what_is_written_overlaps_nothing(client: Client) -> None:
    file = put(client, Kind.TERNARY)
    for wrong in (
        {"out": Place(FILE, file.length - 16, 64)},
        {"slow": Place(FILE, 16)},
        {"arena": Place(FILE, 0)},
        {"arena": Place(SLOW, 0)},
        {"records": Place(OUT, 0)},
        {"records": Place(SLOW, 0)},
        {"out": Place(SLOW, 64, 64)},
    ):
        with pytest.raises(Refused) as caught:
            ternary(client, file, **wrong)
        assert caught.value.status == 12, wrong
    assert ternary(client, file) == OK


def damaged_there(client: Client, file: Place, at: int) -> None:
    """One bit of the file's contents, behind its table."""
    byte = client.read(Place(FILE, at, 1))[0]
    client.write(FILE, at, bytes([byte ^ 1]))


def test_a_file_is_trusted_only_when_the_board_has_checked_it(client: Client) -> None:
    file = put(client, Kind.TERNARY)
    outputs = Place(OUT, 1024, 4 * OUTPUTS)
    place = file.length - 5000
    damaged_there(client, file, place)
    assert ternary(client, file, TRUST, outputs) == BAD_MODEL, "whatever the client says"
    damaged_there(client, file, place)
    assert ternary(client, file, 0, outputs) == OK
    assert ternary(client, file, TRUST, outputs) == OK
    damaged_there(client, file, place)
    assert ternary(client, file, TRUST, outputs) == BAD_MODEL, "it was written to since"


def test_a_sequence_ends_with_its_file(client: Client) -> None:
    file = put(client, Kind.TINYLM)
    spaces = (Place(ARENA, 0), Place(SLOW, 0), None)
    start, step = client.models["tinylm_start"], client.models["tinylm_step"]
    logits = Place(OUT, 0, 4 * 4096)

    def begin() -> None:
        assert client.run(start, spaces, [file, Word(3)]).result == OK
        assert client.run(step, spaces, [Word(5), logits]).result == OK

    def refused(places: tuple[Place | None, ...] = spaces) -> None:
        with pytest.raises(Refused) as caught:
            client.run(step, places, [Word(6), logits])
        assert caught.value.status == 9

    begin()
    client.write(FILE, 64, client.read(Place(FILE, 64, 4)))
    refused()
    begin()
    client.call(client.kernels["relu_in_place"], [Place(FILE, 4096), Word(4)])
    refused()
    begin()
    client.buffer(9, 1, (6 << 20) + 1024, 65_536)
    refused((Place(ARENA, 0), None, Place(9, 0)))
    begin()
    client.call(client.kernels["relu_in_place"], [Place(OUT, 32_768), Word(4)])
    assert client.run(step, spaces, [Word(6), logits]).result == OK, "other memory may be written"
