"""The `emu` command: exit codes, messages without tracebacks, files. Images are in test_cli_image.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from emu.cli import main
from emu.kernels import REGISTRY, load_all

load_all()

SPEC = """
import numpy as np
from emu.kernels.spec import Dim, Scalar, Tensor, kernel

@kernel("cli_copy", Tensor("x", "int8", ("n",), values="s8"), Tensor("y", "int8", ("n",), role="out"),
        Scalar("n", "int32", "n"), dims=(Dim("n", 0, 40),))
def cli_copy(x, y, n):
    BODY
"""


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EMU_CACHE_DIR", str(tmp_path / "cache"))
    before = dict(REGISTRY)
    yield
    for symbol in set(REGISTRY) - set(before):
        del REGISTRY[symbol]


def emu(*words):
    result = CliRunner().invoke(main, [str(w) for w in words])
    text = result.output + (result.stderr if result.stderr_bytes else "")
    assert "Traceback" not in text
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, text


def test_version_of_a_checkout_that_is_not_installed(tmp_path):
    root = Path(__file__).parents[2]
    code = (
        "import importlib.metadata as m, sys\n"
        "m.distributions = m.Distribution.discover = lambda **_: iter(())\n"
    )
    code += "m.MetadataPathFinder.find_distributions = lambda *_a, **_k: iter(())\n"
    code += "from emu.cli import main\nmain(['--version'])"
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "not installed" in done.stdout


def spec(body, tmp_path, text=SPEC):
    path = tmp_path / "spec.py"
    path.write_text(text.replace("BODY", body))
    return path


def test_mirror_against_itself_is_equal(tmp_path):
    code, text = emu(
        "verify", "--target", "mirror", "--kernel", "exp_array", "--kernel", "dot_rows_s8*", "--examples", 30
    )
    assert code == 0
    assert "3 kernels: 3 equal; 90 examples, seed 0" in text
    assert "mirror was run against itself" in text
    assert not (tmp_path / "emu-verify").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--kernel", "exp_aray"], "no kernel is called 'exp_aray' (did you mean exp_array"),
        (["--example", "3"], "--example wants one kernel"),
        (["--example", "3", "--replay", "x.json"], "--example cannot be combined with --replay"),
        (["--exhaustive", "--replay", "x.json"], "--replay cannot be combined with --exhaustive"),
        (["--slice", "0/4"], "--slice belongs to --exhaustive"),
        (["--exhaustive", "--slice", "4/4"], "--slice 4/4"),
        (["--exhaustive", "--kernel", "dot_rows_s8"], "no exhaustive run: dot_rows_s8"),
        (["--replay", "none.json"], "none.json: No such file"),
        (["--spec", "none.py"], "none.py: no such file"),
        (["--elf", "a.elf"], "--elf has no meaning with --target mirror"),
    ],
)
def test_wrong_use_is_exit_2(words, message):
    code, text = emu("verify", "--target", "mirror", *words)
    assert code == 2
    assert message in text


@pytest.mark.parametrize(
    "words", [["--examples", "0"], ["--target", "moon"], ["--seed", "-1"], ["--bogus"], ["--budget", "x"]]
)
def test_wrong_options_are_exit_2(words):
    assert emu("verify", *words)[0] == 2


def test_example_and_its_number(tmp_path):
    code, text = emu("verify", "--target", "mirror", "--kernel", "exp_array", "--seed", 3, "--example", 150)
    assert code == 0
    assert "1 example, seed 3" in text


def test_spec_whose_mirror_raises_is_a_tool_error(tmp_path):
    code, text = emu("verify", "--target", "mirror", "--spec", spec("y[n] = 1", tmp_path))
    assert code == 5
    assert "tool error" in text
    assert "raised IndexError (spec.py:8)" in text


def test_spec_whose_mirror_crashes_the_process_is_a_tool_error(tmp_path):
    body = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    code, text = emu("verify", "--target", "mirror", "--spec", spec(body, tmp_path), "--examples", 5)
    assert code == 5
    assert "SIGKILL" in text


def test_nondeterministic_mirror_is_a_mismatch_with_a_replay_command(tmp_path):
    body = "y[:] = x; y[:1] += np.random.randint(1, 99)"
    path = spec(body, tmp_path)
    code, text = emu(
        "verify",
        "--target",
        "mirror",
        "--spec",
        path,
        "--json",
        "r.json",
        "--junit",
        "r.xml",
        "--out",
        "here",
    )
    assert code == 1
    assert "mismatch: cli_copy" in text
    report = json.loads(Path("r.json").read_text())
    failure = report["kernels"][0]["failure"]
    assert report["exit_code"] == 1
    assert Path(failure["case_file"]).is_file()
    assert failure["replay"] == f"emu verify --spec {path} --target mirror --replay {failure['case_file']}"
    assert Path("r.xml").read_text().startswith("<?xml")
    assert json.loads(Path("here/report.json").read_text()) == report
    assert not Path("here/partial.json").exists()
    del REGISTRY["cli_copy"]
    path.write_text(SPEC.replace("BODY", "y[:] = x"))
    assert emu("verify", "--spec", path, "--target", "mirror", "--replay", failure["case_file"])[0] == 0


def test_exhaustive_slice(tmp_path):
    words = (
        "verify",
        "--target",
        "mirror",
        "--exhaustive",
        "--kernel",
        "exp_array",
        "--slice",
        "7/4096",
        "--out",
        "ex",
    )
    code, text = emu(*words)
    assert code == 0
    assert "1,048,576" in text
    code, text = emu(*words)
    assert code == 0
    assert "were done before" in text


def test_kernels_lists_all(tmp_path):
    code, text = emu("kernels")
    assert code == 0
    assert "dot_rows_s8" in text
    assert "align 16" in text
    code, text = emu("kernels", "--spec", spec("pass", tmp_path))
    assert code == 0
    assert "cli_copy" in text
    assert "dot_rows_s8" not in text


def test_unwritable_report_is_one_message(tmp_path):
    (tmp_path / "file").write_text("")
    code, text = emu(
        "verify", "--target", "mirror", "--kernel", "exp_array", "--examples", 5, "--json", "file/report.json"
    )
    assert code == 2
    assert "file" in text


def test_internal_errors_are_one_message(monkeypatch):
    def broken(request):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("emu.verify.command.run", broken)
    code, text = emu("verify")
    assert code == 5
    assert "internal error at test_cli.py:" in text
    assert "ZeroDivisionError: oh" in text


def process(*words, **env):
    return subprocess.run(
        [sys.executable, "-m", "emu.cli", *map(str, words)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **env},
        timeout=120,
        check=False,
    )


def test_help_is_quick_and_lists_the_commands():
    times = []
    for _ in range(3):
        started = time.monotonic()
        result = process("--help")
        times.append(time.monotonic() - started)
    assert result.returncode == 0
    for word in ("verify", "kernels", "disasm", "doctor", "toolchain", "bench"):
        assert word in result.stdout
    loaded = process("--help", PYTHONPROFILEIMPORTTIME="1").stderr
    assert "numba" not in loaded
    assert "hypothesis" not in loaded
    assert "numpy" not in loaded


def test_real_process_exit_codes(tmp_path):
    assert process("verify", "--target", "mirror", "--kernel", "rne_array", "--examples", 5).returncode == 0
    result = process("verify", "--target", "mirror", "--kernel", "nope")
    assert result.returncode == 2
    assert result.stderr.startswith("emu: no kernel is called 'nope'")
    assert result.stdout == ""


def test_ctrl_c_prints_what_is_done(tmp_path):
    import signal

    body = "import time, pathlib; pathlib.Path('begun').touch(); time.sleep(0.05); y[:] = x"
    command = [
        sys.executable,
        "-m",
        "emu.cli",
        "verify",
        "--target",
        "mirror",
        "--spec",
        spec(body, tmp_path),
    ]
    running = subprocess.Popen(
        [*map(str, command), "--out", "o", "--examples", "5000"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    while running.poll() is None and not Path("begun").exists():
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert "interrupted: 1 kernel: 1 not run" in out
    assert "Traceback" not in out + err
    assert json.loads(Path("o/report.json").read_text())["interrupted"] is True
