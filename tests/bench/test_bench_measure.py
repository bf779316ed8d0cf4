"""Rounds, medians, ratios, reports and the page."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from emu.bench.measure import Values, enough_repeats, geometric_mean, interleaved
from emu.bench.page import HEAD, machine, update
from emu.bench.report import Absent, Bound, Cell, Report, Table, as_json, markdown
from emu.bench.settings import Settings
from emu.verify.words import number


def test_everyone_once_a_round_in_turns():
    order = []

    def work(name):
        return lambda: order.append(name) or float(len(order))

    found = interleaved({name: work(name) for name in "abc"}, 4)
    assert "".join(order) == "abc" + "bca" + "cab" + "abc"
    assert found["a"].each == (1.0, 6.0, 8.0, 10.0)


def test_values():
    values = Values((4.0, 1.0, 2.0))
    assert (values.median, values.low, values.high, values.spread) == (2.0, 1.0, 4.0, 1.0)
    assert values.over(Values((2.0, 1.0, 8.0))).each == (2.0, 1.0, 0.25)
    assert geometric_mean([2.0, 8.0]) == pytest.approx(4.0)


def test_enough_repeats(monkeypatch):
    clock = iter(range(10**9))
    elapsed = []
    monkeypatch.setattr("time.perf_counter", lambda: sum(elapsed) + 0 * next(clock))
    assert enough_repeats(lambda n: elapsed.append(n * 1e-3), 0.1) == 128
    assert enough_repeats(lambda n: None, 0.1, most=64) == 64


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (1234567.0, "1,230,000"),
        (999.6, "1,000"),
        (45.678, "45.7"),
        (0.01234, "0.0123"),
        (1.0, "1.00"),
    ],
)
def test_three_digits(value, text):
    assert number(value) == text


def report(suite="engine", value=3.0):
    table = Table("Speed", ("a", "b"))
    table.add("crc32", Cell(Values((value, value + 1, value))), Absent("missing"))
    found = Report(suite, f"emu bench {suite}", "About.", [table])
    found.bounds = [Bound("a / b", value, "at least", 5.0), Bound("cost", value, "at most", 5.0, " ms")]
    found.missing = {"qemu": "not installed (apt-get install qemu-user)"}
    return found


def test_a_report_says_everything():
    text = markdown(report())
    assert "| crc32 | 3.00 ±33% | - missing |" in text
    assert "a / b: 3.00, at least 5.00: NOT MET" in text
    assert "cost: 3.00 ms, at most 5.00 ms: met" in text
    assert "qemu: not installed (apt-get" in text
    data = json.loads(json.dumps(as_json(report())))
    assert data["tables"][0]["rows"]["crc32"]["a"]["each"] == [3.0, 4.0, 3.0]
    assert [bound["met"] for bound in data["bounds"]] == [False, True]


def test_a_row_must_fit():
    with pytest.raises(ValueError, match="2 columns"):
        Table("t", ("a", "b")).add("x", Absent(""))


def test_the_page_keeps_other_suites(tmp_path):
    page = tmp_path / "performance.md"
    update(page, [report("verify"), report("engine")])
    update(page, [report("engine", 7.0)])
    text = page.read_text()
    assert text.startswith(HEAD)
    assert text.count("## `emu bench engine`") == text.count("## `emu bench verify`") == 1
    assert text.index("emu bench engine") < text.index("emu bench verify")
    assert "7.00 ±14%" in text
    assert "3.00 ±33%" in text
    assert text.count(f"Measured on: {machine()}.") == 2


def test_the_command_is_the_one_that_was_typed():
    assert Settings().command("engine") == "emu bench engine"
    settings = Settings(rounds=3, kernels=("exp_*", "ln_array"))
    assert settings.command("kernels") == "emu bench kernels --rounds 3 --kernel 'exp_*' --kernel ln_array"


def test_every_section_of_the_page_has_a_command_that_can_be_typed():
    """docs/performance.md: one section for each suite, its heading accepted by the command line."""
    import shlex

    from emu.cli_bench import SUITES, bench

    text = (Path(__file__).resolve().parents[2] / "docs" / "performance.md").read_text()
    assert text.startswith(HEAD)
    commands = re.findall(r"^## `(emu bench .+)`$", text, re.MULTILINE)
    found = [bench.make_context("bench", shlex.split(command)[2:]).params["suite"] for command in commands]
    assert found == [suite for suite in (*SUITES, "models") if suite in found]
    assert found
    assert text.count("Measured on: ") == len(found)
