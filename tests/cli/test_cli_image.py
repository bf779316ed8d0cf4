"""`emu verify` on images: the bundled one, and everything that can be wrong with a user's own."""

from __future__ import annotations

import json
import re
import struct
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from emu.cli import main
from emu.kernels import REGISTRY, load_all
from emu.verify.reference import reference_elf

sys.path.insert(0, str(Path(__file__).parents[1] / "verify"))
from strange_image import build

REFERENCE = reference_elf()
load_all()

SPEC = """
from emu.kernels.spec import Dim, Scalar, Tensor, kernel

def copy(x, y, n):
    y[:] = x

for symbol in SYMBOLS:
    kernel(symbol, Tensor("x", "int8", ("n",), values="s8_full"), Tensor("y", "int8", ("n",), role="out"),
           Scalar("n", "int32", "n"), dims=(Dim("n", 0, 40),))(copy)
"""


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    before = dict(REGISTRY)
    yield
    for symbol in set(REGISTRY) - set(before):
        del REGISTRY[symbol]


@pytest.fixture(scope="module")
def strange(toolchain, tmp_path_factory):
    return build(toolchain, Path(tmp_path_factory.mktemp("strange")))


def emu(*words):
    result = CliRunner().invoke(main, [str(w) for w in words])
    text = result.output
    assert "Traceback" not in text
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, text


def spec(*symbols):
    path = Path("spec.py")
    path.write_text(SPEC.replace("SYMBOLS", repr(symbols)))
    return path


def test_bundled_image_is_equal_with_reports():
    code, text = emu("verify", "--kernel", "dot_*", "--examples", 40, "--json", "r.json", "--no-memory")
    assert code == 0, text
    report = json.loads(Path("r.json").read_text())
    assert report["target"] == "image"
    assert report["elf_sha256"] == json.loads((REFERENCE.parent / "manifest.json").read_text())["elf_sha256"]
    assert {k["verdict"] for k in report["kernels"]} == {"equal"}
    assert all(k["instructions"] > 0 for k in report["kernels"])


def damaged(change):
    data = bytearray(REFERENCE.read_bytes())
    path = Path("damaged.elf")
    changed = change(data)
    path.write_bytes(data if changed is None else changed)
    return path


def _machine(number):
    def change(data):
        struct.pack_into("<H", data, 18, number)

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d[:40], "damaged.elf"),
        (lambda d: d[: len(d) // 2], "truncated|damaged|beyond"),
        (lambda d: b"", "damaged.elf"),
        (lambda d: b"MZ" + bytes(200), "ELF"),
        (_machine(62), "x86"),
        (_machine(243), "RISC-V"),
        (_machine(40), "machine|Arm|ARM"),
    ],
)
def test_files_that_are_no_esp32s3_image(change, words):
    code, text = emu("verify", "--elf", damaged(change))
    assert code == 2
    assert re.search(words, text)
    assert text.count("\n") <= 3


def test_missing_file_and_folder(tmp_path):
    code, text = emu("verify", "--elf", "none.elf")
    assert code == 2
    assert "none.elf" in text
    code, text = emu("verify", "--elf", tmp_path)
    assert code == 2
    assert "folder" in text


def test_missing_symbol_is_wrong_use_and_nothing_runs(strange):
    code, text = emu("verify", "--elf", strange, "--spec", spec("good", "goood"))
    assert code == 2
    assert "no function goood (did you mean good" in text
    assert "(1 of 2 kernels are missing)" in text
    code, text = emu("verify", "--elf", strange)
    assert code == 2
    assert "describe your own with --spec" in text


def test_traps_are_board_faults_and_other_kernels_go_on(strange):
    words = ("verify", "--elf", strange, "--spec", spec("good", "endless", "into_data", "wild"))
    code, text = emu(*words, "--budget", 20_000, "--examples", 30, "--json", "r.json", "--no-memory")
    assert code == 4
    report = json.loads(Path("r.json").read_text())
    assert {k["kernel"]: k["verdict"] for k in report["kernels"]} == {
        "good": "equal",
        "endless": "board fault",
        "into_data": "board fault",
        "wild": "board fault",
    }
    faults = {k["kernel"]: k["failure"]["fault"] for k in report["kernels"] if k["failure"]}
    assert faults["endless"]["kind"] == "instruction budget used up"
    assert faults["into_data"]["kind"] == "jump to non-code"
    assert "strange.c:" in faults["wild"]["where"]
    replay = next(k for k in report["kernels"] if k["kernel"] == "wild")["failure"]["replay"]
    for symbol in ("good", "endless", "into_data", "wild"):
        del REGISTRY[symbol]
    code, text = emu(*replay.split()[1:])
    assert code == 4
    assert "store of" in text


def test_reads_outside_are_told(strange):
    code, text = emu("verify", "--elf", strange, "--spec", spec("reads_behind"), "--no-memory")
    assert code == 4
    assert "0 bytes behind the end of x" in text


def test_mismatch_outranks_faults(strange):
    code, text = emu(
        "verify", "--elf", strange, "--spec", spec("wild", "writes_behind"), "--examples", 30, "--no-memory"
    )
    assert code == 1
    assert "behind y changed" in text


def test_wrong_dtype_of_a_spec_shows(strange):
    path = spec("good")
    path.write_text(path.read_text().replace('"x", "int8"', '"x", "int32"').replace("s8_full", "s32"))
    code, text = emu("verify", "--elf", strange, "--spec", path, "--no-memory")
    assert code == 2
    assert "good: parameter x is const int8_t * in C, int32 * in the spec" in text


def test_stepper_tier_and_fused_option_run(strange):
    for extra in (("--tier", "stepper"), ("--fused", "two-roundings"), ("--bounds",), ("--no-bounds",)):
        code, text = emu("verify", "--kernel", "rne_array", "--examples", 8, "--no-memory", *extra)
        assert code == 0, text


def test_doctor_and_kernels_run():
    code, text = emu("doctor")
    assert code == 0
    assert "reference image" in text
    assert emu("kernels")[0] == 0
