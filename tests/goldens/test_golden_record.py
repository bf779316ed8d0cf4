"""Recording, checking and accepting goldens, by the commands that people type."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from safetensors.numpy import load_file

from emu.cli import main
from emu.goldens.cache import all_tensors, cache_path
from emu.goldens.manifest import read_manifest
from emu.models.stages import stage_digest
from tests.goldens.wrong_image import image_that_subtracts

BUNDLED = Path(__file__).parents[2] / "golden" / "models"


def run(*words: object) -> Result:
    """``emu golden WORDS``."""
    return CliRunner().invoke(main, ["golden", *map(str, words)])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with one recorded golden."""
    shutil.copytree(BUNDLED / "ternary-random", tmp_path / "goldens" / "ternary-random")
    return tmp_path / "goldens"


def document(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "ternary-random" / "manifest.json").read_bytes())
    return found


def edit(folder: Path, **changes: Any) -> None:
    (folder / "ternary-random" / "manifest.json").write_text(json.dumps({**document(folder), **changes}))


def contents(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_the_bundled_goldens_are_what_mirror_and_image_compute() -> None:
    result = run("check", "--folder", BUNDLED)
    assert result.exit_code == 0, result.output
    assert result.output.count("equal") == 2 * len(list(BUNDLED.iterdir()))


def test_recording_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        assert run("record", "ternary-random", "tinylm-extreme", "--folder", tmp_path / name).exit_code == 0
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


def test_a_golden_of_ones_own(tmp_path: Path) -> None:
    words = ("--kind", "ternary", "--model", "extreme:3", "--text", "99+1", "--tensors", "l0.*")
    assert run("record", "mine", *words, "--folder", tmp_path).exit_code == 0
    kept = load_file(tmp_path / "mine" / "tensors.safetensors")
    manifest = read_manifest(tmp_path / "mine")
    assert len(kept) == 6
    assert all(manifest.stages[name] == stage_digest(values) for name, values in kept.items())
    assert run("check", "--folder", tmp_path).exit_code == 0


@pytest.mark.parametrize("variant", ["amx", "vnni", "avx2", "plain"])
def test_other_processor_features_give_the_same_bits(variant: str) -> None:
    from emu.numerics.gemm.variant import available

    if variant not in available():
        pytest.skip(f"this processor has no {variant}")
    code = "from emu.cli import main; main()"
    words = ["golden", "check", "t2i-extreme", "--target", "mirror", "--gemm", variant, "--folder", BUNDLED]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_variant_that_does_not_exist_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("EMU_GEMM", raising=False)
    code = "from emu.cli import main; main()"
    words = ["golden", "check", "--gemm", "mmx", "--folder", BUNDLED]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "EMU_GEMM=mmx: the variants are" in done.stderr


def test_a_wrong_image_is_found_with_stage_and_element(folder: Path, tmp_path: Path) -> None:
    elf = image_that_subtracts("residual_add", tmp_path / "wrong.elf")
    result = run("check", "--elf", elf, "--folder", folder, "--json", tmp_path / "found.json")
    assert result.exit_code == 1
    mirror, image = json.loads((tmp_path / "found.json").read_bytes())
    assert (mirror["verdict"], image["verdict"]) == ("equal", "mismatch")
    assert image["changes"][0]["stage"] == "l0.proj"
    assert "element [" in result.output
    assert "recorded" in result.output


def test_accept_and_record_refuse_what_the_targets_do_not_agree_on(folder: Path, tmp_path: Path) -> None:
    elf = image_that_subtracts("residual_add", tmp_path / "wrong.elf")
    before = contents(folder)
    for command in (("accept", "--yes"), ("record", "ternary-random")):
        result = run(*command, "--elf", elf, "--folder", folder)
        assert result.exit_code == 1
        assert "mirror and image differ in" in result.output
        assert "first in l0.proj" in result.output
    assert contents(folder) == before


def test_accept_shows_the_changes_and_makes_them_so(folder: Path) -> None:
    stages = document(folder)["stages"]
    edit(folder, stages={**stages, "pool": "0123456789ABCDEF", "gone": "0" * 16})
    assert run("check", "--target", "mirror", "--folder", folder).exit_code == 2
    result = run("accept", "--yes", "--folder", folder)
    assert result.exit_code == 0
    assert f"pool: 0123456789ABCDEF -> {stages['pool']}" in result.output
    assert "gone: 0000000000000000 -> not there" in result.output
    assert document(folder)["stages"] == stages
    assert "nothing changes" in run("accept", "--yes", "--folder", folder).output


def test_accept_asks(folder: Path) -> None:
    edit(folder, stages={})
    before = contents(folder)
    answered = CliRunner().invoke(main, ["golden", "accept", "--folder", str(folder)], input="n\n")
    assert "accept ternary-random?" in answered.output
    assert contents(folder) == before


def test_stale_goldens_are_refused_with_the_reason(folder: Path) -> None:
    origin = document(folder)["provenance"]
    edit(folder, provenance={**origin, "model_sha256": "0" * 64, "spec_version": 7})
    result = run("check", "--folder", folder)
    assert result.exit_code == 2
    assert "stale, not compared" in result.output
    assert "version 7 of the arithmetic" in result.output
    assert "its weights have SHA-256 000000" in result.output
    assert "verdict" not in result.output


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"version": 2}, "golden version 2"),
        ({"format": "other"}, "damaged: no format"),
        ({"stages": {"emb": "xyz"}}, "the digest of stage emb"),
        ({"stages": []}, "stages or provenance is missing"),
        ({"run": {"kind": "gpt"}}, "run.kind is 'gpt'"),
        ({"run": {"kind": "ternary", "text": 7}}, "run.text is 7"),
        ({"run": []}, "run is no object"),
        ({"tensors_sha256": "0" * 64}, "its SHA-256 is not the one in the manifest"),
    ],
)
def test_damaged_manifests_are_refused(folder: Path, changes: dict[str, Any], told: str) -> None:
    edit(folder, **changes)
    result = run("check", "--folder", folder)
    assert result.exit_code == 2
    assert told in result.output
    assert str(folder / "ternary-random") in result.output


