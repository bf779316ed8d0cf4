"""Download mode without esptool: the serial protocol, and what is refused."""

from __future__ import annotations

import itertools
import struct
import time
import zlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emu.board.slip import Decoder, encode
from tests.board.boards import PATIENCE, powered

SYNC = b"\x07\x07\x12\x20" + b"\x55" * 32


@pytest.fixture(scope="module")
def board():
    with powered(download=True, flash_bytes=1 << 20) as made:
        host = Host(made)
        host.sync()
        yield made


class Host:
    """The other end, packet by packet."""

    def __init__(self, board):
        self.board = board
        self.decoder = Decoder()
        self.waiting = []

    def packet(self):
        end = time.monotonic() + PATIENCE
        while not self.waiting:
            assert time.monotonic() < end, "no answer"
            self.waiting += self.decoder.feed(self.board.line.fetch())
            time.sleep(0.001)
        return self.waiting.pop(0)

    def send(self, command, data=b"", checksum=0):
        self.board.line.send(encode(struct.pack("<BBHI", 0, command, len(data), checksum) + data))

    def sync(self):
        self.send(0x08, SYNC)
        for _ in range(8):
            while self.packet()[1] != 0x08:
                pass

    def ask(self, command, data=b"", checksum=0):
        """(value, answer, (status, reason))"""
        self.send(command, data, checksum)
        direction, found, size, value = struct.unpack("<BBHI", (packet := self.packet())[:8])
        assert (direction, found) == (1, command)
        assert size == len(packet) - 8
        return value, packet[8:-4], tuple(packet[-4:-2])

    def block(self, command, data, sequence=0):
        checksum = 0xEF
        for byte in data:
            checksum ^= byte
        return self.ask(command, struct.pack("<IIII", len(data), sequence, 0, 0) + data, checksum)


@given(st.lists(st.binary(min_size=1, max_size=300)), st.lists(st.integers(0, 2000)))
def test_slip_packets_come_out_as_they_went_in(packets, cuts):
    stream = b"noise" + b"".join(map(encode, packets))
    places = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    decoder, found = Decoder(), []
    for start, end in itertools.pairwise(places):
        found += decoder.feed(stream[start:end])
    assert found == packets


@settings(max_examples=300)
@given(st.binary(max_size=400))
def test_slip_survives_anything(data):
    decoder = Decoder()
    decoder.feed(data)
    assert decoder.feed(b"\xc0" + encode(b"after"))[-1] == b"after"


def test_registers_and_memory_are_read_and_written(board):
    host = Host(board)
    assert host.ask(0x09, struct.pack("<IIII", 0x3FC90000, 0x12345678, 0xFFFFFFFF, 0))[2] == (0, 0)
    assert host.ask(0x09, struct.pack("<IIII", 0x3FC90000, 0, 0x0000FF00, 0))[2] == (0, 0)
    assert host.ask(0x0A, struct.pack("<I", 0x3FC90000))[0] == 0x12340078
    assert host.ask(0x0A, struct.pack("<I", 0x60007044))[0] == 0x3300A001  # the base MAC


def test_blocks_go_to_memory_and_flash_and_come_back(board):
    host, data = Host(board), bytes(range(256)) * 4
    assert host.ask(0x05, struct.pack("<IIII", 1024, 1, 1024, 0x3FC91000))[2] == (0, 0)
    assert host.block(0x07, data)[2] == (0, 0)
    assert board.machine.memory.read(0x3FC91000, 1024) == data
    assert host.ask(0x02, struct.pack("<IIIII", 1024, 1, 1024, 0x4000, 0))[2] == (0, 0)
    assert host.block(0x03, data)[2] == (0, 0)
    _value, answer, status = host.ask(0x0E, struct.pack("<II", 0x4010, 16))
    assert (answer[:16], status) == (data[16:32], (0, 0))
    digest = host.ask(0x13, struct.pack("<IIII", 0x4000, 1024, 0, 0))[1]
    assert digest == b"b2ea9f7fcea831a4a63b213f41a8855b"


def test_compressed_blocks_are_inflated(board):
    host, data = Host(board), b"compressible " * 500
    packed = zlib.compress(data, 9)
    assert host.ask(0x10, struct.pack("<IIIII", len(data), 1, len(packed), 0x8000, 0))[2] == (0, 0)
    half = len(packed) // 2
    assert host.block(0x11, packed[:half])[2] == (0, 0)
    assert host.block(0x11, packed[half:], 1)[2] == (0, 0)
    assert board.flash.read(0x8000, len(data)) == data
    assert host.ask(0x10, struct.pack("<IIIII", 64, 1, 64, 0x8000, 0))[2] == (0, 0)
    assert host.block(0x11, b"\xff" * 64)[2] == (1, 0x0B)


def test_the_chip_tells_what_it_is(board):
    flags, count, purposes, chip, version = struct.unpack("<IB7sII", Host(board).ask(0x14)[1])
    assert (flags, count, purposes, chip, version) == (0, 0, bytes(7), 9, 0)


@pytest.mark.parametrize(
    ("command", "data", "reason"),
    [
        (0x77, b"", 5),
        (0x05, b"\0\0", 6),
        (0x0A, struct.pack("<I", 0x20000000), 6),
        (0x02, struct.pack("<IIIII", 0x1000, 1, 0x400, 0xFFFFF000, 0), 6),
        (0x0E, struct.pack("<II", 0, 65), 10),
        (0x13, struct.pack("<IIII", 0, 0x100001, 0, 0), 6),
        (0x0F, struct.pack("<II", 0, 0), 6),
        (0x03, struct.pack("<IIII", 4, 0, 0, 0) + b"\0\0\0\0", 7),
        (0x03, b"short", 5),
        (0x03, struct.pack("<IIII", 400, 0, 0, 0) + b"\0\0\0\0", 5),
    ],
)
def test_what_cannot_be_done_is_refused_with_its_reason(board, command, data, reason):
    checksum = 0xEE if reason == 7 else 0xEF
    assert Host(board).ask(command, data, checksum)[2] == (1, reason)


def test_a_block_that_is_longer_than_announced_is_refused(board):
    host = Host(board)
    host.ask(0x05, struct.pack("<IIII", 4, 1, 4, 0x3FC91000))
    assert host.block(0x07, bytes(8))[2] == (1, 6)


def test_a_packet_with_a_wrong_size_is_refused_and_a_cut_one_is_no_packet(board):
    host = Host(board)
    board.line.send(encode(struct.pack("<BBHI", 0, 0x0A, 99, 0) + b"\0\0\0\0"))
    assert host.packet()[-4:-2] == b"\x01\x05"
    board.line.send(b"\xc0\x00\x0a\x04\xc0\xc0\x01\x02\x03\x04\x05\x06\x07\x08\x09\xc0")
    assert host.ask(0x0A, struct.pack("<I", 0x3FC90000))[2] == (0, 0)
