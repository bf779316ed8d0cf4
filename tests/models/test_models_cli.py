"""The commands of the models as people use them: files, messages, exit codes, encodings."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import png
import pytest
from click.testing import CliRunner
from safetensors import safe_open

from emu.cli import main
from emu.models.console import typed_text
from emu.models.modelfile.kinds import Kind
from emu.models.names import t2i_stages
from emu.models.stages import stage_digest
from tests.models.files import random_bytes

PROMPT = "девушка со светлыми волосами"  # noqa: RUF001


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def emu(*words):
    result = CliRunner().invoke(main, [str(w) for w in words])
    text = result.output + (result.stderr if result.stderr_bytes else "")
    assert "Traceback" not in text
    assert result.exception is None or isinstance(result.exception, SystemExit)
    return result.exit_code, text


def test_model_random_and_info(tmp_path):
    code, text = emu("model", "random", "--kind", "ternary", "--seed", "1", "-o", "t.bin")
    assert code == 0
    assert Path("t.bin").read_bytes() == random_bytes(Kind.TERNARY)
    code, text = emu("model", "info", "t.bin")
    assert code == 0
    assert "every check passed" in text
    assert "l3.fc2.w" in text
    facts = json.loads(emu("model", "info", "t.bin", "--json")[1])
    assert (facts["kind"], facts["outputs"], len(facts["tensors"])) == ("ternary", 511, 44)
    assert emu("model", "random", "--kind", "ternary", "--outputs", "3", "-o", "3.bin")[0] == 0
    assert json.loads(emu("model", "info", "3.bin", "--json")[1])["outputs"] == 3


def test_bad_model_files_are_named(tmp_path):
    data = bytearray(random_bytes(Kind.TERNARY))
    data[-1] ^= 1
    Path("bad.bin").write_bytes(data)
    code, text = emu("model", "info", "bad.bin")
    assert code == 2
    assert "tensor head.b: damaged: CRC-32" in text
    Path("empty.bin").write_bytes(b"")
    assert "it has 0 bytes" in emu("model", "info", "empty.bin")[1]
    assert emu("model", "info", "none.bin")[0] == 5
    Path("t.bin").write_bytes(random_bytes(Kind.TERNARY))
    code, text = emu("draw", PROMPT, "--model", "t.bin")
    assert code == 2
    assert "this is a ternary model; a t2i model is needed" in text


def test_draw_writes_a_picture_and_what_else_was_asked_for():
    code, text = emu(
        "draw", PROMPT, "--seed", 7, "--steps", 2, "--model", "random:1", "-o", "f.png", "--scale", 2,
        "--digests", "d.txt", "--stages", "s1.u.b3.*", "--stages", "rgb", "--dump", "s.safetensors",
    )  # fmt: skip
    assert code == 0, text
    assert "these weights are random" in text
    assert "on the mirror; 2 steps" in text
    width, height, rows, info = png.Reader("f.png").read()
    assert (width, height, info["planes"]) == (128, 128, 3)
    picture = np.array([list(row) for row in rows], np.uint8).reshape(128, 128, 3)[::2, ::2]
    lines = [line.split() for line in Path("d.txt").read_text().splitlines()]
    assert [name for _, name in lines] == t2i_stages(2)
    with safe_open("s.safetensors", "np") as file:
        assert len(file.keys()) == 7
        assert np.array_equal(file.get_tensor("rgb"), picture)
        origin = file.metadata()
        assert (origin["target"], origin["model"], origin["producer"]) == ("mirror", "random:1", "emu")
        assert json.loads(origin["request"])["prompt"] == PROMPT
        digests = {name: digest for digest, name in lines}
        for name in file.keys():  # noqa: SIM118
            assert origin[f"digest:{name}"] == digests[name] == f"{stage_digest(file.get_tensor(name)):016X}"


def test_draw_tells_the_times_of_stages():
    """Each family once, in milliseconds, on both targets; together no longer than the run."""
    for target in ("mirror", "image"):
        code, text = emu("draw", PROMPT, "--steps", 1, "--target", target, "--times", "-o", "t.png")
        assert code == 0, text
        told = {stage: ms for ms, stage in re.findall(r"^ +([0-9.]+) ms  (\S+)$", text, re.M)}
        assert {"s*.*.b*.qkv", "s*.*.final.mod", "dec.conv8", "rgb", "ctext", "s*.z"} <= set(told)
        whole = float(re.search(r"t\.png: ([0-9.]+) s on the", text)[1])
        assert 0 < sum(map(float, told.values())) / 1e3 <= whole + 0.05


def test_draw_on_the_image_gives_the_same_files():
    for target in ("mirror", "image"):
        words = ("--target", target, "--steps", 1, "-o", f"{target}.png", "--digests", f"{target}.txt")
        code, text = emu("draw", PROMPT, *words, "--dump", f"{target}.npz", "--stages", "s0.c.b1.*")
        assert code == 0, text
    assert "instructions; most internal RAM 286,800 of 294,912 bytes" in text
    for suffix in ("png", "txt"):
        assert Path(f"mirror.{suffix}").read_bytes() == Path(f"image.{suffix}").read_bytes()
    with np.load("mirror.npz") as a, np.load("image.npz") as b:
        assert a.files == b.files
        for name in a.files[1:]:
            assert a[name].shape == b[name].shape
            assert a[name].tobytes() == b[name].tobytes()


def test_prompts_without_a_known_word():
    code, text = emu("draw", "robot 7", "--steps", 1)
    assert code == 0
    assert "null prompt" in text
    assert "unknown words, left out: космо" in emu("draw", "девушка космонавт", "--steps", 1)[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--stages", "rgb"], "name a file with --dump"),
        (["--dump", "x.txt"], "*.safetensors or *.npz"),
        (["--dump", "x.npz", "--stages", "s9.*"], "no stage is called 's9.*'"),
        (["--seed", "-1"], "the seed -1 is not in 0"),
        (["--seed", "x"], "'x' is no number"),
        (["--cfg", "nan"], "guidance factor is not a finite number"),
        (["--model", "random:x"], "'x' is no number"),
    ],
)
def test_wrong_use_of_draw(words, message):
    code, text = emu("draw", PROMPT, "--steps", 1, *words)
    assert code == 2
    assert message in text
    assert emu("draw", PROMPT, "--steps", 65)[0] == 2


def test_classify():
    code, mirror = emu("classify", "12+34", "9+8", "--model", "random:3")
    assert code == 0
    code, image = emu("classify", "12+34", "9+8", "--model", "random:3", "--target", "image")
    assert code == 0
    lines = [line for line in mirror.splitlines() if line.startswith(("12+34: ", "9+8: "))]
    assert len(lines) == 2
    assert lines == [line for line in image.splitlines() if line.startswith(("12+34: ", "9+8: "))]
    assert emu("classify", "1", "2", "--digests", "-")[0] == 2
    code, text = emu("classify", "1", "--digests", "-")
    assert sum(line.split()[-1].startswith("l") for line in text.splitlines() if line) == 25


def test_generate():
    words = ("generate", "Hello", "--tokens", 4, "--temperature", 1, "--seed", 3)
    texts = []
    for target in ("mirror", "image"):
        files = "--digests", f"{target}.txt", "--dump", f"{target}.npz", "--stages", "p*.l1.*"
        code, text = emu(*words, "--target", target, *files)
        assert code == 0, text
        texts.append([line for line in text.splitlines() if line.startswith("Hello")])
        assert "4 tokens after" in text
    assert texts[0] == texts[1] != []
    assert Path("mirror.txt").read_text() == Path("image.txt").read_text() != ""
    with np.load("mirror.npz") as a, np.load("image.npz") as b:
        assert [x.shape for x in a.values()] == [x.shape for x in b.values()]
        assert all(a[n].tobytes() == b[n].tobytes() for n in a.files[1:])
    code, text = emu("generate", "")
    assert (code, "prompt is empty" in text) == (2, True)
    assert "the context holds 256" in emu("generate", " " * 300)[1]


@pytest.mark.parametrize("kind", ["t2i", "ternary", "tinylm"])
def test_compare(kind):
    code, text = emu("compare", kind, "--steps", 1, "--json", "c.json", "--float", "32")
    assert code == 0, text
    assert "SNR dB" in text
    found = json.loads(Path("c.json").read_text())
    expected = {
        "t2i": {"mean grey difference", "largest grey difference"},
        "ternary": {"agreement"},
        "tinylm": {"perplexity, float", "perplexity, quantized", "agreement"},
    }
    assert set(found["summary"]) == expected[kind]


def process(*words, **env):
    command = [sys.executable, "-m", "emu.cli", *words]
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG", "PYTHON"))}
    env = {**clean, "PYTHONPATH": str(Path(__file__).parents[2]), **env}
    return subprocess.run(command, capture_output=True, env=env, timeout=300, check=False)


@pytest.mark.parametrize("encoding", ["utf-8", "cp1251"])
@pytest.mark.parametrize(
    "env", [{"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "cp1251"}]
)
def test_prompts_on_any_console(encoding, env, tmp_path):
    """The bytes of the prompt decide; what the terminal cannot show becomes a question mark."""
    for name, prompt in (("plain", PROMPT), ("split", "де́вушка со светлыми волосами ☃")):  # noqa: RUF001
        text = prompt.encode(encoding, "ignore")
        done = process(b"draw", text, b"--steps", b"1", b"-o", f"{name}.png".encode(), **env)
        assert done.returncode == 0, done.stderr
        assert b"Traceback" not in done.stderr
        assert b"null prompt" not in done.stderr
    assert Path("plain.png").stat().st_size > 1000


def test_typed_text():
    cp1251 = PROMPT.encode("cp1251").decode("utf-8", "surrogateescape")
    assert typed_text(PROMPT) == typed_text(cp1251) == PROMPT
    assert typed_text("12+34") == "12+34"
