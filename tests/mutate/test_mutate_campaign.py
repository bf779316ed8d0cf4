"""Campaigns on the real firmware, a few mutants each: judged, located, kept, continued; known equivalents."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from emu.cli import main
from emu.image import load_image
from emu.kernels import load_all
from emu.ledger import queries
from emu.ledger.database import connect
from emu.mutate import c_rules, code, sampling
from emu.mutate.builder import Base, Builder, build_base
from emu.mutate.campaign import Campaign
from emu.mutate.judge import Judge, Settings
from emu.mutate.mutant import GENERATORS, Mutant
from emu.mutate.result import Result, ResultFile, Status, reasons
from emu.toolchain import Toolchain
from emu.toolchain.build import firmware_folder
from emu.verify.errors import UsageProblem
from emu.verify.reference import reference_elf

KERNELS = load_all()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mutate")


@pytest.fixture(scope="module")
def base(toolchain: Toolchain, folder: Path) -> Base:
    return build_base(toolchain, firmware_folder(), folder / "base")


@pytest.fixture(scope="module")
def judge(base: Base, folder: Path) -> Judge:
    settings = Settings(folder, examples=100, long_examples=200, shrink_seconds=2.0)
    return Judge(base, settings, KERNELS, folder / "judge")


def mutant_in(base: Base, file: str, rule: str, what: str) -> Mutant:
    found = [m for m in c_rules.mutants(file, (base.sources / file).read_bytes()) if m.rule == rule]
    return next(m for m in found if what in m.what)


def edit(base: Base, file: str, old: str, new: str) -> Mutant:
    """A mutant written by hand: one place of a source file replaced."""
    source = (base.sources / file).read_text()
    start = source.index(old)
    line = source.count("\n", 0, start) + 1
    last = line + old.count("\n")
    new += "\n" * (old.count("\n") - new.count("\n"))
    return Mutant("c", "clamp", file, "", line, last, start, start + len(old), new, f"{old} -> {new}")


def test_the_base_has_the_code_of_the_reference_image(base: Base):
    ours, golden = (code.functions(load_image(path)) for path in (base.elf, reference_elf()))
    assert code.changed(ours, golden) == set()


def test_a_second_base_is_not_built_again(base: Base, folder: Path):
    before = base.elf.stat().st_mtime_ns
    again = build_base(base.toolchain, base.sources, folder / "base")
    assert again.users == base.users
    assert again.elf.stat().st_mtime_ns == before


def test_only_users_of_the_changed_file_are_compiled(base: Base, folder: Path):
    builder = Builder(base, folder / "builder")
    mutant = mutant_in(base, "numerics/exp.h", "constant", "0x3FB8AA3Bu")
    units = builder.units_of(mutant)
    assert "numerics/exp.c" in units
    assert "kernels/dot_s8_c.c" not in units
    assert not any(unit.startswith("models/") for unit in units)
    after = code.functions(load_image(builder.build(mutant)))
    changed = code.changed(code.functions(load_image(base.elf)), after)
    assert "exp_array" in changed
    assert "dot_rows_s8" not in changed


@pytest.mark.parametrize(
    ("file", "rule", "what", "kernel"),
    [
        ("numerics/exp.h", "constant", "0x3E780627u", "exp_array"),
        ("kernels/dot_s8_c.c", "bounds", "c++ -> c += 2", "dot_rows_s8_c"),
        ("kernels/positions.c", "index", "vu[i] -> vu[(i) + 1]", "flow_step"),
    ],
)
def test_a_fault_is_killed_shrunk_and_located(base: Base, judge: Judge, file, rule, what, kernel):
    mutant = mutant_in(base, file, rule, what)
    result = judge.judge(mutant)
    assert result.status is Status.KILLED, result
    assert kernel in result.kernels
    assert result.kernel in result.kernels
    assert result.right_kernel
    assert result.right_place, (mutant, result.good, result.bad)
    assert result.weight <= 16


def test_an_endless_loop_is_a_hang(base: Base, judge: Judge):
    result = judge.judge(edit(base, "numerics/arith.c", "i++", "i += 0"))
    assert (result.status, result.how) == (Status.KILLED, "hang")
    assert result.seconds < 60


def test_what_is_no_program_is_not_counted(base: Base, judge: Judge):
    result = judge.judge(edit(base, "numerics/arith.c", "y[i]", "y[i]]"))
    assert result.status is Status.UNBUILT
    assert "error" in result.reason


def test_the_same_code_is_equivalent(base: Base, judge: Judge):
    result = judge.judge(edit(base, "numerics/arith.c", "i++", "++i"))
    assert (result.status, result.reason) == (Status.EQUIVALENT, "the same code")


CLAMPED = (
    "for (int32_t i = 0; i < {n}; i++) {{ float t = x[i] * ({factor}); "
    "q[i] = (int8_t)rne(t > -128.0f ? (t < 127.0f ? t : 127.0f) : -128.0f); }}"
)


@pytest.mark.parametrize(
    ("old", "new", "kernel"),
    [
        (
            "quantize_scaled(x, 127.0f / a, q, cols);",
            CLAMPED.format(n="cols", factor="127.0f / a"),
            "quantize_row_s8",
        ),
        ("quantize_scaled(x, factor, q, n);", CLAMPED.format(n="n", factor="factor"), "quantize_ternary_s8"),
    ],
)
def test_a_clamp_that_cannot_act_is_never_shown(base: Base, judge: Judge, old, new, kernel):
    """|x * (127 / max|x|)| rounds to at most 127: a clamp to -128 is another program, the same function."""
    survivor = judge.judge(edit(base, "numerics/quantize.c", old, new))
    assert survivor.status is Status.SURVIVED
    assert kernel in survivor.kernels
    looked = judge.look_longer(survivor)
    assert looked.status is Status.SURVIVED  # examples alone judge nothing; but none of them differs
    assert looked.reason.startswith("nobody knows why; no difference in examples: 200 of ")


def test_a_long_look_finds_what_few_examples_do_not(base: Base, judge: Judge, folder: Path):
    mutant = mutant_in(base, "numerics/exp.h", "constant", "0x3E780627u")
    hasty = Judge(base, replace(judge._settings, examples=1, long_examples=200), KERNELS, folder / "hasty")
    survivor = Result(mutant, Status.SURVIVED, kernels=["exp_array"])
    looked = hasty.look_longer(survivor)
    assert looked.status is Status.SURVIVED
    assert looked.reason.startswith("shown by example ")


def test_a_sample_is_the_start_of_a_larger_one(base: Base):
    some = sampling.sample(base, ["relu_in_place", "dot_rows_s8"], GENERATORS, 9, 3)
    more = sampling.sample(base, ["relu_in_place", "dot_rows_s8"], GENERATORS, 30, 3)
    assert more[:9] == some
    assert {m.generator for m in some} == set(GENERATORS)
    assert sampling.sample(base, ["relu_in_place", "dot_rows_s8"], GENERATORS, 9, 4) != some


def test_command_goes_on_and_writes_its_page(tmp_path: Path, folder: Path, base: Base, monkeypatch):
    """A small campaign over all generators, interrupted by time, continued, and told as a page."""
    monkeypatch.setenv("EMU_CACHE_DIR", str(folder / "cache"))
    page = tmp_path / "page.md"
    words = [
        "mutate",
        "--sample",
        "9",
        "--seed",
        "1",
        "--kernel",
        "relu_in_place",
        "--kernel",
        "fmix32_array",
    ]
    words += ["--long-examples", "0", "--jobs", "2", "--folder", str(folder), "--page", str(page)]
    first = CliRunner().invoke(main, [*words, "--seconds", "0"])
    assert "0 faults" in first.output
    assert "Not complete: 0 of 9 mutants" in page.read_text()
    monkeypatch.setenv("EMU_LEDGER", str(tmp_path / "ledger.sqlite"))
    second = CliRunner().invoke(main, words)
    results = ResultFile(folder / "results.jsonl", _head(folder)).load()
    assert len(results) == 9, second.output
    survivors = [r for r in results.values() if r.status is Status.SURVIVED]
    assert second.exit_code == (1 if survivors else 0)
    killed = [r for r in results.values() if r.status is Status.KILLED]
    assert len(killed) >= 5
    assert all(r.right_kernel and set(r.kernels) <= set(KERNELS) for r in killed)
    kept = ledger(tmp_path / "ledger.sqlite")
    assert {name: verdict for name, (verdict, _) in kept.items()} == {
        **{ident: str(result.status) for ident, result in results.items()},
        "mutants": "measured",
    }
    assert kept["mutants"][1]["killed"] == len(killed)
    third = CliRunner().invoke(main, [*words, "-q", "--json", "-"])
    assert "/9 " not in third.output
    document = json.loads(third.output)
    assert {record["id"] for record in document["mutants"]} == set(results)
    assert document["score"]["killed"] == len(killed)
    assert list(ledger(tmp_path / "ledger.sqlite")) == ["mutants"]  # nothing was judged again
    text = page.read_text()
    assert text.startswith("# Fault-finding score")
    assert "| binary |" in text
    assert "emu mutate --sample 9 --seed 1 --long-examples 0 --kernel relu_in_place" in text


def ledger(path: Path) -> dict[str, tuple[str, dict[str, float]]]:
    """The last run: verdict and medians of its figures by name."""
    with closing(connect(path)) as connection:
        run = queries.runs(connection, 1)[0]
        assert (run["kind"], run["state"]) == ("mutate", "finished")
        figures = queries.figures_of(connection, run["id"])
        return {
            r["name"]: (r["verdict"], {f: v["median"] for f, v in figures.get(r["name"], {}).items()})
            for r in queries.results_of(connection, run["id"])
        }


def _head(folder: Path) -> str:
    return json.loads((folder / "results.jsonl").read_text().splitlines()[0])["firmware"]


def test_a_result_of_other_examples_is_judged_again(base: Base, folder: Path, tmp_path: Path, monkeypatch):
    """A strategy that draws something else takes the ground from under what the old examples showed."""
    monkeypatch.setenv("EMU_CACHE_DIR", str(folder / "cache"))
    mutant = mutant_in(base, "kernels/choose.c", "constant", "i = 1 -> i = 0")
    file = ResultFile(tmp_path / "results.jsonl", "firmware")
    settings = Settings(folder, examples=20, long_examples=0)

    def judged() -> list[str]:
        news: list[str] = []

        def listen(done: int, wanted: int, result: Result | None) -> None:
            news.extend([] if result is None else [result.mutant.ident])

        Campaign(base, KERNELS, settings, file, 1, listen=listen).run([mutant])
        return news

    assert judged() == [mutant.ident]
    assert judged() == []
    old = file.load()[mutant.ident]
    assert set(old.drawn) == set(old.kernels)
    file.add(replace(old, drawn={**old.drawn, old.kernels[0]: "other"}, looked_at={old.kernels[0]: 500}))
    assert judged() == [mutant.ident]
    assert replace(file.load()[mutant.ident], build_seconds=old.build_seconds) == old, "no look stays"


def test_only_names_mutants_of_the_sample(folder: Path, base: Base):
    words = ["mutate", "--sample", "9", "--seed", "1", "--kernel", "fmix32_array", "--folder", str(folder)]
    listed = CliRunner().invoke(main, [*words, "--list"]).output.splitlines()
    name = listed[3].split()[0]
    assert CliRunner().invoke(main, [*words, "--list", "--only", name]).output == listed[3] + "\n"
    wrong = CliRunner().invoke(main, [*words, "--list", "--only", "c-0000000000"])
    assert wrong.exit_code == 2
    assert "the sample has no such mutant" in wrong.output


def test_results_of_another_firmware_are_refused(tmp_path: Path):
    mutant = Mutant("c", "index", "a.c", "f", 1, 1, 0, 1, "x", "a -> x")
    ResultFile(tmp_path / "r.jsonl", "one").add(Result(mutant, Status.KILLED))
    assert ResultFile(tmp_path / "r.jsonl", "one").load() == {mutant.ident: Result(mutant, Status.KILLED)}
    with pytest.raises(UsageProblem, match="another firmware"):
        ResultFile(tmp_path / "r.jsonl", "two").load()
    (tmp_path / "bad.jsonl").write_text('{"format": 1}\n{"id": "x"}\n')
    with pytest.raises(UsageProblem, match="not a file of mutants' results"):
        ResultFile(tmp_path / "bad.jsonl", "one").load()


def test_a_written_reason_and_a_look_make_an_equivalent(base: Base, folder: Path):
    """The reason alone judges nothing: a difference outweighs it."""
    mutant = mutant_in(base, "kernels/choose.c", "constant", "i = 1 -> i = 0")
    assert mutant.ident in reasons()
    settings = Settings(folder, examples=20, long_examples=60)
    looked = Judge(base, settings, KERNELS, folder / "reason").look_longer(
        Result(mutant, Status.SURVIVED, kernels=["argmax_f32"])
    )
    assert looked.status is Status.EQUIVALENT
    assert looked.reason.startswith(reasons()[mutant.ident])
    without = replace(mutant, what="another")
    looked = Judge(base, settings, KERNELS, folder / "reason").look_longer(
        Result(without, Status.SURVIVED, kernels=["argmax_f32"])
    )
    assert looked.status is Status.SURVIVED
