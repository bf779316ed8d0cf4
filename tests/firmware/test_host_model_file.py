"""The loader in C against the reader in Python: the same refusals, and nothing read behind a file."""

from __future__ import annotations

import ctypes
import zlib
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from emu.models.modelfile.kinds import Kind, layout_of
from emu.models.modelfile.random_weights import random_model
from emu.models.modelfile.reasons import Reason
from emu.models.modelfile.tensors import TensorSpec
from emu.models.modelfile.writer import assemble
from tests.firmware import host_models as h
from tests.firmware.hostile_files import (
    DAMAGES,
    HEADER,
    Answer,
    Forge,
    GuardedFile,
    answer_of_c,
    answer_of_python,
)

KINDS = (Kind.T2I, Kind.TERNARY, Kind.TINYLM)


@pytest.fixture(scope="module")
def files() -> dict[Kind, bytes]:
    """A small ternary model beside the two large ones."""
    return {kind: random_model(kind, 1, 3 if kind is Kind.TERNARY else None) for kind in KINDS}


@pytest.fixture(scope="module")
def guarded(files: dict[Kind, bytes]) -> GuardedFile:
    return GuardedFile(max(map(len, files.values())) + 64)


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.label)
def test_good_file_and_its_tensors(
    host_firmware: ctypes.CDLL, files: dict[Kind, bytes], guarded: GuardedFile, kind: Kind
) -> None:
    data = files[kind]
    model, fault = h.Model(), h.ModelFault()
    place = guarded.place(data)
    status = host_firmware.emu_model_open(
        h.POINTER(place), len(data), 0, 0, ctypes.byref(model), ctypes.byref(fault)
    )
    assert (status, fault.reason, model.kind) == (0, 0, int(kind))
    assert model.outputs == (3 if kind is Kind.TERNARY else 0)
    layout = layout_of(kind, 3 if kind is Kind.TERNARY else None)
    assert model.count == len(layout)
    forge = Forge(data)
    for i in range(model.count):
        assert model.data[i] == place + forge.word(forge.entry(i) + 64)


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.label)
def test_names_of_all_tensors(host_firmware: ctypes.CDLL, kind: Kind) -> None:
    """The list of the firmware is the list of the writer."""
    host_firmware.emu_model_tensor_name.restype = ctypes.c_char_p
    layout = layout_of(kind)
    buffer = ctypes.create_string_buffer(40)
    found = [host_firmware.emu_model_tensor_name(int(kind), i, buffer) for i in range(len(layout) + 1)]
    assert found == [spec.name.encode() for spec in layout] + [b""]


def test_another_kind_and_a_misaligned_file(
    host_firmware: ctypes.CDLL, files: dict[Kind, bytes], guarded: GuardedFile
) -> None:
    data = files[Kind.TERNARY]
    assert answer_of_c(host_firmware, guarded, data, 1) == Answer(Reason.KIND, HEADER)
    assert answer_of_python(data, Kind.T2I) == Answer(Reason.KIND, HEADER)
    model, fault = h.Model(), h.ModelFault()
    place = h.POINTER(guarded.place(data + bytes(4)) + 4)
    assert host_firmware.emu_model_open(place, len(data), 0, 0, ctypes.byref(model), ctypes.byref(fault)) == 3


def parts_of(kind: Kind, data: bytes) -> list[tuple[TensorSpec, bytes]]:
    """Tensors and their bytes, in the order of the file."""
    forge, parts = Forge(data), []
    for i, spec in enumerate(layout_of(kind, 3 if kind is Kind.TERNARY else None)):
        at = forge.entry(i)
        parts.append((spec, data[forge.word(at + 64) : forge.word(at + 64) + forge.word(at + 68)]))
    return parts


@pytest.mark.parametrize("kind", KINDS, ids=lambda k: k.label)
def test_any_order_of_tensors(
    host_firmware: ctypes.CDLL, files: dict[Kind, bytes], guarded: GuardedFile, kind: Kind
) -> None:
    """Writers use one order, readers take any."""
    parts = parts_of(kind, files[kind])
    np.random.default_rng(3).shuffle(parts)  # type: ignore[arg-type]
    shuffled = assemble(kind, parts, (3,) if kind is Kind.TERNARY else ())
    assert answer_of_c(host_firmware, guarded, shuffled, int(kind)) == Answer(0, HEADER)
    assert answer_of_python(shuffled, kind) == Answer(0, HEADER)


@pytest.mark.parametrize("missing", [0, 1, 17, 43])
def test_missing_tensor(
    host_firmware: ctypes.CDLL, files: dict[Kind, bytes], guarded: GuardedFile, missing: int
) -> None:
    parts = parts_of(Kind.TERNARY, files[Kind.TERNARY])
    data = assemble(Kind.TERNARY, parts[:missing] + parts[missing + 1 :], (3,))
    answer = answer_of_c(host_firmware, guarded, data, 2)
    assert answer == Answer(Reason.MISSING, missing) == answer_of_python(data, Kind.TERNARY)


