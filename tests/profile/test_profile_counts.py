"""Instruction counts of `emu profile`: exact, the same every time, and both tables add up to the total."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from emu.cli import main
from emu.cpu.engine import Engine
from emu.cpu.options import EngineOptions
from emu.image import load_image
from emu.models.names import family
from emu.profile.chip import estimate
from emu.profile.flame import svg
from emu.profile.measure import Profile, measure
from emu.profile.samples import Sampler
from emu.profile.sites import Code
from emu.profile.subjects import Subject, kernel, ternary
from emu.profile.tracer import TAPS, Tracer
from emu.verify.errors import UsageProblem
from emu.verify.reference import reference_elf

IMAGE = load_image(reference_elf())


@pytest.fixture(scope="module")
def profile() -> Profile:
    return measure(ternary(IMAGE, "random:1"), 100)


def test_sums(profile: Profile) -> None:
    assert profile.instructions > 1_000_000
    assert sum(profile.stages.values()) == profile.instructions
    assert sum(own for own, _ in profile.functions.values()) == profile.instructions
    assert profile.parts.total() == profile.instructions
    assert profile.root.total == profile.instructions
    assert sum(profile.families().values()) == profile.instructions


def test_every_stage_has_its_instructions(profile: Profile) -> None:
    missing = [name for name in profile.subject.order if profile.stages[name] <= 0]
    assert not missing
    linears = [profile.stages[f"l{i}.qkv"] for i in range(4)]
    assert max(linears) - min(linears) < min(linears) // 100


def test_the_same_every_time(profile: Profile) -> None:
    again = measure(ternary(IMAGE, "random:1"), 100)
    assert (again.stages, again.functions, again.mix) == (profile.stages, profile.functions, profile.mix)
    assert estimate(again) == estimate(profile)


def test_taps_stand_apart(profile: Profile) -> None:
    """Without taps the same run executes what the table says, and one look at the tap for each stage."""
    subject = ternary(IMAGE, "random:1")
    from emu.models.modelfile.kinds import Kind
    from emu.models.on_image import ImageTernary
    from emu.models.sources import load_model

    model = ImageTernary(load_model("random:1", Kind.TERNARY), IMAGE)
    model.run(b"12+34", digests=False)
    more = profile.instructions - profile.taps - model.outcome.instructions
    assert 0 <= more <= 40 * (len(subject.order) + estimate(profile).handovers)
    assert profile.stages[TAPS] == profile.taps > 100_000


def test_counts_of_the_stepper_are_the_same() -> None:
    """The tracer on the reference stepper and on translated code: the same numbers."""

    def traced(tier: str) -> tuple[dict[str, tuple[int, int]], int]:
        engine = Engine(IMAGE, EngineOptions(tier=tier))  # type: ignore[arg-type]
        with Tracer(engine, Code(IMAGE)) as tracer:
            words = [engine.arena.start, engine.arena.start + 4096, 20]
            engine.memory.write(engine.arena.start, bytes(range(80)))
            executed = engine.call("exp_array", words).instructions
        assert sum(own for own, _ in tracer.functions().values()) == executed
        return tracer.functions(), executed

    assert traced("stepper") == traced("translator")


def test_calls_are_counted_where_functions_call_each_other() -> None:
    """gemm_s8 calls dot_rows_s8 once for every output."""
    found = measure(kernel(IMAGE, "gemm_s8", {"rows": 3, "outs": 7, "cols": 40}), 50)
    assert found.functions["dot_rows_s8"][1] == 7
    assert found.functions["gemm_s8"][1] == 1
    assert list(found.root.children) == ["gemm_s8"]
    assert list(found.root.children["gemm_s8"].children) == ["dot_rows_s8"]


def test_samples_are_taken_in_proportion() -> None:
    """Shares of functions among the samples are those of the exact counts, within their scatter."""
    subject = ternary(IMAGE, "random:1")
    code = Code(IMAGE)
    with Sampler(subject.engine, code, 100_000) as sampler:
        total = subject.run()
    assert abs(sampler.found.total() - total / 100_000) < total / 100_000 * 0.1
    with Tracer(subject.engine, code) as tracer:
        assert subject.run() == total
    name, (own, _) = next(iter(tracer.functions().items()))
    among = sum(n for pc, n in sampler.found.items() if (f := code.at(pc)) and f.name == name)
    assert abs(among / sampler.found.total() - own / total) < 0.15


def test_a_run_that_differs_is_no_profile() -> None:
    subject = kernel(IMAGE, "exp_array", {"n": 5})
    changing = iter([1, 2])
    odd = Subject("odd", subject.engine, lambda: next(changing))
    with pytest.raises(RuntimeError, match="odd: 1 instructions, then 2"):
        measure(odd, 10)


def test_families() -> None:
    assert family("s12.u.b3.qkv") == "s*.*.b*.qkv"
    assert family("s0.z") == "s*.z"
    assert family("txt.b1.mlp") == "txt.b*.mlp"
    assert family("p63.l5.attn") == "p*.l*.attn"
    assert family("dec.conv9") == "dec.conv9"
    assert family("(taps)") == "(taps)"


def test_two_cores_halve_what_is_shared(profile: Profile) -> None:
    guess = estimate(profile)
    assert guess.shared_cycles / guess.cycles > 0.7
    assert guess.together == pytest.approx(guess.shared_cycles / 240e6 / 2)
    assert guess.handovers == 4 * 5
    assert guess.one_core > guess.seconds > guess.one_core / 2


def test_the_flame_graph_is_one_file(profile: Profile) -> None:
    text = svg(profile.root, "a & b")
    root = ElementTree.fromstring(text)
    tips = [t.text or "" for t in root.iter("{http://www.w3.org/2000/svg}title")]
    assert any(tip.startswith("linear_ternary: ") for tip in tips)
    assert "href" not in text
    boxes = [float(r.get("width", 0)) for r in root.iter("{http://www.w3.org/2000/svg}rect")]
    assert max(boxes) == pytest.approx(1180, abs=0.1)


def test_the_command_writes_a_page(tmp_path: Path) -> None:
    page = tmp_path / "p.html"
    sizes = ["--size", "rows=4", "--size", "cols=32", "--size", "outs=5"]
    done = CliRunner().invoke(main, ["profile", "linear_q8", *sizes, "-o", str(page)])
    assert done.exit_code == 0, done.output
    assert "linear_row_q8" in done.output
    text = page.read_text()
    assert "<svg" in text
    assert "http" not in text.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nosuch"], "neither a model nor a kernel"),
        (["linear_q8", "--size", "depth=3"], "linear_q8 has no size depth"),
        (["linear_q8", "--size", "rows"], "write NAME=NUMBER"),
        (["t2i", "--size", "rows=3"], "belongs to kernels"),
        (["t2i", "-o", "x.txt"], "*.svg"),
    ],
)
def test_wrong_use(words: list[str], message: str) -> None:
    done = CliRunner().invoke(main, ["profile", *words])
    assert done.exit_code == 2
    assert message in done.output


def test_kernels_need_a_known_name() -> None:
    with pytest.raises(UsageProblem):
        kernel(IMAGE, "t2j", {})
