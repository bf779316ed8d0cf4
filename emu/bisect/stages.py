"""Which stage is the first one that is wrong, and which stages are wrong themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from emu.bisect.model_runs import Failed, Golden, Prepared
from emu.bisect.watch import Shown, Watch
from emu.cpu.hooks import STOP
from emu.models.names import in_order
from emu.models.stages import stage_digest
from emu.numerics.types import AnyArray
from emu.verify.compare import Difference, bits_of, difference


@dataclass(frozen=True)
class WrongStage:
    """``first`` of the ``wrong`` ones in the order of the model; "" when only the ends of the runs differ."""

    first: str
    wrong: tuple[str, ...]
    compared: int
    failed: Failed | None = None


def compare_digests(
    golden: Golden, found: Mapping[str, int], failed: Failed | None = None
) -> WrongStage | None:
    """Digests of one run against the golden ones; None when all are equal.

    Where both runs end at the same number that is not finite, the stages that both told count.
    """
    order = list(in_order(dict(golden.digests) | dict(found), golden.order))
    if failed is not None and failed == golden.failed:
        order = [name for name in order if name in golden.digests and name in found]
    wrong = tuple(name for name in order if golden.digests.get(name) != found.get(name))
    if not wrong and failed == golden.failed:
        return None
    return WrongStage(wrong[0] if wrong else "", wrong, len(order), failed)


def piece_differs(shown: Shown, golden: AnyArray) -> bool:
    """Whether a piece of a stage differs from its place in the golden tensor (flat)."""
    expected = expected_piece(shown, golden)
    if expected is None or expected.dtype != shown.values.dtype:
        return True
    return not np.array_equal(bits_of(expected), bits_of(shown.values))


def expected_piece(shown: Shown, golden: AnyArray) -> AnyArray | None:
    """The golden elements [rows][cols] of a piece; None when it lies outside of the tensor."""
    piece = shown.piece
    rows = piece.first + np.arange(piece.rows)[:, None] * piece.pitch
    at = rows + np.arange(piece.cols)
    if piece.total != golden.size or (at.size and int(at.max()) >= golden.size):
        return None
    return np.ascontiguousarray(golden[at])


@dataclass
class _Isolation:
    """Puts golden tensors where the stages after a piece read them."""

    golden: Golden
    wrong: dict[str, None] = field(default_factory=dict)

    def __call__(self, shown: Shown, watch: Watch) -> None:
        golden = self.golden.tensors.get(shown.stage)
        if golden is None or not piece_differs(shown, golden):
            return
        self.wrong[shown.stage] = None
        expected = expected_piece(shown, golden)
        if expected is None:
            return
        memory, piece = watch.prepared.engine.memory, shown.piece
        for r, row in enumerate(expected):
            memory.write(piece.data + r * piece.stride * row.itemsize, row.tobytes())


def wrong_by_themselves(prepared: Prepared, golden: Golden) -> list[str]:
    """Stages that are wrong although everything that was shown before them was made right: one run.

    Each stage is rerun on golden inputs: whatever a tap shows is replaced by the golden elements before the
    code goes on, which reads what was shown. A stage that only passed on a wrong input is not in the list.
    """
    isolation = _Isolation(golden)
    Watch(prepared, {}, isolation, keeps_calls=False).run()
    order = {name: i for i, name in enumerate(golden.order)}
    return sorted(isolation.wrong, key=lambda name: order.get(name, len(order)))


def until_wrong(stage: str, golden: AnyArray) -> Callable[[Shown, Watch], object]:
    """A watcher that stops the run at the first wrong piece of a stage."""

    def look(shown: Shown, watch: Watch) -> object:
        return STOP if shown.stage == stage and piece_differs(shown, golden) else None

    return look


def until_piece(stage: str, nth: int) -> Callable[[Shown, Watch], object]:
    """A watcher that stops the run at one piece of a stage."""
    return lambda shown, watch: STOP if (shown.stage, shown.nth) == (stage, nth) else None


def never(shown: Shown, watch: Watch) -> object:
    """A watcher that never stops a run."""
    return None


@dataclass
class Whole:
    """A watcher that puts the pieces of every stage together."""

    golden: Golden
    _open: dict[str, tuple[AnyArray, list[int]]] = field(default_factory=dict)

    def __call__(self, shown: Shown, watch: Watch) -> None:
        """Add a piece; a stage that is complete gets its digest."""
        piece = shown.piece
        whole, seen = self._open.setdefault(shown.stage, (np.zeros(piece.total, shown.values.dtype), [0]))
        rows = piece.first + np.arange(piece.rows)[:, None] * piece.pitch
        whole[rows + np.arange(piece.cols)] = shown.values
        seen[0] += piece.rows * piece.cols
        if seen[0] >= piece.total:
            self.golden.tensors[shown.stage] = self._open.pop(shown.stage)[0]
            self.golden.digests[shown.stage] = stage_digest(whole)


def stage_difference(prepared: Prepared, stage: str, golden: Golden) -> Difference | None:
    """What differs in a stage as a whole: one run. None when it is not shown completely."""
    expected = golden.tensors[stage]
    found = Golden("", [])
    whole = Whole(found)

    def look(shown: Shown, watch: Watch) -> object:
        if shown.stage == stage:
            whole(shown, watch)
        return STOP if stage in found.tensors else None

    Watch(prepared, {}, look, keeps_calls=False).run()
    actual = found.tensors.get(stage)
    if actual is None or actual.dtype != expected.dtype or actual.size != expected.size:
        return None
    return difference(stage, golden.shapes.get(stage, expected.shape), expected, actual)
