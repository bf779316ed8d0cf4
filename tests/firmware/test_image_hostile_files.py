"""Hostile model files on the chip's instructions: the loader of the image says what C here and Python say.

Under the permission map the guest may read the file and nothing behind it: a read too far is a trap.
"""

from __future__ import annotations

import struct
from collections import Counter

import numpy as np
import pytest

from emu.cpu.engine import Engine
from emu.cpu.options import EngineOptions
from emu.cpu.shadow import INIT, READ, WRITE
from emu.image import load_image
from emu.models.modelfile.kinds import Kind
from emu.models.modelfile.random_weights import random_model
from emu.models.modelfile.reasons import Reason
from tests.firmware.hostile_files import DAMAGES, Answer, Forge, answer_of_python
from tests.firmware.image_models import GOLDEN

BUDGET = 2_000_000_000
OUTPUTS = 3
MODEL_BYTES, FAULT_BYTES = 1024, 16


class ImageLoader:
    """emu_model_open of an image; ``bounds``: under the byte-exact permission map."""

    def __init__(self, bounds: bool) -> None:
        self.engine = Engine(load_image(GOLDEN), EngineOptions(bounds=bounds, check_init=bounds))
        start = self.engine.arena.start
        self.model, self.fault, self.file = start, start + MODEL_BYTES, start + MODEL_BYTES + 64
        if bounds:
            self.engine.memory.shadow.allow(self.model, MODEL_BYTES + FAULT_BYTES, READ | WRITE)

    def answer(self, data: bytes, kind: int) -> Answer:
        """What the firmware says of a file."""
        engine = self.engine
        engine.memory.write(self.file, data + bytes(64))
        engine.memory.write(self.fault, bytes(FAULT_BYTES))
        if engine.options.bounds:
            engine.memory.shadow.allow(self.fault, FAULT_BYTES, READ | WRITE | INIT)
            engine.memory.shadow.allow(self.file, len(data), READ | INIT)
        words = [self.file, len(data), kind, 0, self.model, self.fault]
        status = engine.call("emu_model_open", words, budget=BUDGET).s32
        if engine.options.bounds:
            engine.memory.shadow.deny(self.file, len(data))
        reason, tensor = struct.unpack("<2I", engine.memory.read(self.fault, 8))
        assert status == (5 if reason else 0)
        return Answer(reason, tensor)


@pytest.fixture(scope="module")
def files() -> dict[Kind, bytes]:
    return {kind: random_model(kind, 1, OUTPUTS if kind is Kind.TERNARY else None) for kind in Kind}


def campaign(
    loader: ImageLoader, files: dict[Kind, bytes], cases: range, kinds: list[Kind]
) -> Counter[Reason]:
    """Both answers to damaged files, the same ones as in the campaign on C compiled for this machine."""
    reasons: Counter[Reason] = Counter()
    for case in cases:
        rng = np.random.default_rng(case)
        kind = kinds[case % len(kinds)]
        data = DAMAGES[int(rng.integers(len(DAMAGES)))](Forge(files[kind]), rng)
        image, python = loader.answer(data, int(kind)), answer_of_python(data, kind)
        assert image == python, f"case {case}: image {Reason(image.reason)!r} {image}, Python {python}"
        reasons[Reason(image.reason)] += 1
    return reasons


@pytest.mark.parametrize("bounds", [False, True], ids=["plain", "permission map"])
def test_hostile_files_on_the_image(files: dict[Kind, bytes], bounds: bool) -> None:
    reasons = campaign(ImageLoader(bounds), files, range(10 if bounds else 60), [Kind.TERNARY])
    assert len(reasons) >= (4 if bounds else 12), sorted(reasons)


def test_good_files_on_the_image(files: dict[Kind, bytes]) -> None:
    loader = ImageLoader(False)
    for kind, data in files.items():
        assert loader.answer(data, int(kind)) == Answer(0, 0xFFFFFFFF)


@pytest.mark.long
def test_5000_hostile_files_on_the_image(
    files: dict[Kind, bytes], capsys: pytest.CaptureFixture[str]
) -> None:
    reasons = campaign(ImageLoader(False), files, range(5000), list(Kind))
    with capsys.disabled():
        print(f"\n  {reasons.total():,} files, {reasons[Reason.OK]:,} accepted by both, reasons:")
        print("  " + ", ".join(f"{reason.name} {count}" for reason, count in reasons.most_common()))
    assert set(Reason) - set(reasons) <= {Reason.TABLE_CRC, Reason.MISSING}
