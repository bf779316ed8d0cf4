"""Sums, products, comparisons and moves of floats: values, the NaN rule, all rounding modes, all flags."""

from __future__ import annotations

import random

import fp_reference as ref
import pytest
from fp_samples import SPECIAL, random_float
from instruction_driver import Cpu, check

FLAGS = ("InexactFlag", "UnderflowFlag", "OverflowFlag", "DivZeroFlag", "InvalidFlag")
MODES = (ref.NEAREST, ref.ZERO, ref.UP, ref.DOWN)


def flags_of(bits: int) -> dict[str, int]:
    return {name: bits >> place & 1 for place, name in enumerate(FLAGS)}


NAMED = [
    # B014: the product is subtracted from fr, never the other way round.
    ("msub.s f0, f1, f2", {"f0": 0x41200000, "f1": 0x40000000, "f2": 0x40400000}, 0x40800000),
    # B015: one rounding leaves 2**-46, two leave nothing.
    ("madd.s f0, f1, f1", {"f0": 0xBF800002, "f1": 0x3F800001}, 0x28800000),
    ("mul.s f0, f1, f1", {"f1": 0x3F800001}, 0x3F800002),
    # B079: 5/3 is not 5 * (1/3).
    ("mul.s f0, f1, f2", {"f1": 0x40A00000, "f2": 0x3EAAAAAB}, 0x3FD55556),
    # B080: 9 * 0.1f in single precision.
    ("mul.s f0, f1, f2", {"f1": 0x41100000, "f2": 0x3DCCCCCD}, 0x3F666667),
    ("add.s f0, f1, f2", {"f1": 0x3F800000, "f2": 0x33800000}, 0x3F800000),
    ("add.s f0, f1, f2", {"f1": 0x3F800001, "f2": 0x33800000}, 0x3F800002),
    ("sub.s f0, f1, f2", {"f1": 0x3F800000, "f2": 0x3F800000}, 0x00000000),
    ("sub.s f0, f1, f2", {"f1": 0x80000000, "f2": 0x00000000}, 0x80000000),
    # NaN rule: ft before fs, fr before both, made quiet, sign and payload kept; sub.s keeps the sign of ft.
    ("add.s f0, f1, f2", {"f1": 0x7FC11111, "f2": 0xFFC22222}, 0xFFC22222),
    ("add.s f0, f1, f2", {"f1": 0x7F833333, "f2": 0x3F800000}, 0x7FC33333),
    ("sub.s f0, f1, f2", {"f1": 0x3F800000, "f2": 0xFF833333}, 0xFFC33333),
    ("mul.s f0, f1, f2", {"f1": 0x00000000, "f2": 0xFF800000}, 0x7FC00000),
    ("madd.s f0, f1, f2", {"f0": 0xFFC44444, "f1": 0x7FC11111, "f2": 0x7FC22222}, 0xFFC44444),
    ("madd.s f0, f1, f2", {"f0": 0x3F800000, "f1": 0x7FC11111, "f2": 0x7FC22222}, 0x7FC22222),
    ("msub.s f0, f1, f2", {"f0": 0x3F800000, "f1": 0xFFC11111, "f2": 0x40000000}, 0xFFC11111),
    ("maddn.s f0, f1, f2", {"f0": 0x7F844444, "f1": 0x7FC11111, "f2": 0x7FC22222}, 0x7FC44444),
    ("maddn.s f0, f1, f2", {"f0": 0xBF800002, "f1": 0x3F800001, "f2": 0x3F800001}, 0x28800000),
]


@pytest.mark.parametrize(("text", "given", "result"), NAMED)
def test_named_values(text, given, result):
    cpu = Cpu()
    for name, operand in given.items():
        cpu.set(name, operand)
    cpu.run(text)
    assert f"{cpu.get('f0'):#010x}" == f"{result:#010x}"


