"""`emu bisect` on a terminal: what is printed, JSON, a rerun that goes on, and bad input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from emu.bisect.journal import Journal
from emu.cli import main
from emu.toolchain import Toolchain
from emu.verify.reference import reference_elf
from tests.bisect.test_bisect_known_faults import SIDE_BY_SIDE, STATE
from tests.quality.planted import PLANTED, planted_image

SPEC = """
from emu.kernels.spec import Dim, Scalar, Tensor, kernel

@kernel(
    "two_layers",
    Tensor("x", "int32", ("n",), values="[-1000,1000]"),
    Scalar("n", "int32", "n"),
    Scalar("beta", "int32", values="[-1000,1000]"),
    Tensor("y", "int32", ("n",), role="out"),
    dims=(Dim("n", 1, 8),),
)
def two_layers(x, n, beta, y):
    y[:] = x * beta
"""


def run(*words: object) -> Result:
    from emu.kernels.spec import REGISTRY

    REGISTRY.pop("two_layers", None)
    return CliRunner().invoke(main, ["bisect", *map(str, words)])


@pytest.fixture(scope="module")
def images(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """(spec, good, bad) of the two states that lie side by side."""
    folder = tmp_path_factory.mktemp("states")
    (folder / "spec.py").write_text(SPEC)
    (folder / "state.c").write_text(STATE)
    (folder / "state.ld").write_text(SIDE_BY_SIDE)
    for name, size in (("good", 16), ("bad", 8)):
        flags = ["-O1", "-g", "-ffreestanding", "-fno-strict-aliasing", f"-DFIRST_BYTES={size}"]
        toolchain.compile(folder / "state.c", folder / f"{name}.o", flags)
        toolchain.link([folder / f"{name}.o"], folder / f"{name}.elf", folder / "state.ld")
    return folder / "spec.py", folder / "good.elf", folder / "bad.elf"


def test_a_kernel_of_two_elf_files(images: tuple[Path, Path, Path], tmp_path: Path):
    spec, good, bad = images
    words = ["kernel", "two_layers", "--elf", bad, "--good", good, "--spec", spec]
    words += ["--out", tmp_path / "found", "--json", tmp_path / "found.json"]
    result = run(*words)
    assert result.exit_code == 1, result.output
    assert "function     first_init" in result.output
    assert "state.c:" in result.output
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["kernel"]["symbol"] == "two_layers"
    assert found["kernel"]["smallest"]["nonzero_inputs"] <= 4
    assert found["instruction"]["where"]["symbol"] == "first_init"
    assert found["instruction"]["registers"]
    again = run(*words)
    assert "known from an earlier run" in again.output
    assert again.exit_code == 1
    case = found["kernel"]["case_file"]
    replayed = run("kernel", "two_layers", "--elf", bad, "--good", good, "--spec", spec, "--replay", case)
    assert replayed.exit_code == 1
    right = run("kernel", "two_layers", "--elf", good, "--good", "none", "--spec", spec)
    assert right.exit_code == 0, right.output
    assert "equal" in right.output


def test_a_model_from_the_top_down(toolchain: Toolchain, tmp_path: Path):
    fault = next(f for f in PLANTED if f.kernel == "normal_array")
    elf = planted_image(fault, toolchain)
    words = ["model", "t2i", "--elf", elf, "--out", tmp_path, "--json", tmp_path / "found.json"]
    result = run(*words)
    assert result.exit_code == 1, result.output
    for text in ("first stage  z.init", "wrong itself", "kernel       normal_array", "random.c:"):
        assert text in result.output
    found = json.loads((tmp_path / "found.json").read_text())
    assert found["stage"]["first"] == "z.init"
    assert found["culprit"] == "normal_array"
    assert found["stage"]["difference"]["index"] == [0, 0, 0]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["model", "t2i", "--elf", "nowhere.elf"], "nowhere.elf"),
        (["kernel", "no_such", "--elf", reference_elf()], "no kernel is called no_such"),
        (["model", "tinylm", "--elf", reference_elf(), "--tokens", "1,x"], "numbers with commas"),
        (["model", "t2i", "--elf", reference_elf(), "--golden", "good"], "wants a good image"),
        (["commits", "a", "a", "--kernel", "rne_array", "--repo", "/"], "git rev-parse"),
    ],
)
def test_bad_input_is_told(words: list[object], message: str):
    result = run(*words)
    assert result.exit_code == 2, result.output
    assert message in result.output


def test_a_journal_belongs_to_its_subject(tmp_path: Path):
    journal = Journal({"what": "a"}, tmp_path)
    journal.put("equal runs", ["one"])
    assert Journal({"what": "a"}, tmp_path).get("equal runs") == ["one"]
    assert Journal({"what": "b"}, tmp_path).get("equal runs") is None
    (tmp_path / "bisect.json").write_text("{")
    assert Journal({"what": "a"}, tmp_path).get("equal runs") is None
