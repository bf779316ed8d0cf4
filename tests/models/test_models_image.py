"""The three models of the reference image, instruction by instruction, against the mirrors: every stage."""

from __future__ import annotations

import io
import json

import numpy as np
import pytest
from rich.console import Console

from emu.cpu.options import EngineOptions
from emu.image import load_image
from emu.models.errors import ModelFileError, NotFiniteError, PromptError
from emu.models.guest import ARENA_BYTES
from emu.models.modelfile.kinds import Kind
from emu.models.modelfile.reader import ModelFile
from emu.models.modelfile.reasons import Reason
from emu.models.names import t2i_stages
from emu.models.on_image import ImageT2i, ImageTernary, ImageTinylm
from emu.models.stages import Digests, Recorder, stage_digest
from emu.models.t2i.mirror import Request, T2iMirror
from emu.models.ternary.mirror import TernaryMirror
from emu.models.tinylm.mirror import TinylmMirror
from emu.terminal import Terminal
from emu.verify import models as verify
from emu.verify.bundled_models import ModelsRequest, verify_models
from emu.verify.bundled_report import explain
from emu.verify.models import Effort, Report, first_difference, make_pair
from emu.verify.reference import reference_elf
from emu.verify.verdict import Verdict
from tests.models.files import changed, extreme_file, random_bytes, random_file

IMAGE = load_image(reference_elf())
OPTIONS = EngineOptions()
WORDS = np.array([22, 5, 1, 22, 19], np.int32)


def request(**change):
    return Request(**{"tokens": WORDS, "seed": 7, "steps": 1, "cfg": np.float32(3), **change})


def small(kind, **change):
    return Effort(
        **{"seeds": (1,), "samples": 6, "tokens": 6, "prompts": 1, "steps": 1, "kinds": (kind,), **change}
    )


@pytest.mark.parametrize(
    ("kind", "runs", "stages"), [(Kind.T2I, 3, 312), (Kind.TERNARY, 6, 162), (Kind.TINYLM, 1, 198)]
)
def test_every_stage_is_equal(kind, runs, stages, tmp_path):
    """Random and extreme weights; the report counts what was compared."""
    out, path = io.StringIO(), tmp_path / "report.json"
    console = Console(file=out, width=120)
    request = ModelsRequest(effort=small(kind), json_file=path)
    assert verify_models(request, reference_elf(), terminal=Terminal(console, console)) == 0
    assert f"2 models, {2 * runs} runs, {2 * stages} stages compared: all equal" in out.getvalue()
    found = json.loads(path.read_text())
    assert [m["weights"] for m in found["models"]] == ["random:1", "extreme:1"]
    assert all((m["runs"], m["stages"], m["verdict"]) == (runs, stages, "equal") for m in found["models"])


@pytest.mark.long
def test_every_stage_of_everything():
    console = Console(file=io.StringIO())
    assert verify_models(ModelsRequest(), reference_elf(), terminal=Terminal(console, console)) == 0


def test_a_whole_picture_fits_internal_ram():
    """8 steps, 692 stages, at most 288 KB of internal RAM."""
    image, digests = ImageT2i(random_file(Kind.T2I), IMAGE), Digests()
    picture = image.run(request(steps=8))
    assert np.array_equal(T2iMirror(random_file(Kind.T2I)).run(request(steps=8), digests), picture)
    assert image.outcome.digests == digests.values
    assert len(digests.values) == 692
    assert 200_000 < image.outcome.arena_high <= ARENA_BYTES == 288 * 1024
    assert image.outcome.slow_high == 2 * 131_072


def test_tensors_from_the_image_have_the_digests_of_the_image():
    image, recorder = ImageT2i(extreme_file(Kind.T2I), IMAGE), Recorder(("*",))
    image.run(request(), recorder)
    assert set(recorder.stages) == set(t2i_stages(1))
    for name, values in recorder.stages.items():
        assert stage_digest(values) == image.outcome.digests[name], name


def test_the_firmware_splits_prompts_as_the_tool_does():
    image = ImageT2i(random_file(Kind.T2I), IMAGE)
    mirror = T2iMirror(random_file(Kind.T2I))
    for prompt in ("Улыбающаяся ДЕВУШКА в шляпе, с чёлкой", "robot", "с усами \N{SNOWMAN}в очках"):  # noqa: RUF001
        image.run(request(), prompt=prompt)
        digest = stage_digest(mirror.tokens(prompt))
        assert image.outcome.digests["tok"] == digest