def test_two_roundings_when_the_engine_splits_multiply_adds():
    """B015: mul.s then add.s gives 0; maddn.s, which belongs to division, is never split."""
    cpu = Cpu()
    cpu.stepper.machine.fused = False
    cpu.set("f1", 0x3F800001)
    for text, result in (("madd.s f0, f1, f1", 0), ("maddn.s f0, f1, f1", 0x28800000)):
        cpu.fill()
        cpu.set("f1", 0x3F800001)
        cpu.set("f0", 0xBF800002)
        cpu.run(text)
        assert cpu.get("f0") == result


BINARY = [
    ("add.s", lambda a, b, c, mode: ref.add(a, b, mode)),
    ("sub.s", lambda a, b, c, mode: _subtract(a, b, mode)),
    ("mul.s", lambda a, b, c, mode: ref.multiply(a, b, mode)),
    ("madd.s", lambda a, b, c, mode: ref.multiply_add(c, a, b, mode)),
    ("msub.s", lambda a, b, c, mode: ref.multiply_add(c, a, b, mode, negate=True)),
    ("maddn.s", lambda a, b, c, mode: (ref.multiply_add(c, a, b, ref.NEAREST)[0], 0)),
]


def _subtract(a: int, b: int, mode: int) -> tuple[int, int]:
    return ref.add(a, b if ref.is_nan(b) else b ^ ref.SIGN, mode)


class Runner:
    """One processor for many cases of one instruction ``name f0, f1, f2``."""

    def __init__(self, text: str) -> None:
        self.cpu = Cpu()
        self.cpu.load(text)

    def __call__(self, a: int, b: int, c: int, mode: int) -> tuple[int, int]:
        state = self.cpu.state
        state.f[0], state.f[1], state.f[2] = c, a, b
        state.RoundMode = mode
        state.budget = 10
        for name in FLAGS:
            state.set(name, 0)
        state.PC = 0x40380000
        self.cpu.stepper.step()
        return state.f[0], sum(state.get(name) << place for place, name in enumerate(FLAGS))


def _compare(name, reference, cases):
    run = Runner(f"{name} f0, f1, f2")
    for a, b, c, mode in cases:
        got, want = run(a, b, c, mode), reference(a, b, c, mode)
        assert got == want, (
            f"{name} fs={a:#010x} ft={b:#010x} fr={c:#010x} mode {mode}: "
            f"{got[0]:#010x} flags {got[1]:05b}, not {want[0]:#010x} flags {want[1]:05b}"
        )


@pytest.mark.parametrize(("name", "reference"), BINARY)
def test_special_operands(name, reference):
    accumulators = (0x3F800000, 0x80000000, 0xFF800000, 0x7F8ABCDE)
    cases = [
        (a, b, accumulators[(i + j) % 4], (i + 2 * j) % 4)
        for i, a in enumerate(SPECIAL)
        for j, b in enumerate(SPECIAL)
    ]
    _compare(name, reference, cases)


@pytest.mark.parametrize(("name", "reference"), BINARY)
def test_random_operands(name, reference):
    rng = random.Random(name)
    cases = [(*(random_float(rng) for _ in range(3)), rng.randrange(4)) for _ in range(1500)]
    _compare(name, reference, cases)


@pytest.mark.parametrize(("name", "reference"), BINARY)
def test_rounding_at_the_edges(name, reference):
    """Results next to halfway points, to the smallest normal number and to the largest one."""
    rng = random.Random(f"edge {name}")
    cases = []
    for _ in range(600):
        a = rng.choice((0x3F800000, 0x00800000, 0x7F000000, 0x1F800000, 0x20000000)) ^ rng.getrandbits(2)
        b = rng.choice((0x3F800000, 0x1F800000, 0x20000000, 0x33800000, 0x3F7FFFFF)) ^ rng.getrandbits(3)
        c = rng.choice(
            (0x00000001, 0x80000001, 0x00400000, 0x807FFFFF, 0x73000000, 0xB3800000)
        ) ^ rng.getrandbits(1)
        cases.append((a ^ rng.getrandbits(1) << 31, b, c, rng.randrange(4)))
    _compare(name, reference, cases)


