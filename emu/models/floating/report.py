"""How far the quantized model is from the float one: stage by stage, and as one number that people know."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from emu.models.floating.numbers import softmax
from emu.models.floating.t2i import FloatT2i
from emu.models.floating.ternary import FloatTernary
from emu.models.floating.tinylm import FloatTinylm
from emu.models.modelfile.reader import ModelFile
from emu.models.stages import Recorder
from emu.models.t2i.mirror import Request, T2iMirror
from emu.models.ternary.mirror import TernaryMirror
from emu.models.tinylm.mirror import TinylmMirror
from emu.numerics.types import AnyArray

Float = type[np.floating[Any]]


@dataclass(frozen=True)
class StageNoise:
    """One stage: signal to noise in dB (None: nothing to compare), and the element that is farthest off."""

    stage: str
    snr: float | None
    index: tuple[int, ...]
    expected: float
    found: float


@dataclass
class FloatReport:
    """All stages in order, and summary lines for people."""

    stages: list[StageNoise] = field(default_factory=list)
    summary: dict[str, float] = field(default_factory=dict)


def noise(stage: str, expected: AnyArray, found: AnyArray) -> StageNoise:
    """Compare two tensors of a stage as numbers."""
    a, b = expected.astype(np.float64).reshape(-1), found.astype(np.float64).reshape(-1)
    if not a.size:
        return StageNoise(stage, None, (), 0.0, 0.0)
    error = np.abs(a - b)
    worst = int(error.argmax())
    power, lost = float(a @ a), float(error @ error)
    snr = None if power == 0 else float("inf") if lost == 0 else 10 * float(np.log10(power / lost))
    index = tuple(int(i) for i in np.unravel_index(worst, expected.shape))
    return StageNoise(stage, snr, index, float(a[worst]), float(b[worst]))


def _compare(reference: Recorder, mirror: Recorder, scales: dict[str, float]) -> list[StageNoise]:
    return [
        noise(name, expected, mirror.stages[name] * np.float64(scales.get(name, 1.0)))
        for name, expected in reference.stages.items()
    ]


def compare_t2i(file: ModelFile, request: Request, dtype: Float) -> FloatReport:
    """A picture: noise of every stage, mean difference in grey levels."""
    reference, mirror = Recorder(("*",)), Recorder(("*",))
    wanted = FloatT2i(file, dtype).run(request, reference)
    found = T2iMirror(file).run(request, mirror)
    s_in = file.array("dec.s_in").tolist()
    scales = {"dec.in": s_in[0], **{f"dec.conv{k}": s_in[k + 1] for k in range(9)}}
    report = FloatReport(_compare(reference, mirror, scales))
    error = np.abs(np.rint(wanted) - found.astype(np.float64))
    report.summary["mean grey difference"] = float(error.mean())
    report.summary["largest grey difference"] = float(error.max())
    return report


def compare_ternary(file: ModelFile, texts: Sequence[bytes], dtype: Float) -> FloatReport:
    """Texts: noise of the first one's stages, share of texts with the same answer."""
    reference, mirror = Recorder(("*",)), Recorder(("*",))
    exact, quantized = FloatTernary(file, dtype), TernaryMirror(file)
    agreed = 0
    for i, text in enumerate(texts):
        taps = (reference, mirror) if i == 0 else (Recorder(()), Recorder(()))
        agreed += int(exact.run(text, taps[0]).argmax()) == int(quantized.run(text, taps[1]).argmax())
    return FloatReport(_compare(reference, mirror, {}), {"agreement": agreed / len(texts)})


def compare_tinylm(file: ModelFile, tokens: Sequence[int], dtype: Float) -> FloatReport:
    """A token sequence: noise of every stage, perplexity on both sides, share of equal next tokens."""
    reference, mirror = Recorder(("*",)), Recorder(("*",))
    exact, quantized = FloatTinylm(file, dtype), TinylmMirror(file)
    losses, agreed = np.zeros(2), 0
    for token, following in pairwise(tokens):
        logits = exact.step(token, reference), quantized.step(token, mirror).astype(np.float64)
        losses -= [np.log(max(float(softmax(x)[following]), 1e-300)) for x in logits]
        agreed += int(logits[0].argmax()) == int(logits[1].argmax())
    steps = max(len(tokens) - 1, 1)
    exact_ppl, quantized_ppl = np.exp(losses / steps)
    summary = {"perplexity, float": float(exact_ppl), "perplexity, quantized": float(quantized_ppl)}
    return FloatReport(_compare(reference, mirror, {}), {**summary, "agreement": agreed / steps})