def test_what_is_no_json_or_not_there_is_told(folder: Path) -> None:
    (folder / "ternary-random" / "manifest.json").write_bytes(b'{"format": ')
    assert "no JSON" in run("check", "--folder", folder).output
    assert "recorded: ternary-random" in run("check", "other", "--folder", folder).output
    assert "no goldens here" in run("check", "--folder", folder / "nothing").output
    assert "bundled: t2i-random" in run("record", "unknown", "--folder", folder).output


def test_prune_removes_what_no_manifest_speaks_of(folder: Path) -> None:
    left = folder / "ternary-random" / "manifest.jsonabc12"
    left.write_bytes(b"half")
    notes = folder / "ternary-random" / "notes.txt"
    notes.write_text("ours to keep")
    assert run("prune", "--dry-run", "--folder", folder).exit_code == 0
    assert left.exists()
    assert run("prune", "--folder", folder).exit_code == 0
    assert not left.exists()
    assert notes.exists()
    assert run("check", "--folder", folder, "--target", "mirror").exit_code == 0


def test_all_tensors_come_back_from_the_manifest(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EMU_CACHE_DIR", str(tmp_path / "cache"))
    manifest = read_manifest(folder / "ternary-random")
    first = all_tensors("ternary-random", manifest)
    assert list(first) == list(manifest.stages)
    path = cache_path(manifest)
    path.write_bytes(path.read_bytes()[:-9])  # a damaged file is made again
    again = all_tensors("ternary-random", manifest)
    assert all(stage_digest(again[name]) == digest for name, digest in manifest.stages.items())
    out = tmp_path / "stages.npz"
    assert run("tensors", "ternary-random", "--stages", "l1.*", "-o", out, "--folder", folder).exit_code == 0
    assert out.exists()
    edit(folder, run={**document(folder)["run"], "text": "other"})
    assert run("prune", "--folder", folder).exit_code == 0
    assert not path.exists()
