"""Specs and images that cannot be right end with a message that says what, where and what to do."""

from __future__ import annotations

# ruff: noqa: E501 (specs of one line are easier to compare)
import itertools
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from emu.image import ImageError, load_image
from emu.kernels.spec import REGISTRY
from emu.toolchain import Toolchain
from emu.verify.draft import draft
from emu.verify.errors import UsageProblem
from emu.verify.image_check import check_image
from emu.verify.specfile import load_spec, validate
from tests.verify.foreign_build import build_foreign

ROOT = Path(__file__).resolve().parents[2]
COUNTER = itertools.count()
Write = Callable[[str], Path]


@pytest.fixture(scope="module")
def elf(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_foreign(toolchain, tmp_path_factory.mktemp("hostile"))


@pytest.fixture
def write(tmp_path: Path) -> Iterator[Write]:
    before = dict(REGISTRY)

    def make(text: str) -> Path:
        path = tmp_path / f"spec{next(COUNTER)}.py"
        path.write_text("import numpy as np\nfrom emu.spec import *\n" + textwrap.dedent(text))
        return path

    yield make
    for symbol in set(REGISTRY) - set(before):
        del REGISTRY[symbol]


def emu(*words: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "emu.cli", *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"},
        capture_output=True,
        text=True,
        timeout=500,
    )


LAYER = """
@kernel(n=(1, 9))
def layer(l: Struct({inside}), x: In("int8", "n"), y: Out("int8", "n"), rows: Size("n"), cols: Size("n")): ...
"""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("@kernel\ndef any_number(n: Value('int32')) -> np.int32: ...", "takes variable arguments (int any_number(int n, ...)"),
        ("@kernel\ndef big(x: Value('int32')) -> np.int32: ...", "big returns big_t (20 bytes), for which C passes a hidden pointer"),
        ("@kernel\ndef by_value(k: Value('int32'), w: Value('int64'), q: Value('int64')): ...",
         "parameter w is wide_t in C, a struct by value, int64 in the spec"),
        ("@kernel(n=(1, 9))\ndef limits(x: Out('int8', 'n'), n: Size('n')): ...",
         "parameter x is const int8_t * in C, int8 * with role 'out' in the spec"),
        ("@kernel(n=(1, 9))\ndef heapy(x: In('int8', 'n'), n: Size('n')): ...", "takes 3 parameters in C"),
        (LAYER.format(inside="'net_t', act=Callback(abs)"), "it is layer_t in C, net_t in the spec"),
        (LAYER.format(inside="mult=Value('int32')"), "layer_t has no member mult (its members: w, bias, q, acc, act)"),
        (LAYER.format(inside="w=In('int16', 'n')"), "member w is const int8_t * in C, int16 * in the spec"),
        (LAYER.format(inside="acc=Inline('int32', 5)"), "member acc is int32_t[4] in C, int32[5] in the spec"),
        (LAYER.format(inside="members={'q.shift': Value('int32')}"), "member q.shift is int8_t in C, int32 in the spec"),
        (LAYER.format(inside="w=In('int8', 'n'), offsets={'w': 4}"), "member w lies at byte 0 in C, 4 in the spec"),
        ("@kernel\ndef poly(x: Value('float64'), y: Value('float32'), k: Value('int64')): ...", "parameter y is double in C, float32"),
        ("@kernel('twice')\ndef t(x: Value('int32')) -> np.int32: ...", "twice is the name of several functions: twice(float) (_Z5twicef), twice(int)"),
        ("@kernel('Scale::walk')\ndef t(x: Value('int32')): ...", "has no function Scale::walk (1 of 1 kernels are missing)"),
        ("@kernel\ndef ghost(): ...", "ghost is at 0x42500000, in flash (instruction cache), where the image has no code"),
        ("@kernel\ndef memcpy(x: Value('int32')): ...", "memcpy is at 0x400011f4, in the chip's ROM"),
        ("@kernel\ndef poly(x: Global('int32', 1, at='g_nothing')): ...", "poly takes 3 parameters"),
        ("@kernel\ndef twice_(x: Value('int32')): ...", "has no function twice_"),
        ("@kernel(setup='prepare')\ndef measure(n: Value('int32')) -> np.int32: ...", "setup: app.elf: no symbol is called 'prepare'"),
        ("@kernel\ndef measure(n: Value('int32'), g: Global('int32', 1, at='g_nothing')) -> np.int32: ...", "no symbol is called 'g_nothing'"),
        ("@kernel\ndef measure(n: Value('int32'), g: Global('int32', 2, at='g_zero')) -> np.int32: ...",
         "g needs 8 bytes at its largest, g_zero has 4 in the image"),
        ("@kernel\ndef measure(n: Value('int32'), g: Global('int32', 2, at='_ZTV5Scale')) -> np.int32: ...",
         "lies in flash (data cache), which nothing can write"),
    ],
)  # fmt: skip
def test_specs_that_do_not_fit_the_image(text: str, words: str, write: Write, elf: Path) -> None:
    kernels = load_spec(write(text))
    validate(kernels)
    with pytest.raises(UsageProblem, match=re.escape(words)):
        check_image(load_image(elf), list(kernels.values()))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import os\nos._exit(0)", "os._exit(0) is called while the file is loaded"),
        ("def f(:\n", "invalid syntax"),
        ("import no_such_module", "ModuleNotFoundError: No module named 'no_such_module'"),
        ("@kernel\ndef f(x): ...", "parameter x has no type hint"),
        ("@kernel\ndef f(x: int): ...", "parameter x is hinted <class 'int'>"),
        ("@kernel(n=(1, 2, 3, 4))\ndef f(x: Size('n')): ...", "is not (low, high) or (low, high, step)"),
        ("@kernel(n='1 +')\ndef f(x: Size('n')): ...", "is no expression of sizes"),
    ],
)
def test_specs_that_cannot_be_loaded(text: str, words: str, write: Write) -> None:
    with pytest.raises(UsageProblem, match=re.escape(words)):
        load_spec(write(text))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("@kernel\ndef f(x: In('int8', 100_000, 100_000)): ...", "10,000,000,000 elements, more than fit"),
        (
            "@kernel(n=(1, 5))\ndef f(x: In('int8', 'm * 2')): ...",
            "asks for dimension 'm', which does not exist",
        ),
        ("@kernel\ndef f(x: Alias('y')): ...", "alias x is of 'y', no tensor"),
        ("@kernel\ndef f(x: Inline('int8', 1)): ...", "Inline(...) is a member of a Struct"),
        ("@kernel\ndef f(x: Struct(a=Global('int8', 1))): ...", "Global(...) cannot be a member of a struct"),
        ("@kernel\ndef f(g: Global('int8', 1), x: Value('int8')): ...", "x is a C parameter: list it before"),
        ("@kernel\ndef f(x: Callback(abs, ('complex64',))): ...", "dtype 'complex64'"),
        ("@kernel(n=(1, 5), requires='n > 9')\ndef f(x: Size('n')): ...", ""),
    ],
)
def test_specs_that_contradict_themselves(text: str, words: str, write: Write) -> None:
    kernels = load_spec(write(text))
    if words:
        with pytest.raises(UsageProblem, match=re.escape(words)):
            validate(kernels)
        return
    from emu.verify.strategies import cases

    with pytest.raises(UsageProblem, match="none of 400 tries fulfils requires="):
        next(cases(next(iter(kernels.values())), 0, 0, 1))


