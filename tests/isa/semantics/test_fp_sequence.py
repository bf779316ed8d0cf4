"""Estimates and division steps: values measured on a chip, and the sequences, correctly rounded in every
mode.

Rows marked "chip" were read off an ESP32-S3 v0.2 by the open project lightplayer (docs/isa-notes.md).
"""

from __future__ import annotations

import random

import fp_measured as measured
import fp_reference as ref
import pytest
from fp_code import DIVISION, ROOT, instructions
from fp_samples import SPECIAL, random_float
from instruction_driver import CODE, Cpu, check
from test_fp_arith import FLAGS, Runner, flags_of

V, Z = ref.INVALID, ref.DIVZERO

# chip: instruction, fr before, fs, fr after, flags
CHIP = [
    ("recip0.s", 0, 0x3F800000, 0x3F7F0000, 0),
    ("recip0.s", 0, 0x7F800000, 0x00000000, 0),
    ("recip0.s", 0, 0x7E800000, 0x007F8000, 0),
    ("div0.s", 0, 0x7FC00000, 0x3F2A0000, 0),
    ("rsqrt0.s", 0, 0x3F800000, 0x3F7F0000, 0),
    ("sqrt0.s", 0, 0x7F800000, 0x3F7F0000, 0),
    ("sqrt0.s", 0, 0x40000000, 0x3F340000, 0),
    ("nexp01.s", 0, 0x00000000, 0xBF800000, 0),
    ("nexp01.s", 0, 0x80000000, 0x3F800000, 0),
    ("nexp01.s", 0, 0x3F000000, 0xC0000000, 0),
    ("nexp01.s", 0, 0x40490FDB, 0xC0490FDB, 0),
    ("nexp01.s", 0, 0x3EAAAAAB, 0xBFAAAAAB, 0),
    ("nexp01.s", 0, 0x7F7FFFFF, 0xC07FFFFF, 0),
    ("nexp01.s", 0, 0x00000001, 0xC0000000, 0),
    ("nexp01.s", 0, 0x007FFFFF, 0xC07FFFFE, 0),
    ("nexp01.s", 0, 0x7F800000, 0xBF800000, 0),
    ("nexp01.s", 0, 0x7F800001, 0xFF800001, 0),
    ("mksadj.s", 0, 0x00000000, 0x3FB7C000, 0),
    ("mksadj.s", 0, 0x80000000, 0x43B7C000, 0),
    ("mksadj.s", 0, 0x3F800000, 0x3F9FC000, 0),
    ("mksadj.s", 0, 0xBF800000, 0x4FB7C000, V),
    ("mksadj.s", 0, 0x3F000000, 0x3B9DC000, 0),
    ("mksadj.s", 0, 0x00800000, 0x439BC000, 0),
    ("mksadj.s", 0, 0x7F7FFFFF, 0x3BA1C000, 0),
    ("mksadj.s", 0, 0x5F000000, 0x3B9FC000, 0),
    ("mksadj.s", 0, 0x00000001, 0x1399C000, 0),
    ("mksadj.s", 0, 0x7F800000, 0x47B7C000, 0),
    ("mksadj.s", 0, 0xFF800000, 0x4FB7C000, V),
    ("mksadj.s", 0, 0x7FC00000, 0x4FB7C000, 0),
    ("mksadj.s", 0, 0x7F800001, 0x4FB7C000, V),
    ("mkdadj.s", 0x00000000, 0x00000000, 0x4FB7C000, V),
    ("mkdadj.s", 0x00000000, 0x80000000, 0x53B7C000, V),
    ("mkdadj.s", 0x00000000, 0x3F800000, 0x47B7C000, Z),
    ("mkdadj.s", 0x00000000, 0xBF800000, 0x4BB7C000, Z),
    ("mkdadj.s", 0x00000000, 0x7F800000, 0x47B7C000, 0),
    ("mkdadj.s", 0x00000000, 0x7F800001, 0x4FB7C000, V),
    ("mkdadj.s", 0x3F800000, 0x00000000, 0x3FB7C000, 0),
    ("mkdadj.s", 0x3F800000, 0x80000000, 0x43B7C000, 0),
    ("mkdadj.s", 0x3F800000, 0x3F000000, 0x379DC000, 0),
    ("mkdadj.s", 0x3F800000, 0x00800000, 0x4797C000, 0),
    ("mkdadj.s", 0x3F800000, 0x7F7FFFFF, 0x37A5C000, 0),
    ("mkdadj.s", 0x3F800000, 0x5F000000, 0x37A1C000, 0),
    ("mkdadj.s", 0x3F800000, 0x00000001, 0x6795C000, 0),
    ("mkdadj.s", 0xBF000000, 0x00000000, 0x43B7C000, 0),
    ("mkdadj.s", 0xBF000000, 0x3F800000, 0x479FC000, 0),
    ("mkdadj.s", 0xBF000000, 0x7F7FFFFF, 0x3FA7C000, 0),
    ("mkdadj.s", 0xBF000000, 0x7F800000, 0x4BB7C000, 0),
    ("mkdadj.s", 0x7FC00000, 0x80000000, 0x53B7C000, 0),
    ("mkdadj.s", 0x12345678, 0x3F800000, 0x2FA3C000, 0),
    ("mkdadj.s", 0x12345678, 0x00000001, 0x579BC000, 0),
    ("addexp.s", 0x00000000, 0x00000000, 0x40800000, 0),
    ("addexp.s", 0x3F800000, 0xC0490FDB, 0xC0000000, 0),
    ("addexp.s", 0x3F800000, 0x7F800000, 0x7F800000, 0),
    ("addexp.s", 0x40400000, 0x7F7FFFFF, 0x7FC00000, 0),
    ("addexp.s", 0x7FC00000, 0x3F000000, 0x7F400000, 0),
    ("addexp.s", 0x12345678, 0x1F800000, 0x72345678, 0),
    ("addexpm.s", 0x00000000, 0x00000000, 0x40800000, 0),
    ("addexpm.s", 0x00000000, 0x40490FDB, 0xD2800000, 0),
    ("addexpm.s", 0x3F800000, 0x3EAAAAAB, 0x55000000, 0),
    ("addexpm.s", 0x3F800000, 0x3FFFFFFF, 0xFF800000, 0),
    ("addexpm.s", 0xBF000000, 0x7FD5AA55, 0x2A800000, 0),
    ("addexpm.s", 0x12345678, 0x40490FDB, 0xE4B45678, 0),
]


