"""``emu verify --check``: what the chip does silently is told in the report, with symbol and line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from emu.toolchain import Toolchain
from emu.verify.command import VerifyRequest, run
from emu.verify.errors import UsageProblem
from emu.verify.noticed import CASES

ROOT = Path(__file__).parents[2]
SOURCE = r"""
#include <stdint.h>
void _start(void) { for (;;) ; }
#define F(name) int32_t name(int8_t *y, int32_t n)
F(innocent) { for (int32_t i = 0; i < n; i++) y[i] = 1; return n; }
F(misaligned) { __asm__ volatile("ee.vld.128.ip q0, %0, 0" :: "a"(y)); return innocent(y, n); }
F(saturates) {
    __asm__ volatile("movi a8, 100\n ee.movi.32.q q0, a8, 0\n ee.vadds.s8 q0, q0, q0" ::: "a8");
    return innocent(y, n);
}
F(reads_old_stack) { volatile int32_t room[8]; int32_t old = room[3]; (void)old; return innocent(y, n); }
F(below_stack) {
    __asm__ volatile("addi a8, a1, -64\n s32i %0, a8, 0" :: "a"(n) : "a8");
    return innocent(y, n);
}
F(reads_far) { volatile int8_t *far = y; (void)far[n + 1000]; return innocent(y, n); }
F(loses_saved) { __asm__ volatile("movi a8, 5\n mov a9, a15" ::: "a8", "a9"); return innocent(y, n); }
"""
SCRIPT = """
ENTRY(_start)
SECTIONS { .text 0x40378000 : { *(.literal*) *(.text*) } .data 0x3FC98000 : { *(.data .bss) } }
"""
SPEC = """
from emu.kernels.spec import Dim, Scalar, Tensor, kernel

def ones(y, n):
    y[:] = 1
    return n

for symbol in {symbols!r}:
    kernel(symbol, Tensor("y", "int8", ("n",), role="out"), Scalar("n", "int32", "n"),
           dims=(Dim("n", 1, 40),), returns="int32")(ones)
"""
KINDS = {
    "innocent": "",
    "misaligned": "vector access whose low address bits are dropped",
    "saturates": "saturation",
    "reads_old_stack": "read of memory that was never written",
    "below_stack": "access below the stack pointer",
    "reads_far": "access outside of the buffers",
    "loses_saved": "read of a register that the function never wrote",
}


@pytest.fixture(scope="module")
def folder(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An image and its spec."""
    place = Path(tmp_path_factory.mktemp("noticed"))
    (place / "noticed.c").write_text(SOURCE)
    toolchain.compile(place / "noticed.c", place / "noticed.o", ["-O1", "-g", "-ffreestanding"])
    (place / "noticed.ld").write_text(SCRIPT)
    (place / "spec.py").write_text(SPEC.format(symbols=list(KINDS)))
    toolchain.link([place / "noticed.o"], place / "noticed.elf", place / "noticed.ld")
    return place


def _run(folder: Path, *words: str) -> tuple[int, str, dict[str, dict[str, Any]]]:
    """Exit code, what was printed, and the JSON report by kernel."""
    command = [sys.executable, "-m", "emu.cli", "verify", "--elf", "noticed.elf", "--spec", "spec.py"]
    command += [
        "--examples",
        "40",
        "--jobs",
        "1",
        "--no-memory",
        "--no-bounds",
        "--json",
        "report.json",
        *words,
    ]
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "160"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr
    kernels = json.loads((folder / "report.json").read_text())["kernels"]
    return done.returncode, done.stdout, {entry["kernel"]: entry for entry in kernels}


def test_each_kind_is_told_with_its_place(folder: Path) -> None:
    code, text, kernels = _run(folder, "--check")
    assert code == 0, "findings are no verdicts"
    for symbol, kind in KINDS.items():
        entry = kernels[symbol]
        assert (entry["verdict"], entry["checked_examples"]) == ("equal", CASES)
        assert entry["stack_bytes"] >= 32
        kinds = {finding["kind"] for finding in entry["findings"]}
        also = {"access outside of the buffers"} if symbol == "misaligned" else set()
        assert kinds - also == ({kind} if kind else set()), symbol
        for finding in entry["findings"]:
            assert finding["symbol"].startswith(symbol)
            assert finding["source"].partition(":")[0].endswith("noticed.c")
            assert finding["count"] >= 1
            assert f"{kind}" in text
            assert finding["address"] in text


def test_without_the_option_nothing_is_looked_at(folder: Path) -> None:
    code, text, kernels = _run(folder)
    assert code == 0
    assert all(entry["checked_examples"] == 0 and not entry["findings"] for entry in kernels.values())
    assert "noticed in" not in text


def test_it_goes_with_images_only(folder: Path) -> None:
    with pytest.raises(UsageProblem, match="--check looks at examples of an image"):
        run(VerifyRequest(target="mirror", check=True))
    with pytest.raises(UsageProblem, match="not with --target board"):
        run(VerifyRequest(target="board", port="loop://", check=True))
    with pytest.raises(UsageProblem, match="not with --exhaustive"):
        run(VerifyRequest(exhaustive=True, check=True))
