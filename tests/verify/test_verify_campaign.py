"""Campaigns: verdicts, exit codes, crashes, memory, interruption, and the records of them."""

from __future__ import annotations

import json
import os
import signal
import time
import xml.etree.ElementTree as ET

import pytest
from faulty import KERNELS, PLANTED, runner

from emu.verify.campaign import Campaign
from emu.verify.casefile import load
from emu.verify.errors import TargetFault, ToolError
from emu.verify.memory import Memory
from emu.verify.options import Options
from emu.verify.records import report, write_json, write_junit
from emu.verify.sampled import run_one, run_sampled
from emu.verify.verdict import Verdict, exit_code

ROUND = PLANTED["round half up"][1]


def trap(x, y, n):
    raise TargetFault("load", "a load went astray, at 0x42000000 exp_array+0x12", "exp_array")


def crash(x, y, n):
    os.kill(os.getpid(), signal.SIGKILL)


def campaign(symbols, mirrors, tmp_path, memory=None, **options) -> Campaign:
    options = {"examples": 60, "jobs": 2, "out": tmp_path, **options}
    chosen = [KERNELS[s] for s in symbols]
    return run_sampled(
        chosen,
        Options(target="mirror", **options),
        lambda: runner(mirrors, **options),
        memory or Memory(None),
    )


def verdicts(result):
    return {s: r.verdict for s, r in result.results.items()}


def test_all_equal(tmp_path):
    result = campaign(["exp_array", "ln_array", "dot_rows_s8"], {}, tmp_path)
    assert set(verdicts(result).values()) == {Verdict.EQUAL}
    assert all(r.examples == 60 and r.bad == 0 for r in result.results.values())
    assert exit_code(verdicts(result).values()) == 0
    assert list(tmp_path.iterdir()) == []


def test_each_kind_of_trouble_stays_with_its_kernel(tmp_path):
    mirrors = {"rne_array": ROUND, "exp_array": trap, "ln_array": crash}
    result = campaign(["rne_array", "exp_array", "ln_array", "sqrt_array"], mirrors, tmp_path)
    assert verdicts(result) == {
        "rne_array": Verdict.MISMATCH,
        "exp_array": Verdict.BOARD_FAULT,
        "ln_array": Verdict.TOOL_ERROR,
        "sqrt_array": Verdict.EQUAL,
    }
    assert "SIGKILL" in result.results["ln_array"].error
    assert "examples 0..59 of ln_array" in result.results["ln_array"].error
    assert exit_code(verdicts(result).values()) == 1


@pytest.mark.parametrize(
    ("seen", "code"),
    [
        ([], 0),
        ([Verdict.EQUAL], 0),
        ([Verdict.EQUAL, Verdict.MISMATCH, Verdict.BOARD_FAULT, Verdict.TOOL_ERROR], 1),
        ([Verdict.BOARD_FAULT, Verdict.TOOL_ERROR, Verdict.LINK_FAULT], 4),
        ([Verdict.LINK_FAULT, Verdict.TOOL_ERROR], 3),
        ([Verdict.TOOL_ERROR, Verdict.NOT_RUN], 5),
        ([Verdict.NOT_RUN, Verdict.EQUAL], 130),
    ],
)
def test_exit_codes(seen, code):
    assert exit_code(seen) == code


def test_the_lowest_failing_example_is_reported_whatever_the_order(tmp_path):
    one = campaign(["rne_array"], {"rne_array": ROUND}, tmp_path, examples=2000, jobs=1)
    two = campaign(["rne_array"], {"rne_array": ROUND}, tmp_path, examples=2000, jobs=2)
    a, b = one.results["rne_array"].failure, two.results["rne_array"].failure
    assert a is not None
    assert b is not None
    assert a.number == b.number
    assert a.outcome == b.outcome


def test_many_examples_are_spread_and_all_run(tmp_path):
    result = campaign(["digest_end"], {}, tmp_path, examples=3000)
    assert result.results["digest_end"].examples == 3000
    assert result.results["digest_end"].pieces > 10


def test_failing_case_is_saved_and_replays(tmp_path):
    result = campaign(["rne_array"], {"rne_array": ROUND}, tmp_path)
    failure = result.results["rne_array"].failure
    assert failure is not None
    kernel, case = load(tmp_path / f"rne_array-{failure.number}.json", dict(KERNELS))
    options = Options(target="mirror", out=tmp_path)
    replay = run_one(kernel, options, lambda: runner({"rne_array": ROUND}), None, case, "the file")
    again = replay.results["rne_array"]
    assert again.verdict is Verdict.MISMATCH
    assert again.failure is not None
    assert again.failure.outcome == failure.outcome
    assert again.failure.known == "the file"
    drawn = run_one(kernel, options, lambda: runner({"rne_array": ROUND}), failure.number, None, "")
    assert drawn.results["rne_array"].failure is not None
    assert drawn.results["rne_array"].failure.outcome == failure.outcome
    fixed = run_one(kernel, options, lambda: runner({}), None, case, "the file")
    assert fixed.results["rne_array"].verdict is Verdict.EQUAL


