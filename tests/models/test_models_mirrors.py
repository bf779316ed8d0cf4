"""The mirrors: stages in order, the same with and without taps, and near what floats say."""

from __future__ import annotations

import numpy as np
import pytest

from emu.models.errors import NotFiniteError, PromptError
from emu.models.floating.report import compare_t2i, compare_ternary, compare_tinylm, noise
from emu.models.modelfile.kinds import Kind
from emu.models.names import chooser, t2i_stages, ternary_stages, tinylm_stages
from emu.models.stages import Digests, Recorder, chain, stage_digest
from emu.models.t2i.mirror import Request, T2iMirror
from emu.models.t2i.shapes import stage_shape
from emu.models.ternary.mirror import TernaryMirror
from emu.models.tinylm.mirror import TinylmMirror
from tests.models.files import changed, random_file

WORDS = np.array([22, 5, 1, 22, 19], np.int32)


def request(**change):
    return Request(**{"tokens": WORDS, "seed": 7, "steps": 2, "cfg": np.float32(3), **change})


@pytest.fixture(scope="module")
def picture():
    """(picture, all stages, digests) of two steps."""
    recorder, digests = Recorder(("*",)), Digests()
    return (
        T2iMirror(random_file(Kind.T2I)).run(request(), chain(recorder, digests)),
        recorder.stages,
        digests.values,
    )


def test_stages_of_a_picture(picture):
    rgb, stages, digests = picture
    assert list(stages) == list(digests) == t2i_stages(2)
    for name, values in stages.items():
        assert values.shape == stage_shape(name, values.size), name
        assert stage_digest(values) == digests[name]
    assert np.array_equal(stages["rgb"], rgb)
    assert stages["tok"].tolist() == WORDS.tolist()
    assert {v.dtype.name for n, v in stages.items() if n.startswith("dec.conv")} == {"int8", "float32"}


def test_taps_and_threads_change_nothing(picture):
    for threads in (1, 2):
        mirror = T2iMirror(random_file(Kind.T2I), threads)
        for _ in range(2):
            assert np.array_equal(mirror.run(request()), picture[0])


def test_progress_counts_steps():
    steps: list[int] = []
    T2iMirror(random_file(Kind.T2I)).run(request(steps=3), None, steps.append)
    assert steps == [1, 2, 3]


def test_everything_that_is_asked_for_matters(picture):
    mirror = T2iMirror(random_file(Kind.T2I))
    others = [{"seed": 8}, {"steps": 3}, {"cfg": np.float32(2)}, {"tokens": WORDS[::-1].copy()}]
    for change in others:
        assert not np.array_equal(mirror.run(request(**change)), picture[0])


def test_the_null_prompt():
    recorder = Recorder(("*",))
    T2iMirror(random_file(Kind.T2I)).run(request(tokens=WORDS[:0], steps=1), recorder)
    assert recorder.stages["txt.b1.mlp"].shape == (0, 96)
    assert np.array_equal(*recorder.stages["ctext"])
    assert np.array_equal(recorder.stages["s0.c.v"], recorder.stages["s0.u.v"])


@pytest.mark.parametrize(
    "change",
    [
        {"steps": 0},
        {"steps": 65},
        {"seed": -1},
        {"seed": 1 << 32},
        {"cfg": np.float32(np.nan)},
        {"tokens": np.array([45])},
        {"tokens": np.zeros(17, np.int32)},
    ],
    ids=str,
)
def test_requests_that_make_no_sense(change):
    with pytest.raises(PromptError):
        request(**change)


NOT_FINITE = [
    ("txt.b1.qkv.w.scale", 1e38, "txt.b1.attn"),
    ("time.fc1.w.scale", 3e38, "s0.temb"),
    ("b1.fc1.w.scale", 3e38, "s0.c.b1.mlp"),
    ("b2.qkv.w.scale", 1e38, "s0.c.b2.qkv"),
    ("b0.proj.w.scale", 3e38, "s0.c.b0.ln2"),
]