def test_huge_dimensions_are_no_huge_tensors(write: Write) -> None:
    from emu.verify.strategies import cases

    text = "@kernel(n=(1, 10_000_000_000))\ndef f(x: In('int8', 'n'), n: Size('n', 'int64')): ..."
    kernels = load_spec(write(text))
    validate(kernels)
    assert max(case.dims["n"] for _, case in cases(kernels["f"], 0, 0, 60)) <= 200_000


@pytest.mark.parametrize(("machine", "name"), [(40, "ARM"), (243, "RISC-V")])
def test_images_of_other_processors(machine: int, name: str, elf: Path, tmp_path: Path) -> None:
    data = bytearray(elf.read_bytes())
    data[18:20] = machine.to_bytes(2, "little")
    with pytest.raises(ImageError, match=name):
        load_image(bytes(data))


def test_a_stripped_image_says_what_to_give(
    elf: Path, toolchain: Toolchain, write: Write, tmp_path: Path
) -> None:
    stripped = tmp_path / "app.elf"
    shutil.copy(elf, stripped)
    toolchain.run("strip", [stripped])
    kernels = load_spec(write("@kernel\ndef measure(n: Value('int32')) -> np.int32: ..."))
    with pytest.raises(UsageProblem, match=r"has no symbols.*before strip"):
        check_image(load_image(stripped), list(kernels.values()))


RUNS = """
import os
@kernel(n=(1, 40))
def heapy(x: In("int8", "n"), n: Size("n"), leak: Value("int32", "[0,1]")) -> np.int32:
    while n > 5:
        pass
    return int(x.astype(int).sum())
@kernel
def poly(x: Value("float64"), y: Value("float64"), k: Value("int64")) -> np.float64:
    os._exit(0)
@kernel(served={"sensor": lambda call: 1 // 0})
def measure(n: Value("int32", "[0,9]")) -> np.int32:
    return 1
@kernel(n=(0, 9))
def limits(x: In("int8", "n"), n: Size("n")):
    pass
"""
UNMAPPED = """
@kernel(n=(1, 20))
def lookup(i: Value("int32", "[0,9]"), n: Size("n"), t: Global("int8", "n", at="g_table+4", pointer=True)) -> np.int32:
    return 0
@kernel
def measure(n: Value("int32", "[0,9]")) -> np.int32:
    return 1
"""


