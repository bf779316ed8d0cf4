"""Rows of docs/known-faults.md that bisecting has to localize: the instruction or its line is named."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from emu.bisect.findings import Finding
from emu.bisect.kernel import bisect_kernel
from emu.diagnose.reasons import Proof
from emu.image import load_image
from emu.kernels import load_all
from emu.kernels.spec import Dim, Kernel, Scalar, Tensor
from emu.toolchain import Toolchain
from emu.toolchain.build import build_firmware
from emu.verify.causes import Causes
from emu.verify.options import Options
from emu.verify.reference import reference_elf
from emu.verify.target import MirrorTarget
from tests.mutants import FOLDER, read_mutant
from tests.robust.odd_image import SCRIPT

KERNELS = load_all()


def bisected(mutant: str, symbol: str, toolchain: Toolchain, folder: Path) -> tuple[Finding, list[str]]:
    """The finding for a planted fault of the bundled firmware, and the reasons that are proved."""
    made = read_mutant(FOLDER / f"{mutant}.patch")
    bad = load_image(build_firmware(toolchain, folder, **made.build_options).elf)
    found = bisect_kernel(KERNELS[symbol], bad, load_image(reference_elf()))
    assert found.kernel is not None
    causes = Causes(Options(), MirrorTarget(), bad)
    reasons = causes.reasons(KERNELS[symbol], found.kernel.smallest.case)
    return found, [reason.name for reason in reasons if reason.proof is Proof.PROVED]


def lines_of(found: Finding, file: str) -> list[int]:
    """Source lines in a file that the finding points to."""
    assert found.instruction is not None
    return [place.line for place in found.places if place.file.endswith(file)]


def test_b001_the_early_end_of_a_loop(toolchain: Toolchain, tmp_path: Path):
    found, _ = bisected("loop-end-early", "dot_rows_s8", toolchain, tmp_path)
    assert found.kernel is not None
    assert found.kernel.smallest.weight <= 4
    assert lines_of(found, "dot_rows_s8.S")


def test_b009_the_order_of_ternary_codes(toolchain: Toolchain, tmp_path: Path):
    found, proved = bisected("ternary-high-bits-first-c", "dot_rows_ternary_c", toolchain, tmp_path)
    assert lines_of(found, "dot_ternary_c.c")
    assert proved == ["2-bit order"]


def test_b034_the_rounding_of_ties(toolchain: Toolchain, tmp_path: Path):
    found, proved = bisected("round-half-up-quantizers", "quantize_row_s8", toolchain, tmp_path)
    assert found.instruction is not None
    assert proved
    assert all(name.startswith("rounding, half up") for name in proved)


STATE = r"""
#include <stdint.h>
void _start(void) { for (;;) ; }
struct first { int32_t scale; int32_t shift; int32_t extra[2]; };
struct second { int32_t beta; int32_t rest; };
uint8_t first_state[FIRST_BYTES] __attribute__((aligned(4), section(".data.1")));
struct second second_state __attribute__((section(".data.2")));

__attribute__((noinline)) static void second_init(int32_t beta)
{
    second_state.beta = beta;
    second_state.rest = 1;
}

__attribute__((noinline)) static void first_init(int32_t scale)
{
    volatile struct first *state = (volatile struct first *)(void *)first_state;
    state->scale = scale;
    state->shift = 2;
    state->extra[0] = 7;
    state->extra[1] = 9;
}

__attribute__((noinline)) static void softmax_like(const int32_t *x, int32_t n, int32_t *y)
{
    for (int32_t i = 0; i < n; i++)
        y[i] = x[i] * second_state.beta;
}

void two_layers(const int32_t *x, int32_t n, int32_t beta, int32_t *y)
{
    second_init(beta);
    first_init(3);
    softmax_like(x, n, y);
}
"""


SIDE_BY_SIDE = SCRIPT.replace(".data .data.*)", ".data) *(.data.1) *(.data.2)")


def two_layers(x, n, beta, y):
    y[:] = x * beta


TWO_LAYERS = Kernel(
    "two_layers",
    (
        Tensor("x", "int32", ("n",), values="[-1000,1000]"),
        Scalar("n", "int32", "n"),
        Scalar("beta", "int32", values="[-1000,1000]"),
        Tensor("y", "int32", ("n",), role="out"),
    ),
    two_layers,
    dims=(Dim("n", 1, 8),),
)


def state_image(toolchain: Toolchain, folder: Path, size: int):
    """Two persistent states side by side; ``size``: bytes that the first one gets (it needs 16)."""
    (folder / "state.c").write_text(STATE)
    (folder / "state.ld").write_text(SIDE_BY_SIDE)
    flags = ["-O1", "-g", "-ffreestanding", "-fno-strict-aliasing", f"-DFIRST_BYTES={size}"]
    toolchain.compile(folder / "state.c", folder / f"state{size}.o", flags)
    elf = folder / f"state{size}.elf"
    toolchain.link([folder / f"state{size}.o"], elf, folder / "state.ld")
    return load_image(elf)


def test_b060_the_writer_is_named_and_not_the_reader(toolchain: Toolchain, tmp_path: Path):
    """The first state is too small by 8; its init overwrites the beta of a later layer."""
    good, bad = (state_image(toolchain, tmp_path, size) for size in (16, 8))
    assert bisect_kernel(TWO_LAYERS, good).equal
    found = bisect_kernel(TWO_LAYERS, bad, good)
    assert found.instruction is not None
    assert found.function == "first_init"
    assert found.instruction.bad.where.file.endswith("state.c")
    line = STATE.splitlines()[found.instruction.bad.where.line - 1]
    assert "state->extra[0] = 7" in line


def test_b006_the_way_of_rounding_is_named():
    """The three ways of requantization differ where the row says so."""
    from emu.diagnose.requantize import double_rounding, half_even, single_rounding, way_of

    rows = ((7984, 1583594044, -9, 12, 11), (1, 1 << 30, -1, 1, 0), (-2, 1 << 30, -1, -1, 0))
    for acc, multiplier, shift, double, single in rows:
        assert double_rounding(acc, multiplier, shift) == double
        assert single_rounding(acc, multiplier, shift) == single
    assert double_rounding(585, 1527099593, -6) == single_rounding(585, 1527099593, -6) == 7
    assert half_even(13, 1 << 30, 0) == 6
    assert way_of(double_rounding) == "double rounding"
    assert way_of(single_rounding) == "single rounding"
    assert way_of(lambda a, b, c: a + b + c) is None
    assert way_of(np.add) is None
