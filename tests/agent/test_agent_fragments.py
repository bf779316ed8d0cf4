"""Fragments of messages over ESP-NOW, from the code that the cluster runs."""

from __future__ import annotations

import ctypes
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

V1, V2, HEAD = 250, 1470, 12
NOTHING, MESSAGE, TOO_LONG, STRANGE, NO_ROOM = 0, 1, -1, -2, -3
CAPACITY = 16384
A, B = b"\x02\x00\x00\x00\x00\x0a", b"\x02\x00\x00\x00\x00\x0b"


class Radio:
    """A receiver of the library, and its sender."""

    def __init__(self, library: Path, longest: int = V2) -> None:
        self.library = ctypes.CDLL(str(library))
        self.state = ctypes.create_string_buffer(4096)
        self.memory = ctypes.create_string_buffer(b"\xa5" * (4 * CAPACITY + 64))
        self.library.fragment_start(self.state, longest, self.memory, CAPACITY)

    def frames(self, message: bytes, number: int, longest: int = V2) -> list[bytes]:
        frame = ctypes.create_string_buffer(2048)
        count = self.library.fragment_count(len(message), longest)
        found = []
        for i in range(count):
            n = self.library.fragment_put(frame, longest, message, len(message), number, i)
            found.append(frame.raw[:n])
        return found

    def take(self, mac: bytes, frame: bytes, now: int = 0) -> tuple[int, bytes]:
        place, size = ctypes.c_void_p(), ctypes.c_uint32()
        result = self.library.fragment_take(
            self.state, mac, frame, len(frame), now, ctypes.byref(place), ctypes.byref(size)
        )
        assert self.memory.raw[4 * CAPACITY :][:64] == b"\xa5" * 64
        return result, ctypes.string_at(place.value, size.value) if result == MESSAGE else b""


@pytest.fixture
def radio(agent_library: Path) -> Radio:
    return Radio(agent_library)


@pytest.mark.parametrize("size", [250, 251, 300, 1470, 1471])
def test_b029_frames_longer_than_a_version_allows(agent_library: Path, size: int) -> None:
    """A v1 receiver refuses what is longer than 250 bytes and copies nothing; nobody sends 1471."""
    radio = Radio(agent_library)
    frame = radio.frames(bytes(size - HEAD), 1, V2)
    if size > V2:
        assert radio.library.fragment_count(size - HEAD, size) == 0
        assert len(frame) == 2
        return
    assert [len(f) for f in frame] == [size]
    assert radio.take(A, frame[0])[0] == MESSAGE
    old = Radio(agent_library, V1)
    before = old.memory.raw
    assert old.take(A, frame[0])[0] == (MESSAGE if size <= V1 else TOO_LONG)
    assert size <= V1 or old.memory.raw == before


def test_b068_repeated_fragments(radio: Radio) -> None:
    """0,1,1,2 and 0,2,1: the message once, in its order; repeats afterwards are no second message."""
    message = bytes(range(256)) * 16
    for number, order in ((1, (0, 1, 1, 2)), (2, (0, 2, 1))):
        frames = radio.frames(message, number)
        assert len(frames) == 3
        results = [radio.take(A, frames[i]) for i in order]
        assert [r[0] for r in results] == [NOTHING] * (len(order) - 1) + [MESSAGE]
        assert results[-1][1] == message
        assert radio.take(A, frames[1])[0] == NOTHING


def test_b068_a_repeated_fragment_does_not_keep_a_message_alive(radio: Radio) -> None:
    frames = radio.frames(bytes(3000), 7)
    for now in range(0, 1000, 100):
        assert radio.take(A, frames[0], now)[0] == NOTHING
    # the first part was forgotten 500 ms after it was new, and came anew after that
    assert radio.take(A, frames[1], 1000)[0] == NOTHING
    assert radio.take(A, frames[2], 1100)[0] == MESSAGE


def test_b068_two_senders_with_the_same_number(radio: Radio) -> None:
    first, second = b"a" * 3000, b"b" * 3000
    frames = {A: radio.frames(first, 5), B: radio.frames(second, 5)}
    for i in range(2):
        for mac in (A, B):
            assert radio.take(mac, frames[mac][i])[0] == NOTHING
    assert radio.take(A, frames[A][2]) == (MESSAGE, first)
    assert radio.take(B, frames[B][2]) == (MESSAGE, second)


def test_b069_the_sender_is_a_pointer_in_the_structure(agent_library: Path) -> None:
    """Read as an address, the structure itself would give b4:a2:c9:3f:..: the glue follows the pointer."""
    glue = (Path(__file__).resolve().parents[2] / "firmware/port/idf/main/cluster.c").read_text()
    assert "received(const esp_now_recv_info_t *info, const uint8_t *data, int length)" in glue
    assert "fragment_take(&receiver, info->src_addr" in glue
    assert "ESP_IDF_VERSION_VAL(5, 5, 0)" in glue


@given(st.binary(max_size=1500), st.integers(0, 2000))
def test_any_frame_is_taken_or_refused(agent_library: Path, frame: bytes, now: int) -> None:
    assert Radio(agent_library).take(A, frame, now)[0] in (NOTHING, MESSAGE, TOO_LONG, STRANGE, NO_ROOM)


@given(st.integers(1, CAPACITY), st.sampled_from([V1, V2]), st.randoms(use_true_random=False))
def test_any_message_arrives(agent_library: Path, size: int, longest: int, rng) -> None:
    radio = Radio(agent_library)
    message = rng.randbytes(size)
    frames = radio.frames(message, 3, longest)
    if not frames:
        assert size > 64 * (longest - HEAD)
        return
    rng.shuffle(frames)
    results = [radio.take(A, frame) for frame in frames]
    assert results[-1] == (MESSAGE, message)