@pytest.mark.parametrize("row", CHIP, ids=lambda r: f"{r[0]} {r[1]:#x} {r[2]:#x}")
def test_single_steps(row):
    name, before, operand, after, flags = row
    check(f"{name} f0, f1", {"f0": before, "f1": operand}, {"f0": after} | flags_of(flags))


MEASURED = [
    ("nexp01.s", measured.NEXP01),
    ("mksadj.s", measured.MKSADJ),
    ("mkdadj.s", measured.MKDADJ),
    ("addexp.s", measured.ADDEXP),
    ("addexpm.s", measured.ADDEXPM),
]


@pytest.mark.parametrize(("name", "table"), MEASURED)
def test_measured_steps(name, table):
    """chip: whole grids of fr and fs, results and flags."""
    run, expected = Runner(f"{name} f0, f1"), measured.rows(table)
    grid = [(r, s) for r in measured.BEFORE for s in measured.OPERANDS]
    assert len(expected) in (24, 96, 144)
    for (before, operand), (bits, flags) in zip(grid, expected, strict=False):
        got = run(operand, 0, before, 0)
        assert got == (bits, flags >> 7), f"{name} fr={before:#010x} fs={operand:#010x}: {got[0]:#010x}"


@pytest.mark.parametrize("imm", range(16))
def test_constants(imm):
    """chip: 0, 1, 2, 0.5 by the two low bits."""
    check(f"const.s f0, {imm}", {"f0": 7}, {"f0": (0, 0x3F800000, 0x40000000, 0x3F000000)[imm & 3]})


# No board has shown these flags alone; the tool tables list them, IEEE-754 says when.
ESTIMATE_FLAGS = [
    ("recip0.s", 0x80000000, 0xFF800000, Z),
    ("recip0.s", 0x7FC00000, 0x7FD50000, 0),
    ("recip0.s", 0x7F800001, 0x7FFF8000, V),
    ("rsqrt0.s", 0x00000000, 0x7F800000, Z),
    ("rsqrt0.s", 0x80000000, 0xFF800000, Z),
    ("rsqrt0.s", 0xBF800000, 0xFFFF0000, V),
    ("rsqrt0.s", 0xFF800000, 0xFFFF0000, V),
    ("rsqrt0.s", 0x7F800000, 0x00000000, 0),
    ("rsqrt0.s", 0xFFC00000, 0xFFD00000, 0),
    ("rsqrt0.s", 0x7F800001, 0x7FFF0000, V),
]


@pytest.mark.parametrize("row", ESTIMATE_FLAGS, ids=lambda r: f"{r[0]} {r[1]:#x}")
def test_flags_of_estimates(row):
    name, operand, result, flags = row
    check(f"{name} f0, f1", {"f1": operand}, {"f0": result} | flags_of(flags))


