"""The first wrong stage, by one run that shows all of them."""

from __future__ import annotations

import numpy as np

from emu.bisect.model_runs import Golden
from emu.bisect.stages import compare_digests, expected_piece, piece_differs
from emu.bisect.watch import Shown
from emu.models.guest import Piece
from emu.models.stages import stage_digest
from emu.verify.compare import difference


def chain(stages: int, wrong_at: int | None = None, mended_at: int | None = None) -> dict[str, np.ndarray]:
    """Stages of int8 [16]; one element is off by one from ``wrong_at`` to before ``mended_at``."""
    found = {}
    x = np.arange(16, dtype=np.int8)
    for i in range(stages):
        x = (x * 3 + i).astype(np.int8)
        shown = x.copy()
        if wrong_at is not None and wrong_at <= i < (stages if mended_at is None else mended_at):
            shown[3] += 1
        found[f"conv{i}"] = shown
    return found


def golden(tensors: dict[str, np.ndarray]) -> Golden:
    digests = {name: stage_digest(values) for name, values in tensors.items()}
    return Golden("test", list(tensors), digests, tensors)


def test_b061_one_element_at_a_middle_stage():
    right, wrong = chain(20), chain(20, wrong_at=11)
    found = compare_digests(golden(right), golden(wrong).digests)
    assert found is not None
    assert found.first == "conv11"
    assert len(found.wrong) == 9


def test_b061_an_error_that_cancels_out_later_is_still_found():
    right, wrong = chain(20), chain(20, wrong_at=11, mended_at=12)
    found = compare_digests(golden(right), golden(wrong).digests)
    assert found is not None
    assert found.wrong == ("conv11",)


def test_equal_runs_are_equal():
    assert compare_digests(golden(chain(20)), golden(chain(20)).digests) is None


def test_a_stage_that_one_side_lacks_differs():
    digests = golden(chain(20)).digests
    del digests["conv7"]
    found = compare_digests(golden(chain(20)), digests)
    assert found is not None
    assert found.first == "conv7"


def test_runs_that_end_at_the_same_place_are_compared_up_to_it():
    right = golden(chain(20))
    right.failed = ("conv12", 3)
    shorter = {name: right.digests[name] for name in list(right.digests)[:12]}
    assert compare_digests(right, shorter, ("conv12", 3)) is None
    assert compare_digests(right, shorter, ("conv12", 4)) is not None


def shown(values: np.ndarray, first: int, pitch: int, total: int) -> Shown:
    piece = Piece(0, 1, first, values.shape[0], values.shape[1], values.shape[1], pitch, total)
    return Shown("x", 0, 0, 0, piece, values, 0, 0)


def test_a_piece_is_compared_with_its_own_place():
    whole = np.arange(24, dtype=np.int8)
    part = whole.reshape(4, 6)[1:3, 2:4]
    assert not piece_differs(shown(np.ascontiguousarray(part), 8, 6, 24), whole)
    assert piece_differs(shown(part + np.int8(1), 8, 6, 24), whole)
    assert expected_piece(shown(np.ascontiguousarray(part), 23, 6, 24), whole) is None
    assert piece_differs(shown(part.astype(np.int32), 8, 6, 24), whole)


def test_b079_one_ulp_of_a_fast_division_is_a_difference():
    right, fast = np.float32(5) / np.float32(3), np.float32(5) * (np.float32(1) / np.float32(3))
    assert (int(right.view(np.uint32)), int(fast.view(np.uint32))) == (0x3FD55555, 0x3FD55556)
    stages = (
        golden({"norm": np.array([1, right], np.float32)}),
        golden({"norm": np.array([1, fast], np.float32)}),
    )
    found = compare_digests(stages[0], stages[1].digests)
    assert found is not None
    assert found.first == "norm"


def test_b039_a_wrong_border_is_told_as_one():
    """Padding with code 0 where the zero point is 3: the border differs, the inside does not."""
    codes = np.full((5, 6), 5, np.int32)

    def convolved(pad: int) -> np.ndarray:
        wide = np.pad(codes, 1, constant_values=pad)
        sums = sum(wide[r : r + 5, c : c + 6] for r in range(3) for c in range(3)) - 9 * 3
        return np.repeat(sums[:, :, None], 2, axis=2).astype(np.int8)

    right, wrong = convolved(3), convolved(0)
    found = difference("conv", right.shape, right.reshape(-1), wrong.reshape(-1))
    assert found is not None
    assert found.index == (0, 0, 0)
    assert "only at the border (top, bottom, left, right)" in found.pattern
    inside = right.copy()
    inside[2, 2] += 1
    other = difference("conv", right.shape, right.reshape(-1), inside.reshape(-1))
    assert other is not None
    assert "border" not in other.pattern