def run_spec(spec: Path, elf: Path, folder: Path, *more: str) -> tuple[int, str]:
    """Exit code and output, as one line without frames."""
    words = ["verify", "--elf", str(elf), "--spec", str(spec), "--no-memory", "--examples", "20", *more]
    done = emu(*words, folder=folder)
    assert not done.stderr
    return done.returncode, " ".join(done.stdout.replace("│", " ").split())


def test_trouble_with_mirrors_is_told_and_the_run_goes_on(write: Write, elf: Path, tmp_path: Path) -> None:
    code, text = run_spec(write(RUNS), elf, tmp_path, "--mirror-seconds", "5")
    assert code == 5, text
    assert "the mirror did not return within 5 s (--mirror-seconds) for example" in text
    assert "worked on examples 0..19 of heapy" in text
    assert "the worker process died (exit status 0) while it worked on examples 0..19 of poly" in text
    assert "sensor, served by the spec of kernel measure, raised ZeroDivisionError" in text
    assert "4 kernels: 1 equal, 3 tool error; 20 examples" in text


def test_calls_into_nothing_are_board_faults(write: Write, elf: Path, tmp_path: Path) -> None:
    code, text = run_spec(write(UNMAPPED), elf, tmp_path)
    assert code == 4, text
    assert "jump to 0x00000000 (no memory): no code can run there" in text  # g_hook leads nowhere
    assert "load of 4 bytes at 0x60040000" in text  # sensor() reads a register that nobody models
    assert "2 kernels: 2 board fault" in text


def test_watching_runs_again_for_every_new_build(write: Write, elf: Path, tmp_path: Path) -> None:
    spec = write("@kernel(n=(0, 9))\ndef limits(x: In('int8', 'n'), n: Size('n')): ...")
    watched, log = tmp_path / "build.elf", tmp_path / "log"
    shutil.copy(elf, watched)
    words = ["verify", "--watch", str(watched), "--spec", str(spec), "--no-memory", "--examples", "4"]
    with log.open("w") as out:
        process = subprocess.Popen(
            [sys.executable, "-u", "-m", "emu.cli", *words],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "200"},
            stdout=out,
            stderr=subprocess.STDOUT,
        )
        try:
            wait_for(log, "exit code 0; waiting", 1)
            whole = watched.read_bytes()
            watched.write_bytes(whole[:3000])  # a linker that has not finished
            time.sleep(1.5)
            assert log.read_text().count("exit code") == 1
            watched.write_bytes(whole)
            wait_for(log, "exit code 0; waiting", 2)
            spec.write_text(spec.read_text().replace("limits", "no_limits"))
            wait_for(log, "exit code 2; waiting", 1)
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(30) == 2
    assert "truncated" not in log.read_text()


def wait_for(log: Path, text: str, count: int) -> None:
    end = time.monotonic() + 240
    while log.read_text().count(text) < count:
        assert time.monotonic() < end, log.read_text()
        time.sleep(0.1)


def test_a_draft_runs_once_the_mirror_is_written(elf: Path, tmp_path: Path) -> None:
    drafted = tmp_path / "draft.py"
    done = emu("spec", "new", str(elf), "limits", "-o", str(drafted))
    assert done.returncode == 0, done.stderr
    assert emu("spec", "new", str(elf), "limits", "-o", str(drafted)).returncode == 2
    text = drafted.read_text()
    assert "pair_t limits(const int8_t * x, int n)" in text
    raising = next(line for line in text.splitlines() if "NotImplementedError" in line)
    drafted.write_text(text.replace(raising, "    return min([127, *x.tolist()]), max([-128, *x.tolist()])"))
    done = emu(
        "verify",
        "--elf",
        str(elf),
        "--spec",
        str(drafted),
        "--no-memory",
        "--examples",
        "40",
        folder=tmp_path,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "name", ["layer", "by_value", "lookup", "inplace", "poly", "Scale::run", "later", "big", "twice(int)"]
)
@pytest.mark.parametrize("debug", [True, False])
def test_every_draft_is_a_spec(
    name: str, debug: bool, elf: Path, toolchain: Toolchain, write: Write, tmp_path: Path
) -> None:
    path = tmp_path / "draft.elf"
    shutil.copy(elf, path)
    if not debug:
        toolchain.run("strip", ["-g", path])
    image = load_image(path)
    file = write(draft(image, name, "app.elf"))
    kernels = load_spec(file)
    validate(kernels)
    if debug:
        check_image(image, list(kernels.values()))
