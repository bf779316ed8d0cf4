"""Case files: exact round trips, and every kind of damage refused with a reason."""

from __future__ import annotations

import base64
import json
import zlib

import numpy as np
import pytest
from faulty import KERNELS
from hypothesis import given, settings
from hypothesis import strategies as st

from emu.verify.case import materialise
from emu.verify.casefile import decode, encode, load, save
from emu.verify.errors import UsageProblem
from emu.verify.memory import Memory
from emu.verify.strategies import cases, plans


def example(symbol="quantize_row_s8", number=30):
    return next(c for _, c in cases(KERNELS[symbol], 3, number, 1))


def same(a, b):
    return encode(a) == encode(b) and all(a.arrays[k].tobytes() == b.arrays[k].tobytes() for k in a.arrays)


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_round_trip(data):
    kernel = KERNELS[data.draw(st.sampled_from(sorted(KERNELS)))]
    case = materialise(kernel, data.draw(plans(kernel)))
    found, again = decode(encode(case, {"message": "note"}), dict(KERNELS))
    assert found is kernel
    assert same(case, again)
    assert all(again.scalars[k].dtype == case.scalars[k].dtype for k in case.scalars)
    assert all(a.flags.writeable for a in again.arrays.values())


def test_save_makes_the_folder_and_is_readable(tmp_path):
    path = tmp_path / "a" / "b.json"
    case = example("exp_array")
    save(path, case, {"message": "x"})
    assert same(load(path, dict(KERNELS))[1], case)
    assert json.loads(path.read_text())["note"] == {"message": "x"}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.update(format="other"), "not a case file"),
        (lambda d: d.update(version=2), "version 2"),
        (lambda d: d.update(kernel="nothing"), "'nothing' is not known"),
        (lambda d: d["arrays"].pop("x"), "damaged: KeyError"),
        (lambda d: d["arrays"]["x"].update(hex="zz"), "damaged: ValueError"),
        (lambda d: d["arrays"].update(x={"zlib": "AAAA"}), "damaged"),
        (lambda d: d["arrays"].update(x={"hex": "00000000"}), "the spec has changed"),
        (lambda d: d["scalars"].pop("rows"), "damaged"),
        (lambda d: d.update(fault="never heard of"), "no refused call"),
        (lambda d: d.update(dims=[]), "damaged|no dimension"),
        (lambda d: d.update(dirty=None), "damaged"),
    ],
)
def test_damage_is_named(change, words):
    document = json.loads(encode(example()))
    change(document)
    with pytest.raises(UsageProblem, match=words):
        decode(json.dumps(document).encode(), dict(KERNELS), "file.json")


WHOLE = encode(example("digest_s8", 9))


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_random_damage_never_ends_in_anything_else(data):
    text = bytearray(WHOLE)
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text) - 1))
        text[at] = data.draw(st.integers(0, 255))
    try:
        decode(bytes(text[: data.draw(st.integers(0, len(text)))]), dict(KERNELS))
    except UsageProblem:
        return


def test_decompression_is_bounded(monkeypatch):
    monkeypatch.setattr("emu.verify.casefile._LARGEST_ARRAY", 1 << 20)
    document = json.loads(encode(example("digest_s8", 9)))
    bomb = zlib.compress(bytes(2 << 20))
    document["arrays"]["x"] = {"dtype": "int8", "size": 1, "zlib": base64.b64encode(bomb).decode()}
    with pytest.raises(UsageProblem, match="too large"):
        decode(json.dumps(document).encode(), dict(KERNELS))


def test_missing_file_is_named(tmp_path):
    with pytest.raises(UsageProblem, match=r"none.json: No such file"):
        load(tmp_path / "none.json", dict(KERNELS))


def test_memory_keeps_across_objects_and_forgets(tmp_path):
    kernel = KERNELS["quantize_row_s8"]
    case = example()
    Memory(tmp_path).remember(kernel, case)
    (again,) = Memory(tmp_path).recall(kernel)
    assert same(again, case)
    assert Memory(tmp_path).recall(KERNELS["exp_array"]) == []
    Memory(tmp_path).forget(kernel, again)
    assert Memory(tmp_path).recall(kernel) == []


def test_memory_drops_what_no_longer_fits_and_what_is_huge(tmp_path):
    kernel = KERNELS["quantize_row_s8"]
    memory = Memory(tmp_path)
    case = example()
    case.arrays["x"] = np.zeros(3, np.float32)
    memory.remember(kernel, case)
    assert Memory(tmp_path).recall(kernel) == []
    assert Memory(tmp_path).recall(kernel) == []
    big = example("digest_s32", 9)
    big.arrays["x"] = np.random.default_rng(1).integers(0, 1 << 31, 1 << 20).astype(np.int32)
    memory.remember(KERNELS["digest_s32"], big)
    assert memory.recall(KERNELS["digest_s32"]) == []
