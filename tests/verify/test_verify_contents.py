"""Value families and kinds: in range, of the right type, with the extremes, and never hiding faults."""

from __future__ import annotations

import numpy as np
import pytest

from emu.verify.case import generator
from emu.verify.contents import KINDS, Source, generate, kinds_for
from emu.verify.errors import UsageProblem
from emu.verify.families import Integers, add_family, family

FAMILIES = [
    ("any", "float32"),
    ("finite", "float32"),
    ("unit", "float32"),
    ("ln_domain", "float32"),
    ("moderate", "float32"),
    ("gelu", "float32"),
    ("(-6,6]", "float32"),
    ("s8", "int8"),
    ("s8_full", "int8"),
    ("u8", "uint8"),
    ("s32", "int32"),
    ("codes", "uint8"),
    ("bits", "uint32"),
    ("bits", "uint64"),
    ("any", "int16"),
    ("[3,9)", "int32"),
    ("[0,0]", "int16"),
    ("[5,5]", "uint8"),
    ("[-20,-12]", "int8"),
]


def inside(name, values):
    with np.errstate(invalid="ignore"):
        v = values.astype(np.float64)
    match name:
        case "finite":
            return np.isfinite(v)
        case "unit":
            return (v >= 0) & (v < 1) & ~np.signbit(values)
        case "ln_domain":
            return (v >= 2.0**-126) & (v <= 1)
        case "moderate" | "gelu":
            return np.isfinite(v) & ((v == 0) | ((np.abs(v) >= 2.0**-20) & (np.abs(v) <= 2.0**20)))
        case "(-6,6]":
            return (v > -6) & (v <= 6)
        case "s8":
            return v > -128
        case "[3,9)":
            return (v >= 3) & (v < 9)
        case "[0,0]" | "[5,5]":
            return v == int(name[1])
        case "[-20,-12]":
            return (v >= -20) & (v <= -12)
    return np.ones(values.size, bool)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("name", "dtype"), FAMILIES)
def test_every_kind_stays_inside_every_family(name, dtype, kind):
    chosen = family(name, dtype)
    for seed, n, columns in ((1, 0, 0), (2, 1, 1), (3, 2, 0), (4, 257, 16), (5, 4096, 33), (6, 40, 100)):
        array = generate(kind, Source(chosen, generator(seed, 0), n, columns))
        assert array.dtype == np.dtype(dtype)
        assert array.size == n
        good = inside(name, array)
        assert good.all(), array[~good][:5]
        if n >= 2 and chosen.low < chosen.high:
            assert (array.view(f"u{array.itemsize}") != array.view(f"u{array.itemsize}")[0]).any()


@pytest.mark.parametrize(("name", "dtype"), FAMILIES)
def test_specials_are_inside_and_contain_the_ends(name, dtype):
    specials = family(name, dtype).specials
    assert inside(name, specials).all()
    if np.dtype(dtype).kind in "iu" and name in ("any", "bits", "s32", "u8", "s8_full"):
        info = np.iinfo(dtype)
        assert {info.min, info.max, 0, 1} <= {int(v) for v in specials}


def test_float_extremes_are_there():
    bits = set(family("finite", "float32").specials.view(np.uint32).tolist())
    wanted = (0x00000000, 0x80000000, 0x00000001, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0xFF7FFFFF, 0x3F000000)
    assert bits >= set(wanted)
    assert bits >= {0x0D800000, 0x0D7FFFFF, 0x3EFFFFFF, 0x42FE0000, 0xC2B00001, 0xC0C00000}
    nonfinite = set(family("any", "float32").nonfinite().view(np.uint32).tolist())
    assert nonfinite >= {0x7FC00000, 0xFFC00000, 0x7F800001, 0x7F800000, 0xFF800000}
    assert family("finite", "float32").nonfinite().size == 0


def test_wide_covers_the_whole_range():
    rng = generator(1, 2)
    exponents = np.unique(family("finite", "float32").wide(rng, 20000).view(np.uint32) >> 23 & 0xFF)
    assert exponents.size == 255
    assert np.unique(family("s8_full", "int8").wide(rng, 20000)).size == 256
    assert np.unique(family("unit", "float32").wide(rng, 20000).view(np.uint32) >> 23).size > 80


def test_runs_have_one_sign_and_large_values():
    array = generate("runs", Source(family("s8", "int8"), generator(3, 0), 4096, 128))
    assert (np.abs(array.astype(int)) >= 90).all()
    flips = np.flatnonzero(np.diff(np.sign(array)))
    assert flips.size <= 4096 // 16


def test_ties_are_exact_for_the_scale_of_the_call():
    chosen = family("moderate", "float32")
    array = generate("ties", Source(chosen, generator(5, 0), 4096, 64, scale=0.25))
    quotient = array / np.float32(0.25)
    assert (np.abs(quotient - np.rint(quotient)) == 0.5).sum() > 1000


def test_zero_rows_leave_one_row_alive():
    for seed in range(30):
        array = generate("zero_rows", Source(family("s8", "int8"), generator(seed, 0), 64, 16)).reshape(4, 16)
        assert array.any(axis=1).any()


def test_generator_is_the_same_everywhere():
    assert generator(7, 1).integers(0, 1 << 32, 3).tolist() == [3212799773, 3790166175, 1724460886]


def test_kinds_pool_names_known_kinds():
    for name, dtype in FAMILIES:
        assert set(kinds_for(family(name, dtype))) <= set(KINDS)


@pytest.mark.parametrize(
    ("name", "dtype"), [("s8", "float32"), ("unit", "int32"), ("nonsense", "int8"), ("[a,b)", "int32")]
)
def test_unknown_family_is_named_with_the_known_ones(name, dtype):
    with pytest.raises(UsageProblem, match=r"family|interval"):
        family(name, dtype)


def test_own_family():
    add_family("my_small_codes", "int8", Integers("int8", -3, 3))
    assert set(family("my_small_codes", "int8").wide(generator(1, 1), 200).tolist()) == set(range(-3, 4))
    with pytest.raises(UsageProblem, match="exists"):
        add_family("my_small_codes", "int8", Integers("int8"))