def test_estimates_are_close():
    """recip0.s and rsqrt0.s within 2**-7 of the truth, also for subnormal numbers whose result is finite."""
    rng = random.Random(7)
    for name, power, least in (("recip0.s", 1, 0x00400000), ("rsqrt0.s", 2, 1)):
        run = Runner(f"{name} f0, f1")
        for _ in range(400):
            x = rng.choice((rng.randrange(least, 0x7E000000), rng.randrange(least, 0x00800000)))
            estimate = ref.value(run(x, 0, 0, 0)[0])
            error = abs(estimate**power * ref.value(x) - 1)
            assert error < power / 2**7 * 1.01, f"{name} {x:#x}: {float(error)}"


def _divn_rows() -> list[tuple[int, int, int, int, int]]:
    """chip: fr, fs, ft, result, flags of divn.s, among them shapes that no sequence makes."""
    one, two, i, iu, io = 0x3F800000, 0x40000000, 1, 3, 5
    return [
        (one, one, one, 0x40000000, 0), (one, one, 0x3F800001, 0x40000000, i),
        (one, one, 0xBF801000, 0xBA000000, 0),
        (one, one, two, 0x40400000, 0), (one, one, 0xC0000000, 0xBF800000, 0),
        (one, one, 0x3F000000, 0x3FC00000, 0),
        (one, one, 0x40490FDB, 0x408487EE, i), (one, one, 0x3EAAAAAB, 0x3FAAAAAB, i),
        # Exponents far from 0 are parts of A, not of the value.
        (one, one, 0x7F7FFFFF, 0x48000000, i), (one, one, 0x00800000, 0x48A00000, 0),
        (one, one, 0x00000001, 0x48400001, 0), (one, one, 0x80000000, 0xC7800000, 0),
        (one, one, 0x7F800000, 0x48000000, 0), (one, one, 0xFF800000, 0x2E800000, 0),
        (one, one, 0x7FC00000, 0x48200000, 0),
        (one, 0x3F800001, 0xFF800000, 0xBC000000, 0), (one, 0xC0000000, 0x3F000000, 0x26800000, 0),
        (one, 0x40490FDB, 0x40490FDB, 0x412DE9E7, i), (one, 0x3EAAAAAB, 0x3EAAAAAB, 0x3F8E38E4, i),
        (one, 0x7F7FFFFF, one, 0x7F7FFFFF, i), (one, 0x7F7FFFFF, 0x3F800001, 0x7F800000, io),
        (one, 0x7F7FFFFF, 0x3EAAAAAB, 0x7EAAAAAA, i), (one, 0x00800000, one, one, i),
        (one, 0x80000000, one, one, 0),
        # An infinity in fs counts as 2**128.
        (one, 0x7F800000, one, 0x7F800000, io), (one, 0x7F800000, 0x3F000000, 0x7F000000, i),
        (one, 0xFF800000, 0x3EAAAAAB, 0xFEAAAAAB, i), (one, 0x7FC00000, one, 0x7FC00000, 0),
        (0xBF800000, one, one, 0x26800000, 0), (0xBF800000, 0x3F800001, 0x3F800001, 0x34800000, i),
        (0xBF800000, one, 0x00800000, 0x48400000, 0), (0xBF800000, 0x40490FDB, 0x40490FDB, 0x410DE9E7, i),
        # A zero in fr has the exponent of -512.
        (0, one, one, 0, iu), (0, 0x3F800001, 0xC0000000, 0x80000000, iu),
        (0, 0x7FC00000, one, 0x7FC00000, iu),
        # Exponent fields 220..227 of fr make a class, 228 and more underflow, 219 and less overflow.
        (219 << 23, 0, 200 << 23, 0x7F800000, io), (220 << 23, 0, 123 << 23, 0, iu),
        (220 << 23, 0, 124 << 23, 0, 0),
        (221 << 23, 0, 131 << 23, 0, 0), (220 << 23, 0, 132 << 23, 0x80000000, 0),
        (220 << 23, 0, 140 << 23, 0x7F800000, 0),
        (227 << 23, 0, 155 << 23, 0xFF800000, 0), (220 << 23, 0, 156 << 23, 0x7FC00000, 0),
        (224 << 23, 0, 171 << 23, 0x7FC00000, 0), (220 << 23, 0, 172 << 23, 0, 0),
        (220 << 23, 0, 180 << 23, 0x80000000, 0),
        (220 << 23, 0, 188 << 23, 0, iu), (228 << 23, 0, 140 << 23, 0, iu), (252 << 23, 0, 252 << 23, 0, iu),
    ]  # fmt: skip


