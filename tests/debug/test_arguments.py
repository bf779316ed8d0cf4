"""Arguments of calls as they are written on the command line."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emu.cpu.calls import argument_words
from emu.cpu.engine import Engine
from emu.cpu.options import EngineOptions
from emu.debug.arguments import parse_arguments
from emu.debug.calls import Buffer, Call, start
from emu.debug.errors import DebugInputError
from tests.cpu.images import image_of

IMAGE = image_of("f: entry a1, 32\nretw.n\n")


def words(text: str) -> list[int]:
    (value,) = parse_arguments([text], IMAGE)
    assert not isinstance(value, Buffer)
    return argument_words([value])[0]


def buffer(text: str) -> Buffer:
    (value,) = parse_arguments([text], IMAGE)
    assert isinstance(value, Buffer)
    return value


@pytest.mark.parametrize(
    ("text", "want"),
    [
        ("12", [12]),
        ("-1", [0xFFFFFFFF]),
        ("0xff", [255]),
        ("0b101", [5]),
        ("4294967295", [0xFFFFFFFF]),
        ("f:1.5", [0x3FC00000]),
        ("f:-0.0", [0x80000000]),
        ("f:inf", [0x7F800000]),
        ("f:1e-45", [1]),
        ("f:0.1", [0x3DCCCCCD]),
        ("d:1.5", [0, 0x3FF80000]),
        ("l:-2", [0xFFFFFFFE, 0xFFFFFFFF]),
        ("l:0x100000000", [0, 1]),
        ("&table", [0x3FC98000]),
        ("&f", [0x40378000]),
        ("n=3", [3]),
    ],
)
def test_scalars(text: str, want: list[int]) -> None:
    assert words(text) == want


def test_buffers() -> None:
    assert buffer("zeros:5").data == bytes(5)
    assert buffer("s8:1,-2,3").data == b"\x01\xfe\x03"
    assert buffer("u16: 1, 0xffff").data == b"\x01\x00\xff\xff"
    assert buffer("s32:-1").data == b"\xff" * 4
    assert buffer("f32:1.5,-0").data == np.array([1.5, -0.0], np.float32).tobytes()
    assert buffer("f64:0.1").data == np.float64(0.1).tobytes()
    assert buffer("u64:18446744073709551615").data == b"\xff" * 8
    assert buffer("s8:").data == b""
    named = buffer("x=s16:7:+3")
    assert (named.name, named.offset, named.dtype, named.data) == ("x", 3, "int16", b"\x07\x00")


def test_files(tmp_path: Path) -> None:
    big = np.arange(6, dtype=">i2").reshape(2, 3)
    np.save(tmp_path / "a.npy", big.T)
    found = buffer(f"@{tmp_path / 'a.npy'}")
    assert found.dtype == "int16"
    assert found.data == big.T.astype("<i2").tobytes()
    (tmp_path / "raw.bin").write_bytes(b"abc")
    assert buffer(f"y=@{tmp_path / 'raw.bin'}:+1").data == b"abc"


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "1.5", "12 13", "f:", "f:abc", "d:1,2", "l:x", "&", "&nothing", "zeros:", "zeros:-1"),
        *("zeros:1e9", "zeros:99999999999", "s8:128", "u8:-1", "s8:1,x", "s16:1.5", "q8:1", "@", "@/none"),
        *("@/", "5000000000", "-3000000000", "3:+4", "f:1:+4", "zeros:4:+5000", "zeros:4:+-1", "=5", "0x"),
        *("s8:0x", "f32:1,,x", "f32:1e"),
    ],
)
def test_refusals_quote_the_argument(text: str) -> None:
    with pytest.raises(DebugInputError, match="argument 2"):
        parse_arguments(["1", text], IMAGE)


def test_objects_in_files_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "o.npy", np.array([object()]), allow_pickle=True)
    np.save(tmp_path / "c.npy", np.array([1j]))
    (tmp_path / "bad.npy").write_bytes(b"\x93NUMPY\x01\x00 nonsense")
    for name in ("o", "c", "bad"):
        with pytest.raises(DebugInputError, match=name):
            parse_arguments([f"@{tmp_path / name}.npy"], IMAGE)


@given(st.text(max_size=20))
def test_any_text_is_understood_or_refused(text: str) -> None:
    message = "argument 1"
    try:
        parse_arguments([text], IMAGE)
    except DebugInputError as error:
        message = str(error)
    assert "argument 1" in message


def test_buffers_are_placed_apart_and_aligned() -> None:
    engine = Engine(IMAGE, EngineOptions(tier="stepper", bounds=True))
    buffers = Buffer(b"a" * 100), Buffer(b"b" * 3, offset=5), 7, Buffer(b"", name="empty"), Buffer(b"c")
    started = start(engine, Call("f", buffers))
    first, second, empty, last = started.places
    assert [p.name for p in started.places] == ["arg1", "arg2", "empty", "arg5"]
    assert first.address % 64 == 0
    assert second.address % 64 == 5
    assert second.address - first.end >= 64
    assert empty.end <= last.address
    assert engine.memory.load(second.address, 3) == int.from_bytes(b"bbb", "little")
    assert [engine.state.get_a(10 + i) for i in range(3)] == [first.address, second.address, 7]


def test_too_large_buffers() -> None:
    engine = Engine(IMAGE, EngineOptions(tier="stepper", psram_bytes=1 << 16))
    with pytest.raises(DebugInputError, match="arena"):
        start(engine, Call("f", [Buffer(bytes(1 << 16))]))
