"""The benchmark images: recorded, complete, the same objects for the chip and for QEMU."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest

from emu.bench import native, qemu
from emu.bench.build import (
    CHIP,
    CHIP_KERNELS,
    LINUX,
    LINUX_KERNELS,
    NOT_COMPARABLE,
    check,
    find_image,
    golden_folder,
)
from emu.bench.kernel_rounds import kernels_for_qemu
from emu.bench.native import NativePrograms
from emu.bench.programs import PROGRAMS, program
from emu.bench.qemu import QemuError, QemuProgram
from emu.bench.reach import reachable, why_not_on_qemu
from emu.cpu.engine import Engine
from emu.image import load_image
from emu.toolchain import Toolchain

needs_qemu = pytest.mark.skipif(bool(qemu.why_not()), reason=qemu.why_not())
needs_gcc = pytest.mark.skipif(bool(native.why_not()), reason=native.why_not())


@pytest.fixture(scope="module")
def chip():
    return load_image(find_image(CHIP))


@pytest.mark.parametrize("recipe", [CHIP, LINUX], ids=lambda recipe: recipe.elf)
def test_recorded_images_are_what_the_sources_give(toolchain: Toolchain, recipe):
    assert find_image(recipe) == golden_folder(recipe) / recipe.elf, "python -m emu.bench.build records them"
    assert check(recipe) in (0, NOT_COMPARABLE)


def test_every_program_is_there(chip):
    found = {s.name for s in chip.symbols.functions() if s.name.startswith("bench_")}
    assert found == {p.symbol for p in PROGRAMS}


@pytest.mark.parametrize("name", [p.symbol for p in PROGRAMS])
def test_no_program_needs_what_qemu_lacks(chip, name):
    assert why_not_on_qemu(chip, name) == ""


def test_reach_follows_calls_and_names_what_is_lacking(chip):
    found = reachable(chip, "bench_softmax")
    assert found["quou"] == "div_f32", "the division is reached through a call"
    from emu.verify.reference import reference_elf

    reference = load_image(reference_elf())
    assert "no high product" in why_not_on_qemu(reference, "digest_u8")
    assert "vector unit" in why_not_on_qemu(reference, "gemm_s8")


def mnemonics(toolchain: Toolchain, elf) -> dict[str, list[str]]:
    """Instructions of each program's functions, by name; what the linker may exchange counts as equal."""
    found: dict[str, list[str]] = {}
    for line in toolchain.objdump(elf, ["-d", "--no-show-raw-insn"]).splitlines():
        if heading := re.match(r"[0-9a-f]+ <(.+)>:$", line):
            body = found.setdefault(heading[1], [])
        elif code := re.match(r"\s*[0-9a-f]+:\s+([a-z]\S*)", line):
            body.append(code[1].removesuffix(".n"))
    return found


def test_both_images_execute_the_same_instructions(toolchain: Toolchain):
    """What is counted on the engine is what QEMU runs."""
    chip, linux = (mnemonics(toolchain, find_image(recipe)) for recipe in (CHIP, LINUX))
    shared = set(chip) & set(linux) - {"_start"}
    assert {p.symbol for p in PROGRAMS} <= shared
    assert {name for name in shared if chip[name] != linux[name]} == set()


def test_both_images_of_the_kernels_execute_the_same_instructions(toolchain: Toolchain):
    chip, linux = (mnemonics(toolchain, find_image(recipe)) for recipe in (CHIP_KERNELS, LINUX_KERNELS))
    shared = set(chip) & set(linux) - {"_start"}
    symbols = {k.symbol for k in kernels_for_qemu(load_image(find_image(CHIP_KERNELS)))}
    assert symbols | {"rounds_run", "rounds_nothing"} <= shared
    assert {name for name in shared if chip[name] != linux[name]} == set()


@needs_qemu
@pytest.mark.parametrize("name", ["crc32", "fibonacci", "softmax", "sort"])
def test_qemu_counts_the_same_instructions(chip, name, tmp_path):
    """QEMU's own log of executed instructions, for two sizes: the difference is that of our counts.

    An instruction that finds its window occupied or spilled is logged again when it runs after the exception,
    which QEMU handles inside.
    """
    p = program(name)
    sizes = {"fibonacci": (3, 5)}.get(name, (p.least + 1, p.least + 4))
    engine = Engine(chip)
    ours = [engine.call(p.symbol, [engine.arena.start, n, 77, 1]).instructions for n in sizes]
    logged = [_logged(p.symbol, n, tmp_path / f"log{n}") for n in sizes]
    assert logged[1] - logged[0] == ours[1] - ours[0]


def _logged(symbol, size, log):
    options = [qemu.one_at_a_time(), "-d", "exec,nochain", "-D", str(log)]
    with QemuProgram(find_image(LINUX), options) as running:
        running.call(symbol, [running.arena, size, 77, 1])
    places = re.findall(r"^Trace \d+: \S+ \[\w+/(\w+)/", log.read_text(), re.MULTILINE)
    assert places, "QEMU's log looks different in this version"
    return 1 + sum(a != b for a, b in pairwise(places))


@needs_qemu
def test_a_program_that_ends_qemu_is_reported():
    running = QemuProgram(find_image(LINUX))
    with running, pytest.raises(QemuError, match=r"qemu-xtensa ended with status .*signal"):
        running.call(0x10)  # nothing is there
    with QemuProgram(find_image(LINUX)) as running:
        running.write(running.arena, b"hello")
        assert running.read(running.arena, 5) == b"hello"
        with pytest.raises(KeyError):
            running.call("bench_missing")


def test_missing_qemu_and_gcc_are_named(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda name: None)
    assert "apt-get install qemu-user" in qemu.why_not.__wrapped__()
    assert "apt-get install gcc" in native.why_not.__wrapped__()


@needs_gcc
def test_native_programs_can_be_built():
    import numpy as np

    p = program("fibonacci")
    work = np.zeros(16, np.uint8)
    assert NativePrograms().call(p, work, 10, 1, 1) == int(work[:4].view(np.uint32)[0])


@needs_qemu
def test_an_image_without_the_right_to_execute_still_runs(tmp_path):
    copy = tmp_path / "copy.elf"
    copy.write_bytes(find_image(LINUX).read_bytes())
    copy.chmod(0o400)
    with QemuProgram(copy) as running:
        assert running.call("bench_ackermann", [running.arena, 1, 1, 1])[0]
