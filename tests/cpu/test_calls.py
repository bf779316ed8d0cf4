"""The windowed calling convention: where arguments go, what comes back, what must be kept."""

from __future__ import annotations

import numpy as np
import pytest

from emu.cpu.calls import Argument, ArgumentError, argument_words
from emu.cpu.traps import Trap, TrapKind
from tests.cpu import images
from tests.cpu.images import engine_of


@pytest.fixture(params=images.TIERS, autouse=True)
def tier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every test here runs on both tiers."""
    monkeypatch.setattr(images, "TIER", request.param)
    return str(request.param)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([1, -1, 0xFFFFFFFF, -0x80000000], [1, 0xFFFFFFFF, 0xFFFFFFFF, 0x80000000]),
        ([np.int8(-3), np.uint16(65535), np.int32(-2), True], [0xFFFFFFFD, 0xFFFF, 0xFFFFFFFE, 1]),
        ([np.float32(1.5), np.float32(-0.0)], [0x3FC00000, 0x80000000]),
        ([np.int64(-2), 7], [0xFFFFFFFE, 0xFFFFFFFF, 7]),
        ([7, np.uint64(0x1_00000002)], [7, 0, 2, 1]),
        ([np.float64(1.0), 9], [0, 0x3FF00000, 9]),
        ([1, 2, 3, 4, 5, np.int64(6), 7], [1, 2, 3, 4, 5, 0, 6, 0, 7]),
        (list(range(9)), list(range(9))),
    ],
)
def test_argument_words(arguments: list[Argument], words: list[int]) -> None:
    in_registers, on_stack = argument_words(arguments)
    assert in_registers + on_stack == words
    assert len(in_registers) == min(6, len(words))


@pytest.mark.parametrize("bad", [1.5, "x", None, 1 << 32, -(1 << 31) - 1, [1]])
def test_arguments_that_cannot_be_passed(bad: object) -> None:
    with pytest.raises(ArgumentError, match="argument 2"):
        argument_words([0, bad])  # type: ignore[list-item]


def test_registers_then_stack() -> None:
    """Arguments 1..6 in a2..a7, the rest at the caller's stack pointer: the callee's, plus its frame."""
    engine = engine_of(
        """
        f: entry a1, 48
           l32i a8, a1, 48
           l32i a9, a1, 52
           add a2, a2, a8
           add a3, a7, a9
           mov.n a4, a5
           mov.n a5, a6
           retw
        """
    )
    out = engine.call("f", [10, 20, 30, 40, 50, 60, 7, 8])
    assert (out.a2, out.a3, out.a4, out.a5) == (17, 68, 40, 50)
    assert out.instructions == 8


def test_result_views() -> None:
    engine = engine_of("f: entry a1, 32\n retw")
    out = engine.call("f", [np.int64(-5)])
    assert (out.s64, out.u64, out.s32) == (-5, (1 << 64) - 5, -5)
    assert engine.call("f", [np.float32(-2.5)]).f32 == np.float32(-2.5)
    assert engine.call("f", [np.float64(1e300)]).f64 == 1e300


def test_every_call_size_and_depth_comes_back() -> None:
    engine = engine_of(
        """
        f:  entry a1, 64
            beqz a2, _leaf
            addi a14, a2, -1
            addi a6, a2, -1
            addi a10, a2, -1
            bbsi a2, 0, _eight
            call12 f
            add a2, a14, a2
            retw
        _eight: call8 f
            add a2, a10, a2
            retw
        _leaf: retw.n
        """
    )
    for depth in (0, 1, 2, 5, 8, 13, 100):
        assert engine.call("f", [depth], dirty=depth).a2 == depth * (depth + 1) // 2


def broken(text: str, **options: object) -> Trap:
    engine = engine_of(text, **options)
    with pytest.raises(Trap) as caught:
        engine.call("f", [1], budget=1000)
    return caught.value


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("rotw -2\n addi a1, a1, 16\n rotw 2", "a1 of the caller"),
        ("rotw -2\n movi a5, 3\n rotw 2", "a5 of the caller"),
        ("rsil a3, 5", "PS.INTLEVEL was 0 and is 5"),
    ],
)
def test_what_a_function_must_keep(body: str, words: str) -> None:
    trap = broken(f"f: entry a1, 32\n {body}\n retw")
    assert trap.kind == TrapKind.RETURN_MISMATCH
    assert words in str(trap)
    assert "f+0x0" in str(trap)


def test_loop_registers_need_not_be_kept() -> None:
    """A skipped loopnez leaves LCOUNT at 0xFFFFFFFF; compiled code does that all the time."""
    engine = engine_of("f: entry a1, 32\n movi a3, 0\n loopnez a3, _end\n nop\n _end: retw")
    engine.call("f")
    assert engine.state.LCOUNT == 0xFFFFFFFF


def test_a_function_without_entry_is_refused() -> None:
    trap = broken("f: movi a2, 1\n ret")
    assert trap.kind == TrapKind.RETURN_MISMATCH
    assert "entry" in str(trap)


def test_a_return_address_that_was_lost() -> None:
    trap = broken("f: entry a1, 32\n movi a0, 0\n retw")
    assert trap.kind == TrapKind.ILLEGAL
    trap = broken("f: entry a1, 32\n ret")
    assert trap.kind in (TrapKind.NOT_CODE, TrapKind.RETURN_MISMATCH)