@pytest.mark.parametrize(("name", "value", "stage"), NOT_FINITE)
def test_numbers_that_overflow_are_named(name, value, stage):
    with pytest.raises(NotFiniteError) as caught:
        T2iMirror(changed(Kind.T2I, name, np.float32(value))).run(request(steps=1))
    assert (caught.value.stage, caught.value.row) == (stage, 0)


def test_ternary():
    mirror, recorder, digests = TernaryMirror(random_file(Kind.TERNARY)), Recorder(("*",)), Digests()
    logits = mirror.run(b"12+34", chain(recorder, digests))
    assert list(digests.values) == ternary_stages()
    assert np.array_equal(logits, recorder.stages["logits"])
    assert np.array_equal(mirror.run(b"12+34"), logits)
    assert not np.array_equal(mirror.run(b"12+35"), logits)
    assert np.array_equal(mirror.run(b"x" * 32 + b"yz"), mirror.run(b"x" * 32))
    with pytest.raises(NotFiniteError, match=r"l1\.norm1"):
        TernaryMirror(changed(Kind.TERNARY, "l1.norm1", np.float32(3e38))).run(b"1")


def test_tinylm():
    mirror, digests = TinylmMirror(random_file(Kind.TINYLM)), Digests()
    first = [mirror.step(t, digests).copy() for t in (5, 300, 5)]
    assert list(digests.values) == tinylm_stages(range(3))
    assert not np.array_equal(first[0], first[2])
    mirror.start()
    assert all(np.array_equal(mirror.step(t), x) for t, x in zip((5, 300, 5), first, strict=True))
    with pytest.raises(PromptError, match="token 4096"):
        mirror.step(4096)


def test_the_context_ends():
    mirror = TinylmMirror(random_file(Kind.TINYLM))
    for _ in range(256):
        mirror.step(1)
    with pytest.raises(PromptError, match="256 tokens is full"):
        mirror.step(1)


def test_the_sampler_follows_its_seed():
    mirror = TinylmMirror(random_file(Kind.TINYLM), 9)
    logits = mirror.step(1).copy()
    drawn = [mirror.choose(logits, 1.0) for _ in range(8)]
    mirror.start(9)
    assert [mirror.choose(logits, 1.0) for _ in range(8)] == drawn
    assert len(set(drawn)) > 1
    assert mirror.choose(logits) == int(logits.argmax())


def test_quantization_is_near_float():
    """Every stage within a few per cent of ordinary floating point: no wrong stride or scale hides there."""
    report = compare_t2i(random_file(Kind.T2I), request(), np.float64)
    assert [s.stage for s in report.stages] == t2i_stages(2)
    for stage in report.stages:
        least = 20 if stage.stage.startswith(("dec.", "rgb")) else 28
        assert stage.snr is None or stage.snr > least, stage
    assert report.summary["mean grey difference"] < 6
    report = compare_ternary(random_file(Kind.TERNARY), [b"1+2", b"200+55", b"abc"], np.float32)
    assert all(s.snr is not None and s.snr > 30 for s in report.stages)
    report = compare_tinylm(random_file(Kind.TINYLM), [1, 2, 3000, 4, 5], np.float64)
    assert all(s.snr is not None and s.snr > 25 for s in report.stages)
    ratio = report.summary["perplexity, quantized"] / report.summary["perplexity, float"]
    assert 0.8 < ratio < 1.25


def test_noise_by_hand():
    found = noise("x", np.array([[3.0, 4.0]]), np.array([[3.0, 4.5]]))
    assert (found.index, found.expected, found.found) == ((0, 1), 4.0, 4.5)
    assert found.snr == pytest.approx(20.0)
    assert noise("x", np.ones(2), np.ones(2)).snr == float("inf")
    assert noise("x", np.zeros(0), np.zeros(0)).snr is None


def test_patterns():
    wanted = chooser(["s0.c.b3.*", "rgb"], t2i_stages(1))
    assert sum(map(wanted, t2i_stages(1))) == 7
    with pytest.raises(PromptError, match=r"no stage is called 's9\.\*'"):
        chooser(["s9.*"], t2i_stages(1))
