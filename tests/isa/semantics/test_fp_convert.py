"""Between integers and floats: ties (B034), ends of the range (B043), scales, flags."""

from __future__ import annotations

import random
from fractions import Fraction

import fp_reference as ref
import pytest
from fp_samples import SPECIAL, random_float
from instruction_driver import Cpu

M1, MAX, MIN = 0xFFFFFFFF, 0x7FFFFFFF, 0x80000000


def _run(cpu: Cpu, text: str, **given: int) -> tuple[Cpu, int, int]:
    cpu.fill()
    for name, value in given.items():
        cpu.set(name, value)
    cpu.run(text)
    return cpu, cpu.get("InvalidFlag"), cpu.get("InexactFlag")


# value, round, trunc, floor, ceil
TIES = [
    (-2.5, -2, -2, -3, -2), (-1.5, -2, -1, -2, -1), (-0.5, 0, 0, -1, 0), (0.5, 0, 0, 0, 1), (1.5, 2, 1, 1, 2),
    (2.5, 2, 2, 2, 3), (126.5, 126, 126, 126, 127), (-128.5, -128, -128, -129, -128),
    (0.49999997, 0, 0, 0, 1),
    (3.0, 3, 3, 3, 3), (8388607.5, 8388608, 8388607, 8388607, 8388608),
]  # fmt: skip


@pytest.mark.parametrize("row", TIES, ids=lambda r: str(r[0]))
def test_ties_and_directions(row):
    """B034: round.s is half to even."""
    import struct

    bits = struct.unpack("<I", struct.pack("<f", row[0]))[0]
    for name, result in zip(("round", "trunc", "floor", "ceil"), row[1:], strict=True):
        cpu, invalid, inexact = _run(Cpu(), f"{name}.s a3, f1, 0", f1=bits)
        assert cpu.get("a3") == result & M1, name
        assert (invalid, inexact) == (0, row[0] != result)


# bits, trunc.s, invalid, utrunc.s, invalid
ENDS = [
    (0x4F32D05E, MAX, 1, 0xB2D05E00, 0),  # 3e9
    (0xCF32D05E, MIN, 1, MIN, 1),  # -3e9
    (0x7FC00000, MAX, 1, M1, 1),
    (0xFFC00000, MAX, 1, M1, 1),
    (0x7F800001, MAX, 1, M1, 1),
    (0x7F800000, MAX, 1, M1, 1),
    (0xFF800000, MIN, 1, MIN, 1),
    (0x4F000000, MAX, 1, MIN, 0),  # 2147483648.0
    (0xCF000000, MIN, 0, MIN, 1),  # -2147483648.0
    (0x4EFFFFFF, 0x7FFFFF80, 0, 0x7FFFFF80, 0),
    (0x4F7FFFFF, MAX, 1, 0xFFFFFF00, 0),
    (0x4F800000, MAX, 1, M1, 1),  # 2**32
    (0xBF800000, M1, 0, M1, 1),  # -1.0
    (0xBFC00000, M1, 0, M1, 1),  # -1.5
    (0xBF000000, 0, 0, 0, 0),  # -0.5: only inexact
    (0x80000000, 0, 0, 0, 0),
    (0x80000001, 0, 0, 0, 0),
]


@pytest.mark.parametrize("row", ENDS, ids=lambda r: hex(r[0]))
def test_ends_of_the_range(row):
    """B043: what the chip gives where the value does not fit (measured; see docs/isa-notes.md)."""
    bits, signed, signed_invalid, unsigned, unsigned_invalid = row
    cpu, invalid, _ = _run(Cpu(), "trunc.s a3, f1, 0", f1=bits)
    assert (hex(cpu.get("a3")), invalid) == (hex(signed), signed_invalid)
    cpu, invalid, _ = _run(Cpu(), "utrunc.s a3, f1, 0", f1=bits)
    assert (hex(cpu.get("a3")), invalid) == (hex(unsigned), unsigned_invalid)