def test_tinylm_on_the_image_chooses_and_splits():
    image, mirror = ImageTinylm(random_file(Kind.TINYLM), IMAGE), TinylmMirror(random_file(Kind.TINYLM), 5)
    image.start(5, 8)
    assert image.tokenize(b"Hello AAworld").tolist() == mirror.tokenizer.encode(b"Hello AAworld").tolist()
    for token in (7, 260):
        logits = mirror.step(token)
        assert np.array_equal(image.step(token), logits)
        for temperature in (0.0, 1.0, 0.7):
            assert image.choose(logits, temperature) == mirror.choose(logits, temperature)


def test_requests_that_the_firmware_refuses():
    image = ImageTinylm(random_file(Kind.TINYLM), IMAGE)
    image.start()
    with pytest.raises(PromptError, match="status 1"):
        image.step(4096)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("txt.b1.qkv.w.scale", 1e38),
        ("time.fc1.w.scale", 3e38),
        ("b1.fc1.w.scale", 3e38),
        ("b2.qkv.w.scale", 1e38),
        ("b0.proj.w.scale", 3e38),
        ("mod.w.scale", 3e38),
        ("patch.b", 3.4e38),
    ],
)
def test_numbers_that_overflow_stop_both_at_the_same_place(name, value):
    file = changed(Kind.T2I, name, np.float32(value))
    found = []
    for target in (T2iMirror(file), ImageT2i(file, IMAGE)):
        with pytest.raises(NotFiniteError) as caught:
            target.run(request())
        found.append((caught.value.stage, caught.value.row))
    assert found[0] == found[1]


def test_ternary_numbers_that_overflow():
    for name in ("l1.norm1", "l2.norm2", "emb", "l0.fc1.w.scale"):
        file, found = changed(Kind.TERNARY, name, np.float32(3e38)), []
        for target in (TernaryMirror(file), ImageTernary(file, IMAGE)):
            try:
                found.append(stage_digest(target.run(b"1+2")))
            except NotFiniteError as error:
                found.append((error.stage, error.row))
        assert found[0] == found[1], name


def test_a_damaged_file_is_refused_by_the_firmware():
    image = ImageTernary(random_file(Kind.TERNARY), IMAGE)
    image.engine.memory.write(image._model, b"X")
    with pytest.raises(ModelFileError) as caught:
        image.run(b"1")
    assert caught.value.reason is Reason.MAGIC


PLANTED = {
    "b3.proj.w.scale": "s0.c.b3.proj",
    "final.mod.b": "s0.c.final.mod",
    "b5.fc2.b": "s0.c.b5.mlp",
    "dec.conv4.b": "dec.conv4",
    "txt.null": "ctext",
}


@pytest.mark.parametrize("name", PLANTED)
def test_the_first_differing_stage_is_named(name, monkeypatch):
    """The image gets another weight than the mirror: the stage that reads it is reported, with an element."""
    pair = make_pair(random_file(Kind.T2I), IMAGE, OPTIONS)
    value = random_file(Kind.T2I).array(name).copy()
    value.reshape(-1)[0] += np.float32(1)
    pair._image = ImageT2i(changed(Kind.T2I, name, value.reshape(-1)), IMAGE)
    monkeypatch.setattr(verify, "make_pair", lambda *arguments: pair)
    report = verify.compare_model(
        Kind.T2I, random_bytes(Kind.T2I), "random:1", IMAGE, OPTIONS, small(Kind.T2I)
    )
    assert (report.verdict, report.first, report.runs) == (Verdict.MISMATCH, PLANTED[name], 1)
    text = explain(report)
    assert f"first differing stage: {PLANTED[name]}" in text
    assert "mirror 0x" in text
    assert report.detail is not None


def test_stages_that_one_side_lacks_are_differences():
    names = t2i_stages(1)
    whole = {name: i for i, name in enumerate(names)}
    lacking = {n: d for n, d in whole.items() if n != "s0.u.b2.attn"}
    sides = verify.Sides(whole, lacking, None, None, 0, 0)
    assert first_difference(sides, names) == ("s0.u.b2.attn", 1)
    sides = verify.Sides(whole, lacking, ("x", 1), ("x", 1), 0, 0)
    assert first_difference(sides, names) == ("", 0)


def test_explain_without_a_tensor():
    report = Report(Kind.TINYLM, "random:1", verdict=Verdict.BOARD_FAULT, run="prompt 0", message="trap")
    assert explain(report).splitlines() == ["tinylm random:1, prompt 0: board fault", "  trap"]


def test_options_reach_the_engine():
    image = ImageT2i(ModelFile(random_bytes(Kind.T2I)), IMAGE, EngineOptions(fused="two-roundings"))
    assert image.engine.options.fused == "two-roundings"
