"""Model files: what is written is read, and every refusal names its reason and its tensor.

(The same hostile files go through the firmware's loader in tests/firmware.)
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emu.models.errors import ModelFileError
from emu.models.modelfile.header import ENTRY_BYTES, HEADER_BYTES, header_crc
from emu.models.modelfile.kinds import Kind, layout_of
from emu.models.modelfile.random_weights import random_tensors
from emu.models.modelfile.reader import ModelFile, open_model
from emu.models.modelfile.reasons import Reason as R
from emu.models.modelfile.tensors import DType
from emu.models.modelfile.writer import assemble, model_bytes, tensor_bytes, write_file
from emu.numerics.int4 import unpack_int4
from emu.numerics.ternary import unpack_ternary
from tests.models.files import KINDS, changed, random_bytes, random_file


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_written_is_read(kind):
    tensors, file = random_tensors(kind, 1), random_file(kind)
    for name, spec in file.specs.items():
        stored, wanted = file.array(name), np.asarray(tensors[name])
        if spec.dtype is DType.I8:
            stored = stored[:, : spec.cols]
        elif spec.dtype is DType.INT4:
            stored = unpack_int4(stored, spec.cols)
        elif spec.dtype is DType.TERNARY:
            stored = unpack_ternary(stored, spec.cols)
        elif spec.dtype is DType.F16:
            stored = stored.view(np.float16)
        assert np.array_equal(stored.reshape(-1), wanted.reshape(-1)), name


def test_files_are_mapped_and_written_at_once(tmp_path):
    path = tmp_path / "model.bin"
    write_file(path, random_bytes(Kind.TERNARY))
    file = open_model(path)
    assert file.source == str(path)
    assert not file.array("emb").flags.writeable
    assert len(list(tmp_path.iterdir())) == 1
    with pytest.raises(ModelFileError, match="a t2i model is needed"):
        open_model(path, Kind.T2I)


def sealed(data: bytearray) -> bytes:
    """The file with a right CRC of header and index."""
    length = int.from_bytes(data[12:16], "little")
    data[24:28] = header_crc(bytes(data[:length])).to_bytes(4, "little")
    return bytes(data)


def damaged(place: int, value: bytes, seal: bool = True, kind: Kind = Kind.TERNARY) -> bytes:
    data = bytearray(random_bytes(kind))
    data[place : place + len(value)] = value
    return sealed(data) if seal else bytes(data)


def refusal(data: bytes) -> ModelFileError:
    with pytest.raises(ModelFileError) as caught:
        ModelFile(data)
    return caught.value


def u32(value: int) -> bytes:
    return value.to_bytes(4, "little")


SIZE = len(random_bytes(Kind.TERNARY))
ENTRY_1 = HEADER_BYTES + ENTRY_BYTES
INDEX = HEADER_BYTES + 44 * ENTRY_BYTES

HEADER_CASES = {
    "no bytes": (b"", R.TOO_SHORT),
    "63 bytes": (random_bytes(Kind.TERNARY)[:63], R.TOO_SHORT),
    "magic": (damaged(0, b"X"), R.MAGIC),
    "version": (damaged(8, b"\x02"), R.VERSION),
    "kind": (damaged(10, b"\x04"), R.KIND),
    "spec version": (damaged(28, u32(2)), R.SPEC_VERSION),
    "no tensors": (damaged(20, u32(0), False), R.COUNT),
    "absurd count": (damaged(20, u32(0xFFFFFFFF), False), R.COUNT),
    "header_len": (damaged(12, u32(INDEX + 80), False), R.HEADER_LENGTH),
    "file_len": (damaged(16, u32(100), False), R.FILE_LENGTH),
    "cut": (random_bytes(Kind.TERNARY)[:-1], R.TRUNCATED),
    "more bytes": (random_bytes(Kind.TERNARY) + b"\0", R.TRAILING),
    "index flipped": (damaged(INDEX - 30, b"\xaa", False), R.HEADER_CRC),
    "no outputs": (damaged(32, u32(0)), R.PARAMETER),
    "4097 outputs": (damaged(32, u32(4097)), R.PARAMETER),
    "unused word": (damaged(36, u32(1)), R.HEADER_PADDING),
    "unused word of t2i": (damaged(32, u32(1), kind=Kind.T2I), R.HEADER_PADDING),
}


@pytest.mark.parametrize("name", HEADER_CASES)
def test_headers(name):
    data, reason = HEADER_CASES[name]
    error = refusal(data)
    assert (error.reason, error.tensor, error.index) == (reason, "", -1)
    assert f"[{reason.name.lower()}]" in str(error)


ENTRY_CASES = {
    "no name": (0, b"\0", R.NAME, ""),
    "endless name": (0, b"p" * 40, R.NAME, "p" * 40),
    "bytes behind the name": (10, b"x", R.NAME, "pos"),
    "unknown": (0, b"posx", R.UNKNOWN, "posx"),
    "duplicate": (0, b"emb", R.DUPLICATE, "emb"),
    "type": (40, b"\x03", R.DTYPE, "pos"),
    "dimensions": (41, b"\x01", R.SHAPE, "pos"),
    "group": (42, b"\x10", R.GROUP, "pos"),
    "absurd shape": (44, u32(0xFFFFFFFF), R.SHAPE, "pos"),
    "unused dimension": (52, u32(2), R.SHAPE, "pos"),
    "row_bytes": (60, u32(513), R.ROW_BYTES, "pos"),
    "length": (68, u32(0xFFFFFFF0), R.LENGTH, "pos"),
    "offset 8": (64, u32(INDEX + 8), R.OFFSET, "pos"),
    "overlap": (64, u32(INDEX), R.OVERLAP, "pos"),
    "gap": (64, u32(INDEX + 256 * 128 * 4 + 16), R.GAP, "pos"),
    "behind the end": (64, u32(0xFFFFFFF0), R.GAP, "pos"),
    "unused bytes": (79, b"\x01", R.ENTRY_PADDING, "pos"),
    "content": (72, u32(0), R.CRC, "pos"),
}


@pytest.mark.parametrize("name", ENTRY_CASES)
def test_index_entries(name):
    place, value, reason, tensor = ENTRY_CASES[name]
    error = refusal(damaged(ENTRY_1 + place, value))
    assert (error.reason, error.tensor, error.index) == (reason, tensor, 1)


def parts(kind: Kind, values: dict[str, bytes] | None = None):
    """(spec, bytes) of every tensor, some with other bytes."""
    tensors = random_tensors(kind, 1)
    made = values or {}
    return [(s, made.get(s.name, tensor_bytes(s, np.asarray(tensors[s.name])))) for s in layout_of(kind)]


def test_missing_and_cut_tensors():
    whole = parts(Kind.TERNARY)
    error = refusal(assemble(2, whole[:7] + whole[8:], (511,)))
    assert (error.reason, error.tensor, error.index) == (R.MISSING, "l0.norm2", 7)
    last, blob = whole[-1]
    data = bytearray(assemble(2, [*whole[:-1], (last, blob[:-4])], (511,)))
    error = refusal(bytes(data))
    assert (error.reason, error.tensor) == (R.BEYOND_END, "head.b")
    data = bytearray(assemble(2, [*whole[:-1], (last, blob + b"1234")], (511,)))
    assert refusal(bytes(data)).reason is R.TRAILING


def test_any_order_is_read():
    whole = parts(Kind.TERNARY)
    file = ModelFile(assemble(2, whole[::-1], (511,)))
    assert np.array_equal(file.array("l2.fc1.w"), random_file(Kind.TERNARY).array("l2.fc1.w"))


def test_bytes_of_a_gap():
    file = random_file(Kind.T2I)
    names = list(file.entries)
    gap = next(
        i
        for i in range(1, len(names))
        if file.entries[names[i]].offset
        > file.entries[names[i - 1]].offset + file.entries[names[i - 1]].length
    )
    data = bytearray(random_bytes(Kind.T2I))
    data[file.entries[names[gap]].offset - 1] = 1
    error = refusal(bytes(data))
    assert (error.reason, error.tensor, error.index) == (R.GAP_BYTES, names[gap], gap)


def hostile(kind: Kind, name: str, place: int, value: bytes) -> ModelFileError:
    """A tensor with other bytes and a right CRC."""
    blob = {s.name: b for s, b in parts(kind)}[name]
    data = blob[:place] + value + blob[place + len(value) :]
    outputs = (511,) if kind is Kind.TERNARY else ()
    return refusal(assemble(int(kind), parts(kind, {name: data}), outputs))


INF, NAN = b"\x00\x00\x80\x7f", b"\x01\x00\xc0\xff"
CONTENT_CASES = [
    (Kind.T2I, "gelu.slope", 4001, b"\x5a", R.TABLE_CRC, ""),
    (Kind.T2I, "time.freq", 9, b"\x5a", R.TABLE_CRC, ""),
    (Kind.TINYLM, "rope.freq", 9, b"\x5a", R.TABLE_CRC, ""),
    (Kind.T2I, "b3.table", 192 * 4 * 2 + 8, INF, R.NOT_FINITE, "row 2, column 2"),
    (Kind.TERNARY, "head.b", 40, NAN, R.NOT_FINITE, "row 0, column 10"),
    (Kind.TINYLM, "l1.o.w.scale", 10, b"\x00\xfc", R.NOT_FINITE, "row 1, column 1"),
    (Kind.T2I, "mod.w.scale", 12, b"\x00\x00\x80\xbf", R.NEGATIVE_SCALE, "column 3"),
    (Kind.T2I, "dec.s_in", 36, b"\x01\x00\x00\x80", R.NEGATIVE_SCALE, "column 9"),
    (Kind.TINYLM, "emb.w.scale", 20, b"\x01\x80", R.NEGATIVE_SCALE, "row 10, column 0"),
    (Kind.T2I, "b0.qkv.w", 192 * 5 + 7, b"\x80", R.CODE_S8, "row 5, column 7"),
    (Kind.T2I, "dec.conv0.w", 48 * 3 + 36, b"\x01", R.PADDING, "row 3"),
    (Kind.T2I, "dec.conv0.w", 48 * 3 + 47, b"\x80", R.PADDING, "row 3"),
    (Kind.TINYLM, "l0.down.w", 208 * 2 + 100, b"\x08", R.CODE_INT4, "row 2, column 200"),
    (Kind.TINYLM, "l0.down.w", 208 * 2 + 100, b"\x80", R.CODE_INT4, "row 2, column 201"),
    (Kind.TINYLM, "l0.down.w", 208 * 2 + 207, b"\x10", R.PADDING, "row 2"),
    (Kind.TERNARY, "l3.fc2.w", 64 * 9 + 3, b"\xd5", R.CODE_TERNARY, "row 9, column 15"),
    (Kind.T2I, "tok.words", 16 * 4, b"\x00", R.WORDS, "word 4"),
    (Kind.T2I, "tok.words", 16 * 4 + 15, b"a", R.WORDS, "word 4"),
    (Kind.TINYLM, "tok.start", 4 * 300, u32(0), R.WORDS, "string 299"),
    (Kind.TINYLM, "tok.start", 4 * 4096, u32(9), R.WORDS, "string 4095"),
    (Kind.TINYLM, "tok.bytes", 65, b"B", R.WORDS, "string 65"),
]


@pytest.mark.parametrize("case", CONTENT_CASES, ids=lambda c: f"{c[1]}-{c[2]}-{c[4].name}")
def test_contents(case):
    kind, name, place, value, reason, where = case
    error = hostile(kind, name, place, value)
    assert (error.reason, error.tensor) == (reason, name)
    assert where in str(error)


def test_minus_zero_is_a_scale():
    assert changed(Kind.T2I, "mod.w.scale", np.float32(-0.0), part=slice(0, 1)).kind is Kind.T2I


def test_the_writer_refuses():
    tensors = random_tensors(Kind.T2I, 1)
    with pytest.raises(ValueError, match="called pos2"):
        model_bytes(Kind.T2I, {**tensors, "pos2": tensors["pos"]})
    bad = tensors["patch.w"].copy()
    bad[3, 3] = -128
    with pytest.raises(ValueError, match=r"patch\.w: int8 weights are -127 to 127"):
        model_bytes(Kind.T2I, {**tensors, "patch.w": bad})
    with pytest.raises(ValueError, match="do not fill"):
        model_bytes(Kind.T2I, {**tensors, "pos": np.zeros(3, np.float32)})


@settings(max_examples=300)
@given(st.data())
def test_no_damage_passes_or_crashes(data):
    """A flipped bit, a cut, or swapped bytes anywhere: refused by name, never anything else."""
    kind = data.draw(st.sampled_from([Kind.TERNARY, Kind.TINYLM]))
    whole = bytearray(random_bytes(kind))
    size = data.draw(st.sampled_from([len(whole), data.draw(st.integers(0, len(whole) - 1))]))
    place = data.draw(st.one_of(st.integers(0, len(whole) - 1), st.integers(0, 4000)))
    whole[place] ^= 1 << data.draw(st.integers(0, 7))
    seal = data.draw(st.booleans()) and size == len(whole)
    try:
        hurt = sealed(whole) if seal else bytes(whole[:size])
    except OverflowError:
        hurt = bytes(whole)
    error = refusal(hurt) if hurt != random_bytes(kind) else None
    assert error is None or error.reason is not R.OK