def campaign(
    library: ctypes.CDLL, files: dict[Kind, bytes], guarded: GuardedFile, cases: int, kinds: tuple[Kind, ...]
) -> Counter[Reason]:
    """Both answers to `cases` damaged files; the reasons that came up."""
    reasons: Counter[Reason] = Counter()
    for case in range(cases):
        rng = np.random.default_rng(case)
        kind = kinds[case % len(kinds)]
        data = DAMAGES[int(rng.integers(len(DAMAGES)))](Forge(files[kind]), rng)
        ours, theirs = answer_of_c(library, guarded, data, int(kind)), answer_of_python(data, kind)
        assert ours == theirs, f"case {case}: C {Reason(ours.reason)!r} {ours}, Python {theirs}"
        reasons[Reason(ours.reason)] += 1
    return reasons


def test_hostile_files(host_firmware: ctypes.CDLL, files: dict[Kind, bytes], guarded: GuardedFile) -> None:
    reasons = campaign(host_firmware, files, guarded, 600, (Kind.TERNARY,))
    campaign(host_firmware, files, guarded, 60, (Kind.T2I, Kind.TINYLM))
    assert len(reasons) >= 22, sorted(reasons)


@pytest.mark.long
def test_many_hostile_files(
    host_firmware: ctypes.CDLL, files: dict[Kind, bytes], guarded: GuardedFile
) -> None:
    reasons = campaign(host_firmware, files, guarded, 5000, KINDS)
    never = {Reason.TABLE_CRC, Reason.MISSING}  # tests of their own
    assert set(Reason) - set(reasons) <= never, set(Reason) - set(reasons)


def test_tables_of_the_contract(
    host_firmware: ctypes.CDLL, files: dict[Kind, bytes], guarded: GuardedFile
) -> None:
    """A table with another last bit, its CRC right: refused by name."""
    for kind in (Kind.T2I, Kind.TINYLM):
        for i, spec in enumerate(layout_of(kind)):
            if spec.fill == "table":
                forge = Forge(files[kind])
                forge.data[forge.word(forge.entry(i) + 64)] ^= 1
                forge.seal_tensor(i)
                answer = answer_of_c(host_firmware, guarded, forge.seal(), int(kind))
                assert answer == Answer(Reason.TABLE_CRC, i) == answer_of_python(bytes(forge.data), kind)


def test_place_of_a_forbidden_code(
    host_firmware: ctypes.CDLL, files: dict[Kind, bytes], guarded: GuardedFile
) -> None:
    """Row and column of the ternary code 11, the int4 code -8 and the int8 weight -128."""
    cases = (
        (Kind.TERNARY, "l2.fc2.w", Reason.CODE_TERNARY, 64, 2, 3, 13),
        (Kind.TINYLM, "l5.down.w", Reason.CODE_INT4, 208, 4, 8, 413),
        (Kind.T2I, "dec.conv0.w", Reason.CODE_S8, 48, 8, 0x80, 35),
    )
    for kind, name, reason, row_bytes, bits, code, column in cases:
        names = [spec.name for spec in layout_of(kind)]
        forge, i = Forge(files[kind]), names.index(name)
        row, bit = 5, column * bits
        place = forge.word(forge.entry(i) + 64) + row * row_bytes + bit // 8
        forge.data[place] &= ~(((1 << bits) - 1) << bit % 8) & 0xFF
        forge.data[place] |= code << bit % 8
        forge.seal_tensor(i)
        data = forge.seal()
        model, fault = h.Model(), h.ModelFault()
        args = h.POINTER(guarded.place(data)), len(data), int(kind), 0
        assert host_firmware.emu_model_open(*args, ctypes.byref(model), ctypes.byref(fault)) == 5
        assert (fault.reason, fault.tensor, fault.row, fault.column) == (reason, i, row, column)


def test_reasons_are_those_of_the_header() -> None:
    """enum emu_model_fault and emu.models.modelfile.reasons have the same names and numbers."""
    header = Path(__file__).resolve().parents[2] / "firmware" / "include" / "emu_models.h"
    text = header.read_text()
    for reason in Reason:
        assert f"MODEL_{reason.name} = {int(reason)}," in text
    assert text.count("    MODEL_") == len(Reason)


def test_crc_is_that_of_zlib(host_firmware: ctypes.CDLL) -> None:
    data = bytes(range(256)) * 3
    host_firmware.crc32_bytes.restype = ctypes.c_uint32
    assert host_firmware.crc32_bytes(0, data, len(data)) == zlib.crc32(data)