@pytest.mark.parametrize("row", _divn_rows(), ids=lambda r: f"{r[0]:#x} {r[1]:#x} {r[2]:#x}")
def test_final_step(row):
    r, s, t, result, flags = row
    got = Runner("divn.s f0, f1, f2")(s, t, r, 0)
    assert (f"{got[0]:#010x}", f"{got[1]:05b}") == (f"{result:#010x}", f"{flags:05b}")


class Sequence:
    """Runs a whole sequence: result and flags."""

    def __init__(self, code: str) -> None:
        self.cpu = Cpu()
        self.texts = instructions(code)
        self.cpu.load(*self.texts)

    def __call__(self, a: int, b: int, mode: int) -> tuple[int, int]:
        state = self.cpu.state
        state.f[1], state.f[2], state.PC, state.budget, state.RoundMode = a, b, CODE, 100, mode
        for name in FLAGS:
            state.set(name, 0)
        for _ in self.texts:
            self.cpu.stepper.step()
        return state.f[0], sum(state.get(name) << place for place, name in enumerate(FLAGS))


def _check_division(run: Sequence, a: int, b: int, mode: int) -> None:
    got, want = run(a, b, mode), ref.divide(a, b, mode)
    where = (
        f"{a:#010x} / {b:#010x} mode {mode}: {got[0]:#010x} {got[1]:05b}, not {want[0]:#010x} {want[1]:05b}"
    )
    if ref.is_nan(a) or ref.is_nan(b):
        assert ref.is_nan(got[0]), where
        assert got[1] == want[1], where
    else:
        assert got == want, where


def test_division_of_special_values():
    run = Sequence(DIVISION)
    for i, a in enumerate(SPECIAL):
        for j, b in enumerate(SPECIAL):
            _check_division(run, a, b, (i + j) % 4)


def test_division_of_random_values():
    run, rng = Sequence(DIVISION), random.Random(11)
    for _ in range(400):
        _check_division(run, random_float(rng), random_float(rng), rng.randrange(4))


def test_division_next_to_halfway_points():
    """Quotients of neighbours of 1 and of long products, where a wrong last bit would show."""
    run, rng = Sequence(DIVISION), random.Random(12)
    for _ in range(300):
        b = 0x3F800000 | rng.getrandbits(23)
        q = 0x3F800000 | rng.getrandbits(23)
        a = ref.multiply(q, b, 0)[0] + rng.randrange(-1, 2)
        _check_division(run, a, b, rng.randrange(4))


def test_subnormal_quotients():
    run, rng = Sequence(DIVISION), random.Random(13)
    for _ in range(200):
        a = rng.randrange(1, 200) << 23 | rng.getrandbits(23)
        b = (a >> 23) + rng.randrange(118, 152)
        b = min(b, 254) << 23 | rng.getrandbits(23)
        _check_division(run, a, b, rng.randrange(4))


def _check_root(run: Sequence, a: int, mode: int) -> None:
    got, want = run(a, 0, mode), ref.square_root(a, mode)
    where = f"sqrt {a:#010x} mode {mode}: {got[0]:#010x} {got[1]:05b}, not {want[0]:#010x} {want[1]:05b}"
    if ref.is_nan(a):
        assert ref.is_nan(got[0]), where
        assert got[1] == want[1], where
    else:
        assert got == want, where


def test_square_roots():
    """Root of -0 is -0, of negative numbers the default NaN, of everything else correctly rounded."""
    run, rng = Sequence(ROOT), random.Random(14)
    for i, a in enumerate(SPECIAL):
        _check_root(run, a, i % 4)
    for _ in range(300):
        _check_root(run, random_float(rng) & 0x7FFFFFFF, rng.randrange(4))


def test_square_roots_of_squares():
    run, rng = Sequence(ROOT), random.Random(15)
    for _ in range(200):
        root = 0x3F800000 | rng.getrandbits(12) << 11
        _check_root(run, ref.multiply(root, root, 0)[0] + rng.randrange(-1, 2), rng.randrange(4))


@pytest.mark.long
def test_division_at_length():
    run, rng = Sequence(DIVISION), random.Random(16)
    for _ in range(100_000):
        _check_division(run, random_float(rng), random_float(rng), rng.randrange(4))


@pytest.mark.long
def test_square_roots_at_length():
    run, rng = Sequence(ROOT), random.Random(17)
    for _ in range(100_000):
        _check_root(run, random_float(rng), rng.randrange(4))
