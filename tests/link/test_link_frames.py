"""Frames on the line: every damage is found, text is kept, portions do not matter."""

from __future__ import annotations

import itertools
import json
import zlib
from pathlib import Path

import pytest
from fuzz_decoder import random_inputs
from hypothesis import given
from hypothesis import strategies as st

from emu.link.frames import Damage, Frame, Piece, Splitter, Text, decode, encode, longest_piece
from emu.link.wire import Hello, Status

VECTORS = json.loads((Path(__file__).parent / "vectors.json").read_text())

frames = st.builds(
    Frame,
    st.integers(0, 255),
    st.integers(0, 0xFFFFFFFF),
    st.integers(0, 0xFFFFFFFF),
    st.integers(0, 0xFFFFFFFF),
    st.binary(max_size=1040) | st.builds(lambda n: bytes(n), st.integers(0, 1040)),
)


def pieces(data: bytes, cuts: list[int] | None = None) -> list[Piece]:
    splitter, found = Splitter(), []
    edges = sorted({0, len(data), *(c % (len(data) + 1) for c in cuts or [])})
    for start, end in itertools.pairwise(edges):
        found += splitter.feed(data[start:end])
    return found


@pytest.mark.parametrize("vector", VECTORS["frames"], ids=lambda v: v["name"])
def test_vectors_of_the_document(vector: dict) -> None:
    frame = Frame(
        vector["type"], vector["session"], vector["sequence"], vector["ack"], bytes.fromhex(vector["payload"])
    )
    assert encode(frame).hex() == vector["line"]
    assert pieces(bytes.fromhex(vector["line"])) == [frame]


def test_crc_of_the_document() -> None:
    assert zlib.crc32(b"123456789") == 0xCBF43926


@given(st.lists(frames, max_size=4), st.lists(st.integers(0, 10000), max_size=8))
def test_any_portions_give_the_frames(sent: list[Frame], cuts: list[int]) -> None:
    assert pieces(b"".join(map(encode, sent)), cuts) == sent


@given(frames, st.integers(0), st.integers(0, 7))
def test_a_flipped_bit_never_gives_another_frame(frame: Frame, place: int, bit: int) -> None:
    data = bytearray(encode(frame))
    data[place % len(data)] ^= 1 << bit
    assert [p for p in pieces(bytes(data)) if isinstance(p, Frame) and p != frame] == []


@given(frames, st.integers(1), st.integers(1, 64))
def test_lost_bytes_never_give_another_frame(frame: Frame, place: int, count: int) -> None:
    data = encode(frame)
    start = 1 + place % (len(data) - 2)
    cut = data[:start] + data[min(start + count, len(data) - 1) :]
    assert [p for p in pieces(cut) if isinstance(p, Frame)] in ([], [frame])


@given(st.binary(max_size=5000), st.lists(st.integers(0, 10000), max_size=5))
def test_any_bytes_are_taken(data: bytes, cuts: list[int]) -> None:
    found = pieces(data, cuts)
    for piece in found:
        if isinstance(piece, Frame):
            assert encode(piece).strip(b"\0") in data


@given(st.binary(max_size=300))
def test_any_payload_is_refused_or_a_structure(payload: bytes) -> None:
    for kind in (Hello, Status):
        found = kind.of(payload)
        assert found is None or isinstance(found, kind)


def test_text_between_frames_is_kept_and_damages_nothing() -> None:
    first, second = Frame(0x81, 1, 2, 3, b"abc"), Frame(0x82, 1, 3, 3, b"def")
    line = encode(first) + b"I (12) wifi: started\r\n" + encode(second)
    assert pieces(line) == [first, Text("I (12) wifi: started\r\n"), second]


def test_endless_text_does_not_grow() -> None:
    splitter = Splitter()
    found = [p for _ in range(100) for p in splitter.feed(b"x" * 1000)]
    assert sum(len(p.text) for p in found if isinstance(p, Text)) > 90_000
    assert splitter.feed(b"\0" + encode(Frame(1, 2, 3, 4, b"")))[-1] == Frame(1, 2, 3, 4, b"")


def test_endless_rubbish_does_not_grow() -> None:
    splitter = Splitter()
    for _ in range(100):
        assert splitter.feed(b"\xff" * 1000) == []
    last = splitter.feed(b"\0")
    assert len(last) == 1
    assert isinstance(last[0], Damage)
    assert len(last[0].data) <= 4096


def test_b027_a_frame_that_is_cut_is_dropped_and_the_next_one_found() -> None:
    """300 bytes of payload, cut after 64 bytes; then a frame with a log line inside."""
    frame = Frame(0x93, 7, 9, 9, bytes(i * 7 % 251 for i in range(300)))
    whole = encode(frame)
    cut = pieces(whole[:64] + whole)
    assert [p for p in cut if isinstance(p, Frame)] == [frame]
    assert sum(isinstance(p, Damage) for p in cut) == 1
    spoiled = pieces(whole[:100] + b"D (12) x" + whole[100:] + whole)
    assert [p for p in spoiled if isinstance(p, Frame)] == [frame]
    assert sum(isinstance(p, Damage) for p in spoiled) == 1


@pytest.mark.parametrize("payload", [0, 1, 233, 234, 235, 253, 254, 255, 508, 1040])
def test_lengths_around_the_blocks_of_cobs(payload: int) -> None:
    for fill in (0, 1, 0xFF):
        frame = Frame(1, 0x01010101, 0x01010101, 0x01010101, bytes([fill]) * payload)
        data = encode(frame)
        assert len(data) <= longest_piece(payload) + 2
        assert decode(data.strip(b"\0")) == frame


def test_random_streams_for_a_moment() -> None:
    """The fuzzer itself; docs/wire.md tells of the long run."""
    assert random_inputs(3.0, 1) > 100


@pytest.mark.long
def test_random_streams_for_ten_minutes() -> None:
    count = random_inputs(600.0, 2)
    print(f"{count:,} random inputs")
    assert count > 100_000