def _to_integer(name: str, bits: int, scale: int) -> tuple[int, int, int]:
    """Result, invalid, inexact in exact fractions."""
    top = M1 if name == "utrunc" else MAX
    if ref.is_nan(bits):
        return top, 1, 0
    if ref.is_inf(bits):
        return (MIN if bits & ref.SIGN else top), 1, 0
    x = ref.value(bits) * 2**scale
    floor = x.numerator // x.denominator
    whole = {
        "floor": floor,
        "ceil": floor + (x != floor),
        "trunc": floor + (x < 0 and x != floor),
        "utrunc": floor + (x < 0 and x != floor),
        "round": round(x),
    }[name]
    if whole > top or whole < -(2**31):
        return (top if whole > 0 else MIN), 1, 0
    if name == "utrunc" and whole < 0:
        return whole & M1, 1, 0
    return whole & M1, 0, int(whole != x)


@pytest.mark.parametrize("name", ["trunc", "round", "floor", "ceil", "utrunc"])
@pytest.mark.parametrize("scale", [0, 1, 7, 15])
def test_to_integer(name, scale):
    rng = random.Random(f"{name}{scale}")
    cpu = Cpu()
    cpu.load(f"{name}.s a3, f1, {scale}")
    for bits in (
        *SPECIAL,
        *(random_float(rng) for _ in range(120)),
        *(_near_range(rng, scale) for _ in range(120)),
    ):
        cpu.state.f[1], cpu.state.PC, cpu.state.budget = bits, 0x40380000, 10
        cpu.state.InvalidFlag = cpu.state.InexactFlag = 0
        cpu.state.RoundMode = rng.randrange(4)
        cpu.stepper.step()
        got = cpu.get("a3"), cpu.state.InvalidFlag, cpu.state.InexactFlag
        assert got == _to_integer(name, bits, scale), f"{name}.s of {bits:#010x} scale {scale}"


def _near_range(rng: random.Random, scale: int) -> int:
    return rng.getrandbits(1) << 31 | rng.randrange(124 - scale, 160 - scale) << 23 | rng.getrandbits(23)


# as, float.s, ufloat.s; nearest even
FROM = [
    (0, 0, 0),
    (1, 0x3F800000, 0x3F800000),
    (M1, 0xBF800000, 0x4F800000),
    (MAX, 0x4F000000, 0x4F000000),
    (MIN, 0xCF000000, 0x4F000000),
    (0x01000001, 0x4B800000, 0x4B800000),
    (0x01000003, 0x4B800002, 0x4B800002),
    (0xFFFFFF7F, 0xC3010000, 0x4F7FFFFF),
    (0xFFFFFF80, 0xC3000000, 0x4F800000),
]


@pytest.mark.parametrize("row", FROM, ids=lambda r: hex(r[0]))
def test_from_integer(row):
    """B031 among them: 0xFFFFFF80 rounds up to 2**32."""
    for name, result in (("float", row[1]), ("ufloat", row[2])):
        assert _run(Cpu(), f"{name}.s f0, a3, 0", a3=row[0])[0].get("f0") == result


@pytest.mark.parametrize("name", ["float", "ufloat"])
@pytest.mark.parametrize("scale", [0, 1, 8, 15])
def test_from_integer_in_all_modes(name, scale):
    rng = random.Random(f"{name}{scale}")
    cpu = Cpu()
    cpu.load(f"{name}.s f0, a3, {scale}")
    for _ in range(200):
        word = rng.choice(
            (rng.getrandbits(32), rng.getrandbits(25), -rng.getrandbits(25) & M1, MIN, MAX, M1, 0)
        )
        mode = rng.randrange(4)
        cpu.set("a3", word)
        cpu.state.PC, cpu.state.budget, cpu.state.RoundMode, cpu.state.InexactFlag = 0x40380000, 10, mode, 0
        cpu.stepper.step()
        number = word - (1 << 32) if name == "float" and word & MIN else word
        bits, flags = ref.round32(Fraction(number, 2**scale), mode)
        assert (cpu.get("f0"), cpu.state.InexactFlag) == (bits, flags & ref.INEXACT), f"{word:#x} mode {mode}"
