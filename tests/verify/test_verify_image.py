"""The image as a target: what a function does wrong is caught, named, and blamed on the right party."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from strange_image import PLAIN, build, many, plain, returning

from emu.image import load_image
from emu.kernels import load_all
from emu.kernels.spec import Kernel
from emu.toolchain import Toolchain
from emu.verify.errors import UsageProblem
from emu.verify.image_check import check_symbols
from emu.verify.options import Options
from emu.verify.reference import reference_elf
from emu.verify.results import Piece
from emu.verify.strategies import cases
from emu.verify.targets import make_runner
from emu.verify.verdict import Verdict

SETTINGS = {"shrink_seconds": 20.0, "shrink_calls": 600, "budget": 20_000}


@pytest.fixture(scope="module")
def strange(toolchain: Toolchain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(toolchain, Path(tmp_path_factory.mktemp("strange")))


def verify(elf: Path, kernel: Kernel, count: int = 200, **options) -> Piece:
    runner = make_runner(Options(elf=elf, **{**SETTINGS, **options}))
    piece = runner.run(kernel, 0, cases(kernel, 0, 0, count))
    assert not piece.error
    return piece


def failing(elf: Path, symbol: str, **options):
    failure = verify(elf, plain(symbol), **options).failure
    assert failure is not None, f"{symbol} was not caught"
    return failure


@pytest.mark.parametrize("tier", ["translator", "stepper"])
def test_good_functions_are_equal(strange, tier):
    for kernel in [plain("good"), many(), *returning()]:
        piece = verify(strange, kernel, 200 if tier == "translator" else 40, tier=tier)
        assert piece.bad == 0, kernel.symbol
        assert piece.instructions > 0


def test_endless_loop_is_stopped_by_the_budget(strange):
    failure = failing(strange, "endless")
    assert failure.outcome.verdict is Verdict.BOARD_FAULT
    assert failure.outcome.fault.kind == "instruction budget used up"
    assert "strange.c" in failure.outcome.fault.message
    assert "--budget" in failure.outcome.fault.message
    assert failure.case.dims["n"] == 0


@pytest.mark.parametrize(
    ("symbol", "words"),
    [("reads_behind", "0 bytes behind the end of x"), ("reads_before", "3 bytes before x")],
)
def test_reads_outside_trap_although_the_result_is_right(strange, symbol, words):
    failure = failing(strange, symbol)
    assert failure.outcome.verdict is Verdict.BOARD_FAULT
    assert failure.outcome.fault.kind == "read outside of the buffers"
    assert words in failure.outcome.fault.message
    assert verify(strange, plain(symbol), bounds=False).bad == 0


@pytest.mark.parametrize(
    ("symbol", "margin", "kind"),
    [
        ("reads_behind", 1, ""),
        ("reads_before", 3, ""),
        ("reads_before", 2, "read outside of the buffers"),
        ("writes_behind", 64, "write outside of the buffers"),
    ],
)
def test_a_margin_may_be_read_as_far_as_it_goes(strange, symbol, margin, kind):
    kernel = plain(symbol)
    params = tuple(p if p.name == "n" else replace(p, margin=margin) for p in kernel.params)
    failure = verify(strange, replace(kernel, params=params), bounds=True).failure
    assert (failure.outcome.fault.kind if failure else "") == kind


@pytest.mark.parametrize(
    ("symbol", "text"),
    [
        ("writes_behind", "1 byte behind y changed, first 0 bytes behind its end"),
        ("writes_before", "1 byte before y changed, first 2 bytes before it"),
        ("writes_input", "1 byte of input x changed, first at byte 0"),
    ],
)
def test_writes_outside_are_damage(strange, symbol, text):
    failure = failing(strange, symbol, bounds=False)
    assert failure.outcome.verdict is Verdict.MISMATCH
    assert [str(d) for d in failure.outcome.mismatch.damage] == [text]
    assert failure.outcome.mismatch.differences == []
    assert failing(strange, symbol, bounds=True).outcome.fault.kind == "write outside of the buffers"


def test_traps_name_symbol_and_line(strange):
    fault = failing(strange, "wild").outcome.fault
    assert fault.kind == "store to unmapped memory"
    assert "wild+" in fault.message
    assert "strange.c:" in fault.message
    fault = failing(strange, "into_data").outcome.fault
    assert fault.kind == "jump to non-code"
    assert "0x3fc98000" in fault.message


def test_broken_calling_convention_is_a_fault(strange):
    fault = failing(strange, "breaks_abi").outcome.fault
    assert fault.kind == "calling convention broken"
    assert "PS.INTLEVEL" in fault.message


def test_state_kept_between_calls_shows(strange):
    failure = failing(strange, "remembers")
    assert failure.outcome.mismatch.differences[0].actual_bits == 77


@pytest.mark.parametrize("symbol", ["reads_garbage", "dirty_float"])
def test_use_of_what_callers_left_shows_and_is_told(strange, symbol):
    failure = failing(strange, symbol)
    assert failure.outcome.verdict is Verdict.MISMATCH
    assert any("left by" in line for line in failure.explanation)


def test_every_call_starts_from_the_same_machine(strange):
    kernel = plain("remembers")
    runner = make_runner(Options(elf=strange, **SETTINGS))
    seen = [(n, runner.check(kernel, c).bad) for n, c in cases(kernel, 0, 0, 60)]
    alone = []
    for number, _ in seen:
        (one,) = cases(kernel, 0, number, 1)
        alone.append((number, make_runner(Options(elf=strange, **SETTINGS)).check(kernel, one[1]).bad))
    assert seen == alone
    assert {bad for _, bad in seen} == {True, False}


def test_a_trap_leaves_the_next_call_alone(strange):
    runner = make_runner(Options(elf=strange, **SETTINGS))
    for symbol in ("endless", "wild", "into_data", "breaks_abi", "good"):
        kernel = plain(symbol)
        outcomes = [runner.check(kernel, c) for _, c in cases(kernel, 0, 0, 8)]
        assert all((o.verdict is Verdict.EQUAL) == (symbol == "good") for o in outcomes)


def test_missing_functions_are_named_with_similar_ones(strange):
    image = load_image(strange)
    check_symbols(image, [plain(s) for s in PLAIN])
    with pytest.raises(UsageProblem, match=r"no function goood \(did you mean good"):
        check_symbols(image, [plain("goood"), plain("good")])
    with pytest.raises(UsageProblem, match=r"sink at .* is data, not a function"):
        check_symbols(image, [plain("sink")])


def test_contraction_is_explained_with_its_instructions(toolchain, tmp_path):
    """docs/numerics.md section 1: a = 0x400286FF, x = 0xBFED6A75: -116 with two roundings, -115 with one."""
    from emu.toolchain.build import build_firmware
    from emu.verify.case import Plan, materialise

    elf = build_firmware(toolchain, tmp_path, extra_flags=("-ffp-contract=fast",), allow_fused=True).elf
    kernel = load_all()["quantize_row_s8"]
    sizes = {"rows": 1, "cols": 2, "x_gap": 0, "q_gap": 0, "kind": 0}
    case = materialise(kernel, Plan(sizes, ("small",) * 4, (0,) * 4, 1, 0))
    case.arrays["x"].view(np.uint32)[:] = (0x400286FF, 0xBFED6A75)
    runner = make_runner(Options(elf=elf))
    outcome = runner.check(kernel, case)
    (found,) = outcome.mismatch.differences
    assert (found.output, found.index) == ("q", (1,))
    assert (found.expected_bits, found.actual_bits) == (-116 & 0xFF, -115 & 0xFF)
    lines = runner.failure(kernel, 0, case, outcome, "a test").explanation
    assert "contraction" in lines[0]
    assert any("quantize_row_s8+" in line and "rne.h:" in line and "madd.s" in line for line in lines)
    assert not make_runner(Options(elf=elf, fused="two-roundings")).check(kernel, case).bad
    assert not make_runner(Options(elf=reference_elf())).check(kernel, case).bad


@pytest.mark.parametrize("symbol", ["dot_rows_s8", "exp_array", "quantize_row_s8", "crc32_bytes"])
def test_tiers_and_bounds_agree_on_the_reference_image(symbol):
    kernel = load_all()[symbol]
    for options in ({"tier": "stepper"}, {"bounds": True}, {"bounds": False}, {"fused": "two-roundings"}):
        runner = make_runner(Options(elf=reference_elf(), **options))
        piece = runner.run(kernel, 0, cases(kernel, 4, 40, 24))
        assert (piece.bad, piece.error, piece.examples) == (0, "", 24)
