"""The pytest plugin, run by pytest in pytest: items, verdicts, fixtures, records, several workers."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from tests.plugin.specs import GOOD, WRONG

pytest_plugins = ["pytester"]
ROOT = Path(__file__).resolve().parents[2]
FEW = ("--emu-examples", "60")
WRONG_ITEM = "emu_wrong.py::relu_in_place"


@pytest.fixture
def inner(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A folder in which pytest runs with the plugin, installed or not.

    After a run inside of this process pytester takes out what was imported; numpy and others cannot be
    imported twice, so only modules of the tests go.
    """
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr(pytester, "_Pytester__take_sys_modules_snapshot", _Modules)
    monkeypatch.setattr(pytester, "_sys_modules_snapshot", _Modules())
    pytester.makeini("[pytest]\naddopts = -p emu.pytest_plugin -p no:cacheprovider\n")
    return pytester


class _Modules:
    def __init__(self) -> None:
        self._before = set(sys.modules)

    def restore(self) -> None:
        for name in [n for n in sys.modules if n.startswith(("test_", "emu_spec_"))]:
            if name not in self._before:
                del sys.modules[name]


def properties(path: Path) -> dict[str, dict[str, str]]:
    """JUnit properties by name of the test."""
    return {
        case.attrib["name"]: {p.attrib["name"]: p.attrib["value"] for p in case.iter("property")}
        for case in ET.parse(path).iter("testcase")
    }


def test_kernels_of_files_that_look_like_specs_are_items(inner: pytest.Pytester):
    inner.makepyfile(emu_good=GOOD)
    result = inner.runpytest("--emu-target", "image", *FEW, "-v")
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["emu: image, 60 examples*", "emu_good.py::fmix32_array PASSED*"])


def test_a_spec_named_by_option_is_collected_once_wherever_it_is(inner: pytest.Pytester):
    inner.makepyfile(**{"deep/mine": GOOD, "test_own": "def test_own(): pass"})
    result = inner.runpytest("--emu-spec", "deep/mine.py", *FEW)
    result.assert_outcomes(passed=3)
    result = inner.runpytest("test_own.py", "--emu-spec", "deep/mine.py", *FEW, "-k", "relu")
    result.assert_outcomes(passed=1, deselected=2)
    result = inner.runpytest("deep/mine.py::relu_in_place", "--emu-spec", "deep/mine.py", *FEW)
    result.assert_outcomes(passed=1)


def test_settings_of_the_configuration_file(inner: pytest.Pytester):
    inner.makepyfile(mine=GOOD)
    inner.makeini(
        "[pytest]\naddopts = -p emu.pytest_plugin\n"
        "emu_target = mirror\nemu_spec = mine.py\nemu_examples = 5\n"
    )
    result = inner.runpytest()
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["emu: mirror, 5 examples of each kernel, seed 0"])


def test_a_difference_is_told_without_traceback_and_can_be_replayed(inner: pytest.Pytester):
    inner.makepyfile(emu_wrong=WRONG)
    result = inner.runpytest("--emu-target", "image", *FEW, "--junitxml", "junit.xml")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(
        [
            "mismatch: relu_in_place: x[[]*expected *, got *",
            "shrunk to *",
            "replay *emu verify *",
            f"again *{WRONG_ITEM}",
        ]
    )
    assert "Traceback" not in result.stdout.str()
    known = properties(inner.path / "junit.xml")
    assert known["fmix32_array"]["emu_verdict"] == "equal"
    assert known["fmix32_array"]["emu_examples"] == "60"
    found = known["relu_in_place"]
    assert found["emu_verdict"] == "mismatch"
    assert len(found["emu_elf_sha256"]) == 64
    assert json.loads(Path(found["emu_case_file"]).read_text())["kernel"] == "relu_in_place"
    command = found["emu_replay"].split()
    assert command[:2] == ["emu", "verify"]
    run = [sys.executable, "-c", "from emu.cli import main; main()", *command[1:]]
    done = subprocess.run(run, cwd=inner.path, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout + done.stderr


def test_a_failing_case_is_tried_first_and_travels_in_hypothesis_database(inner: pytest.Pytester):
    """What CI found fails at once on the desk, from a copy of the database, until the fault is mended."""
    inner.makepyfile(emu_wrong=WRONG)
    inner.runpytest("--emu-database", "ci").assert_outcomes(passed=1, failed=1)
    assert list((inner.path / "ci").rglob("*"))
    both = ("--emu-examples", "1", "--emu-database", "desk", "--emu-database", "ci")
    alone = inner.runpytest("--emu-examples", "1", "--emu-database", "desk")
    alone.assert_outcomes(passed=2)
    again = inner.runpytest(*both)
    again.assert_outcomes(passed=1, failed=1)
    again.stdout.fnmatch_lines(["example *from an earlier run"])
    before = sorted(p for p in (inner.path / "ci").rglob("*"))
    inner.makepyfile(emu_wrong=GOOD)
    inner.runpytest(*both).assert_outcomes(passed=2)
    assert sorted(p for p in (inner.path / "ci").rglob("*")) == before


def test_fixtures(inner: pytest.Pytester):
    inner.makepyfile(
        test_mine="""
        import pytest

        def test_engine(emu_engine, emu_image):
            at = emu_engine.arena.start
            emu_engine.memory.write(at, (7).to_bytes(4, "little"))
            assert emu_engine.call("argmax_f32", [at, 1]).a2 == 0
            assert "argmax_f32" in emu_image.symbols

        def test_target(emu_target, emu_kernels):
            from emu.verify.strategies import cases
            kernel = emu_kernels["crc32_bytes"]
            for _, case in cases(kernel, 0, 0, 3):
                emu_target.call(kernel, case)

        def test_verify(emu_verify, emu_elf):
            assert emu_elf.suffix == ".elf"
            emu_verify("crc32_bytes", examples=5)

        def test_unknown(emu_verify):
            emu_verify("no_such_kernel")
        """
    )
    result = inner.runpytest("-k", "not unknown")
    result.assert_outcomes(passed=3, deselected=1)
    result = inner.runpytest("-k", "unknown")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["no spec describes 'no_such_kernel'; known: *"])
    result = inner.runpytest("--emu-target", "mirror", "-k", "engine", "-rs")
    result.assert_outcomes(skipped=1, deselected=3)
    result.stdout.fnmatch_lines(["SKIPPED*emu_engine needs --emu-target image, not mirror"])


