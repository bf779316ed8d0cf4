"""Exhaustive runs: every pattern once, slices that add up, resumption, and a single wrong pattern found."""

from __future__ import annotations

import numpy as np
import pytest
from faulty import KERNELS, runner

from emu.verify.casefile import load
from emu.verify.errors import UsageProblem
from emu.verify.exhaustive import (
    BLOCK,
    block_case,
    block_count,
    domain,
    elementwise,
    parse_slice,
    patterns,
    run_exhaustive,
)
from emu.verify.options import Options
from emu.verify.record import Record, source_fingerprint
from emu.verify.verdict import Verdict

WHOLE = ["rne_array", "exp_array", "silu_array", "gelu_array", "sqrt_array", "fmix32_array"]


@pytest.mark.parametrize("symbol", WHOLE)
def test_whole_line_kernels_cover_all_patterns(symbol):
    kernel = KERNELS[symbol]
    assert domain(kernel) == (0, 0xFFFFFFFF)
    assert block_count(kernel) * BLOCK == 1 << 32
    assert patterns(kernel, 0).view(np.uint32)[0] == 0
    last = patterns(kernel, block_count(kernel) - 1).view(np.uint32)
    assert (last.size == 0) == (symbol == "rne_array")
    assert not last.size or last[-1] == 0xFFFFFFFF


@pytest.mark.parametrize(("symbol", "count"), [("ln_array", 0x3F000001), ("sincos_turn_array", 0x3F800000)])
def test_bounded_domains_are_covered_exactly(symbol, count):
    kernel = KERNELS[symbol]
    first, last = domain(kernel)
    assert last - first + 1 == count
    assert sum(patterns(kernel, b).size for b in (0, 1, block_count(kernel) - 1)) == 2 * BLOCK + (
        count - (block_count(kernel) - 1) * BLOCK
    )
    assert patterns(kernel, block_count(kernel) - 1).view(np.uint32)[-1] == last


def test_finite_families_leave_out_exponent_255():
    kernel = KERNELS["rne_array"]
    block = 0x7F800000 // BLOCK
    assert patterns(kernel, block).size == 0
    assert patterns(kernel, block - 1).size == BLOCK
    seen = patterns(KERNELS["exp_array"], block)
    assert np.isinf(seen[0])
    assert np.isnan(seen[1:]).all()


def test_block_case_fills_tables_and_moves_pointers():
    kernel = KERNELS["gelu_array"]
    case = block_case(kernel, 5)
    assert case.arrays["x"].size == BLOCK
    assert case.arrays["value"].any()
    assert {block_case(kernel, b).offsets["x"] for b in range(4)} == {0, 4, 8, 12}


def test_slices_partition_the_blocks():
    total = block_count(KERNELS["exp_array"])
    seen = sorted(b for i in range(7) for b in range(i, total, 7))
    assert seen == list(range(total))


@pytest.mark.parametrize("text", ["3", "a/b", "4/4", "-1/3", "1/2/3"])
def test_bad_slices(text):
    with pytest.raises(UsageProblem, match="slice"):
        parse_slice(text)


def run(symbols, mirrors, folder, part=(0, 1 << 11), fingerprint="f", **options):
    chosen = [KERNELS[s] for s in symbols]
    made = Options(target="mirror", jobs=2, out=folder, **options)
    return run_exhaustive(chosen, made, lambda: runner(mirrors, **options), part, fingerprint)


def test_equal_slice_counts_its_patterns(tmp_path):
    result = run(["exp_array", "ln_array"], {}, tmp_path)
    assert {r.verdict for r in result.results.values()} == {Verdict.EQUAL}
    assert result.results["exp_array"].examples == 4 * BLOCK
    assert result.results["exp_array"].examples == result.results["exp_array"].wanted


def test_one_wrong_pattern_among_all_is_found_and_shrunk(tmp_path):
    wrong = np.uint32(0x40490FDB)

    def off(x, y, n):
        KERNELS["exp_array"].mirror(x, y, n)
        y.view(np.uint32)[x.view(np.uint32) == wrong] += 1

    block = 0x40490FDB // BLOCK
    result = run(["exp_array"], {"exp_array": off}, tmp_path, part=(block % 2048, 2048))
    found = result.results["exp_array"]
    assert found.verdict is Verdict.MISMATCH
    assert found.bad == 1
    assert found.failure is not None
    assert found.failure.case.arrays["x"].view(np.uint32).tolist() == [0x40490FDB]
    kernel, case = load(next(tmp_path.glob("exp_array-*.json")), dict(KERNELS))
    assert kernel.symbol == "exp_array"
    assert case.arrays["x"].size == 1


def test_interrupted_run_goes_on(tmp_path):
    kernel = KERNELS["exp_array"]
    Record(tmp_path, kernel, "f", BLOCK).add([0, 2048])
    result = run(["exp_array"], {}, tmp_path)
    assert result.results["exp_array"].examples == 4 * BLOCK
    assert any("1,048,576 patterns were done before" in note for note in result.notes)
    assert Record(tmp_path, kernel, "f", BLOCK).done == {0, 2048, 4096, 6144}
    again = run(["exp_array"], {}, tmp_path)
    assert again.results["exp_array"].verdict is Verdict.EQUAL
    assert again.results["exp_array"].pieces == 0


@pytest.mark.parametrize(
    "text", ["", "{", '{"fingerprint": "f", "block": 524288}', "[]", '{"fingerprint": 1}']
)
def test_damaged_record_starts_anew(tmp_path, text):
    (tmp_path / "exhaustive-exp_array.json").write_text(text)
    assert Record(tmp_path, KERNELS["exp_array"], "f", BLOCK).done == set()


def test_record_of_other_code_is_not_believed(tmp_path):
    kernel = KERNELS["exp_array"]
    Record(tmp_path, kernel, "old", BLOCK).add([1])
    assert Record(tmp_path, kernel, "new", BLOCK).done == set()
    assert Record(None, kernel, "old", BLOCK).done == set()


def test_fingerprint_follows_image_and_options():
    a = source_fingerprint("00", Options())
    assert a == source_fingerprint("00", Options())
    assert a != source_fingerprint("01", Options())
    assert a != source_fingerprint("00", Options(tier="stepper"))


def test_kernels_without_exhaustive_run_are_refused():
    with pytest.raises(UsageProblem, match="not elementwise"):
        elementwise(KERNELS["dot_rows_s8"])