def test_flags_are_sticky():
    given = flags_of(0b11111)
    for text in ("add.s f0, f1, f2", "oeq.s b0, f1, f2", "mul.s f0, f1, f2"):
        cpu = Cpu()
        for name, flag in (given | {"f1": 0x3F800000, "f2": 0x3F800000}).items():
            cpu.set(name, flag)
        cpu.run(text)
        assert all(cpu.get(name) for name in given)


def test_flags_are_left_alone_when_nobody_reads_them():
    cpu = Cpu()
    cpu.stepper.machine.track_fsr = False
    cpu.set("f1", 0x7F7FFFFF)
    cpu.run("add.s f0, f1, f1")
    assert (cpu.get("f0"), cpu.get("OverflowFlag")) == (ref.INF, 0)


COMPARE = {
    "un.s": lambda order: order is None,
    "oeq.s": lambda order: order == 0,
    "ueq.s": lambda order: order is None or order == 0,
    "olt.s": lambda order: order is not None and order < 0,
    "ult.s": lambda order: order is None or order < 0,
    "ole.s": lambda order: order is not None and order <= 0,
    "ule.s": lambda order: order is None or order <= 0,
}


def _order(a: int, b: int) -> float | None:
    if ref.is_nan(a) or ref.is_nan(b):
        return None
    numbers = [(1 if not x & ref.SIGN else -1) * 2**200 if ref.is_inf(x) else ref.value(x) for x in (a, b)]
    return (numbers[0] > numbers[1]) - (numbers[0] < numbers[1])


@pytest.mark.parametrize("name", COMPARE)
def test_comparison(name):
    cpu = Cpu()
    cpu.load(f"{name} b5, f1, f2")
    for a in SPECIAL:
        for b in SPECIAL:
            cpu.state.f[1], cpu.state.f[2], cpu.state.PC = a, b, 0x40380000
            cpu.state.InvalidFlag, cpu.state.budget, cpu.state.br = 0, 10, 0x20 if a & 1 else 0xFFDF
            cpu.stepper.step()
            order = _order(a, b)
            quiet_is_loud = name in ("olt.s", "ole.s") and order is None
            loud = ref.is_signalling(a) or ref.is_signalling(b) or quiet_is_loud
            assert cpu.get("b5") == COMPARE[name](order), f"{name} {a:#x} {b:#x}"
            assert cpu.state.InvalidFlag == loud, f"{name} {a:#x} {b:#x}"


@pytest.mark.parametrize("x", SPECIAL)
def test_moves_keep_every_bit(x):
    check("mov.s f0, f1", {"f1": x}, {"f0": x})
    check("abs.s f0, f1", {"f1": x}, {"f0": x & 0x7FFFFFFF})
    check("neg.s f0, f1", {"f1": x}, {"f0": x ^ ref.SIGN})


CONDITIONAL = [
    ("moveqz.s", (1, 0, 0)),
    ("movnez.s", (0, 1, 1)),
    ("movltz.s", (0, 0, 1)),
    ("movgez.s", (1, 1, 0)),
]


@pytest.mark.parametrize(("name", "moves"), CONDITIONAL)
def test_conditional_moves(name, moves):
    for condition, move in zip((0, 1, 0x80000000), moves, strict=True):
        check(
            f"{name} f0, f1, a3",
            {"f0": 7, "f1": 0x7F800001, "a3": condition},
            {"f0": 0x7F800001 if move else 7},
        )


def test_moves_by_boolean():
    for flag in (0, 1):
        check("movt.s f0, f1, b9", {"f0": 7, "f1": 8, "b9": flag}, {"f0": 8 if flag else 7})
        check("movf.s f0, f1, b9", {"f0": 7, "f1": 8, "b9": flag}, {"f0": 7 if flag else 8})