def test_several_workers(inner: pytest.Pytester):
    pytest.importorskip("xdist", reason="pytest-xdist is not installed")
    inner.makepyfile(emu_wrong=WRONG, emu_good=GOOD)
    result = inner.runpytest_subprocess(*FEW, "--emu-target", "image", "-n", "2", "--junitxml", "junit.xml")
    result.assert_outcomes(passed=3, failed=1)
    cases = ET.parse(inner.path / "junit.xml").iter("testcase")
    verdicts = [
        (case.attrib["classname"], p.attrib["value"])
        for case in cases
        for p in case.iter("property")
        if p.attrib["name"] == "emu_verdict"
    ]
    good, wrong = [("emu_good", "equal")] * 2, [("emu_wrong", "equal"), ("emu_wrong", "mismatch")]
    assert sorted(verdicts) == [*good, *wrong]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--emu-target", "board"], "--emu-target board needs --emu-port*"),
        (["--emu-port=/dev/null"], "--emu-port belongs to --emu-target board"),
        (["--emu-elf", "no.elf"], "--emu-elf *no.elf: no such file"),
        (["--emu-spec", "no.py"], "--emu-spec *no.py: no such file"),
        (["--emu-examples", "many"], "--emu-examples many: not a number from 1 on"),
        (["--emu-spec", "broken.py"], "*broken.py:1*ZeroDivisionError*"),
    ],
)
def test_wrong_use_is_told_in_a_line(inner: pytest.Pytester, options, message):
    inner.makepyfile(broken="1 / 0", test_a="def test_a(): pass")
    result = inner.runpytest_subprocess(*options)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{message}"])
    assert "Traceback" not in result.stderr.str()


def test_a_kernel_that_the_image_does_not_have(inner: pytest.Pytester):
    inner.makepyfile(
        emu_odd=GOOD.replace('"relu_in_place"', '"relu_in_plaice"').replace("def relu_in_place", "def x")
    )
    result = inner.runpytest("--emu-target", "image", *FEW)
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*no function relu_in_plaice (did you mean relu_in_place*"])


def test_a_session_that_does_not_use_it_imports_and_collects_nothing(inner: pytest.Pytester):
    inner.makepyfile(
        emu_good=GOOD,
        test_a="""
        import sys

        def test_nothing_is_loaded():
            room = {m for m in sys.modules if m.startswith("emu.")}
            assert room == {"emu.pytest_plugin", "emu.pytest_plugin.fixtures"}
            assert not {"numpy", "numba", "hypothesis.database", "llvmlite"} & set(sys.modules)
        """,
    )
    result = inner.runpytest_subprocess("-p", "no:hypothesispytest", "-v")
    result.assert_outcomes(passed=1)
    assert "emu:" not in result.stdout.str()
    plain = inner.runpytest_subprocess("--co", "-q", "emu_good.py")
    assert plain.ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_beside_the_fixture_of_pytest_embedded(inner: pytest.Pytester):
    pytest.importorskip(
        "pytest_embedded", reason="pytest-embedded is not installed: pip install pytest-embedded"
    )
    inner.makepyfile(
        emu_good=GOOD,
        test_board="""
        def test_both(dut, emu_verify):
            dut.write("hello from the board")
            dut.expect("hello")
            emu_verify("relu_in_place", examples=5)
        """,
    )
    result = inner.runpytest_subprocess("--emu-target", "image", *FEW)
    result.assert_outcomes(passed=3)