def test_failures_are_remembered_until_they_pass(tmp_path):
    memory = Memory(tmp_path / "memory")
    campaign(["rne_array"], {"rne_array": ROUND}, tmp_path, memory, seed=1)
    assert len(memory.recall(KERNELS["rne_array"])) == 1
    again = campaign(["rne_array"], {"rne_array": ROUND}, tmp_path, memory, examples=1, seed=9)
    failure = again.results["rne_array"].failure
    assert failure is not None
    assert failure.known == "an earlier run"
    assert failure.file
    fixed = campaign(["rne_array"], {}, tmp_path, memory)
    assert fixed.results["rne_array"].verdict is Verdict.EQUAL
    assert memory.recall(KERNELS["rne_array"]) == []


def test_mirror_that_raises_is_a_tool_error(tmp_path):
    def broken(x, y, n):
        raise ToolError("the probe fell off")

    result = campaign(["exp_array", "ln_array"], {"exp_array": broken}, tmp_path)
    assert verdicts(result) == {"exp_array": Verdict.TOOL_ERROR, "ln_array": Verdict.EQUAL}


def test_interruption_keeps_what_is_done(tmp_path):
    def slow(x, y, n):
        time.sleep(0.2)

    def press(campaign, symbol, running):
        if campaign.results["rne_array"].examples == 100:
            os.kill(os.getpid(), signal.SIGINT)

    options = Options(target="mirror", examples=100, out=tmp_path)
    chosen = [KERNELS["rne_array"], KERNELS["exp_array"]]
    result = run_sampled(chosen, options, lambda: runner({"exp_array": slow}), Memory(None), press)
    assert result.interrupted
    assert verdicts(result) == {"rne_array": Verdict.EQUAL, "exp_array": Verdict.NOT_RUN}
    assert exit_code(verdicts(result).values()) == 130


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mixed")
    mirrors = {"rne_array": ROUND, "exp_array": trap, "ln_array": crash}
    return campaign(["rne_array", "exp_array", "ln_array", "sqrt_array"], mirrors, folder), folder


def test_json_record(mixed, tmp_path):
    result, _ = mixed
    write_json(tmp_path / "sub" / "report.json", result, " --spec my.py")
    document = json.loads((tmp_path / "sub" / "report.json").read_text())
    assert document == json.loads(json.dumps(report(result, " --spec my.py")))
    assert (document["format"], document["version"]) == ("esp32s3-emu report", 1)
    assert document["exit_code"] == 1
    rows = {k["kernel"]: k for k in document["kernels"]}
    assert list(rows) == ["rne_array", "exp_array", "ln_array", "sqrt_array"]
    rne = rows["rne_array"]
    assert rne["verdict"] == "mismatch"
    (first,) = rne["failure"]["mismatch"]["differences"]
    assert first["output"] == "y"
    assert int(first["actual_decimal"]) - int(first["expected_decimal"]) == first["distance"] == 1
    assert int(first["expected"], 16) == int(first["expected_decimal"]) & 0xFFFFFFFF
    assert rne["failure"]["replay"].startswith("emu verify --spec my.py --replay ")
    assert rne["failure"]["as_drawn"].endswith(f"--example {rne['failure']['example']}")
    assert rows["exp_array"]["failure"]["fault"]["kind"] == "load"
    assert rows["ln_array"]["error"]
    assert rows["sqrt_array"]["failure"] is None
    assert list((tmp_path / "sub").iterdir()) == [tmp_path / "sub" / "report.json"]


def test_junit_record(mixed, tmp_path):
    result, _ = mixed
    write_junit(tmp_path / "junit.xml", result, "")
    suite = ET.parse(tmp_path / "junit.xml").getroot().find("testsuite")
    assert suite is not None
    assert {k: suite.get(k) for k in ("tests", "failures", "errors")} == {
        "tests": "4",
        "failures": "1",
        "errors": "2",
    }
    found = {case.get("name"): case for case in suite}
    failure = found["rne_array"].find("failure")
    assert failure is not None
    assert failure.get("type") == "mismatch"
    assert "expected 0" in str(failure.get("message"))
    assert "emu verify --kernel rne_array" in str(failure.text)
    assert found["exp_array"].find("error").get("type") == "board fault"
    assert found["ln_array"].find("error").get("type") == "tool error"
    assert list(found["sqrt_array"]) == []


def test_junit_survives_characters_that_xml_forbids(tmp_path):
    result = campaign(["exp_array"], {"exp_array": _raise_strange}, tmp_path, examples=1)
    write_junit(tmp_path / "junit.xml", result, "")
    assert "strange ? text" in (tmp_path / "junit.xml").read_text()


def _raise_strange(x, y, n):
    raise TargetFault("load", "strange \x00 text", "")
