"""Integer lanes against Python's own integers, for every operation and odd widths."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emu.cpu.value_int import IntBits, scalar, vector

WIDTHS = (1, 2, 4, 8, 13, 16, 20, 32, 40, 64, 128, 160)


def signed(x: int, lane: int) -> int:
    return x - (1 << lane) if x >> (lane - 1) & 1 else x


def lanes_of(lane: int, count: int) -> st.SearchStrategy[list[int]]:
    top = (1 << lane) - 1
    ends = st.sampled_from(sorted({0, top, top >> 1, (top >> 1) + 1, min(1, top)}))
    return st.lists(st.one_of(ends, st.integers(0, top)), min_size=count, max_size=count)


@st.composite
def pairs(draw: st.DrawFn) -> tuple[int, list[int], list[int]]:
    """(lane width, lanes, lanes of the same shape)."""
    lane, count = draw(st.sampled_from(WIDTHS)), draw(st.sampled_from((1, 2, 4, 16)))
    return lane, draw(lanes_of(lane, count)), draw(lanes_of(lane, count))


def truncated(x: int, y: int) -> int:
    q = abs(x) // abs(y)
    return q if (x < 0) == (y < 0) else -q


UNSIGNED: dict[str, Callable[[int, int, int], int]] = {
    "__add__": lambda x, y, n: x + y,
    "__sub__": lambda x, y, n: x - y,
    "__mul__": lambda x, y, n: x * y,
    "__and__": lambda x, y, n: x & y,
    "__or__": lambda x, y, n: x | y,
    "__xor__": lambda x, y, n: x ^ y,
    "udiv": lambda x, y, n: x // y if y else -1,
    "urem": lambda x, y, n: x % y if y else x,
    "umin": lambda x, y, n: min(x, y),
    "umax": lambda x, y, n: max(x, y),
    "shl": lambda x, y, n: x << y if y < n else 0,
    "lshr": lambda x, y, n: x >> y if y < n else 0,
}
SIGNED: dict[str, Callable[[int, int], int]] = {
    "sdiv": lambda x, y: truncated(x, y) if y else -1,
    "srem": lambda x, y: x - truncated(x, y) * y if y else x,
    "smin": min,
    "smax": max,
}
TESTS: dict[str, Callable[[int, int, int], bool]] = {
    "eq": lambda x, y, n: x == y,
    "ne": lambda x, y, n: x != y,
    "ult": lambda x, y, n: x < y,
    "uge": lambda x, y, n: x >= y,
    "slt": lambda x, y, n: signed(x, n) < signed(y, n),
    "sge": lambda x, y, n: signed(x, n) >= signed(y, n),
}


@given(case=pairs())
def test_lane_operations(case: tuple[int, list[int], list[int]]) -> None:
    lane, xs, ys = case
    a, b, mask = vector(lane, xs), vector(lane, ys), (1 << lane) - 1
    for name, function in UNSIGNED.items():
        want = [function(x, y, lane) & mask for x, y in zip(xs, ys, strict=True)]
        assert list(getattr(a, name)(b).lanes) == want, name
    for name, of_signed in SIGNED.items():
        want = [of_signed(signed(x, lane), signed(y, lane)) & mask for x, y in zip(xs, ys, strict=True)]
        assert list(getattr(a, name)(b).lanes) == want, name
    for name, test in TESTS.items():
        got = getattr(a, name)(b)
        assert got.lane == 1
        assert list(got.lanes) == [int(test(x, y, lane)) for x, y in zip(xs, ys, strict=True)], name


@given(case=pairs(), constant=st.integers(-(1 << 40), 1 << 40))
def test_int_operands_are_constants_of_the_shape(
    case: tuple[int, list[int], list[int]], constant: int
) -> None:
    lane, xs, _ = case
    a = vector(lane, xs)
    b = vector(lane, [constant] * len(xs))
    for name in (
        "__add__",
        "__sub__",
        "__mul__",
        "__and__",
        "__or__",
        "__xor__",
        "eq",
        "ult",
        "slt",
        "smin",
        "smax",
    ):
        assert getattr(a, name)(constant).lanes == getattr(a, name)(b).lanes, name


@given(case=pairs(), amount=st.integers(0, 200))
def test_shifts_by_a_common_amount(case: tuple[int, list[int], list[int]], amount: int) -> None:
    lane, xs, _ = case
    a, mask = vector(lane, xs), (1 << lane) - 1
    for by in (amount, scalar(8, amount)):
        big = amount >= lane
        assert list(a.shl(by).lanes) == [0 if big else x << amount & mask for x in xs]
        assert list(a.lshr(by).lanes) == [0 if big else x >> amount for x in xs]
        assert list(a.ashr(by).lanes) == [signed(x, lane) >> min(amount, lane) & mask for x in xs]


@given(case=pairs())
def test_one_operand(case: tuple[int, list[int], list[int]]) -> None:
    lane, xs, _ = case
    a, mask = vector(lane, xs), (1 << lane) - 1
    assert list((~a).lanes) == [~x & mask for x in xs]
    assert list((-a).lanes) == [-x & mask for x in xs]
    assert list(a.clz().lanes) == [(lane - x.bit_length()) & mask for x in xs]
    assert list(a.reverse().lanes) == [sum((x >> i & 1) << (lane - 1 - i) for i in range(lane)) for x in xs]
    assert a.sum_lanes().lanes == (sum(xs) & mask,)
    assert list(a.sext(200).lanes) == [signed(x, lane) & (1 << 200) - 1 for x in xs]
    assert a.zext(200).lanes == tuple(xs)
    assert list(a.trunc(1).lanes) == [x & 1 for x in xs]
    assert a.unsigned() == sum(x << lane * i for i, x in enumerate(xs))
    assert a.signed_lanes() == tuple(signed(x, lane) for x in xs)


@given(value=st.integers(0, (1 << 128) - 1))
def test_split_and_join(value: int) -> None:
    q = scalar(128, value)
    for lane in (1, 8, 16, 32, 64, 128):
        parts = q.split(lane)
        assert parts.lanes == tuple(value >> at & (1 << lane) - 1 for at in range(0, 128, lane))
        assert parts.join().lanes == (value,)
        assert parts.split(8).lanes == tuple(value.to_bytes(16, "little"))
    assert q.bits(67, 60).lanes == (value >> 60 & 0xFF,)
    assert q.bits(127, 64).cat(q.bits(63, 0)).lanes == (value,)


def test_choose_and_move_lanes() -> None:
    a, b = vector(8, [1, 2, 3, 4]), vector(8, [5, 6, 7, 8])
    assert a.shuffle(b, [7, 0, 4, 3]).lanes == (8, 1, 5, 4)
    assert a.put(2, -1).lanes == (1, 2, 255, 4)
    assert a.put(0, scalar(8, 9)).get(0).lanes == (9,)
    assert scalar(8, 7).broadcast(3).lanes == (7, 7, 7)
    assert a.ult(3).select(a, b).lanes == (1, 2, 7, 8)
    assert scalar(1, 0).select(a, b).lanes == b.lanes
    assert scalar(1, 1).select(a, 0).lanes == a.lanes
    assert a.ult(3).select(a, 0).lanes == (1, 2, 0, 0)
    assert scalar(16, -300).clamp_s(8).signed() == -128
    assert scalar(16, 300).clamp_u(8).unsigned() == 255


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: scalar(8, 1) + scalar(16, 1),
        lambda: vector(8, [1, 2]) & scalar(8, 1),
        lambda: scalar(8, 1).sext(4),
        lambda: scalar(8, 1).zext(4),
        lambda: scalar(8, 1).trunc(16),
        lambda: scalar(8, 1).split(3),
        lambda: scalar(8, 1).bits(8, 0),
        lambda: vector(8, [1, 2]).broadcast(2),
        lambda: scalar(8, 1).select(scalar(8, 1), 0),
        lambda: scalar(16, 1).fadd(scalar(16, 1)),
        lambda: bool(scalar(1, 1)),
    ],
)
def test_shapes_are_checked(wrong: Callable[[], IntBits]) -> None:
    with pytest.raises((ValueError, TypeError)):
        wrong()


def test_floats_of_both_widths() -> None:
    one, two = scalar(32, 0x3F800000), scalar(32, 0x40000000)
    assert one.fadd(one).lanes == two.lanes
    assert two.fma(two, one).lanes == (0x40A00000,)
    assert one.fsub(two, 3).lanes == (0xBF800000,)
    assert one.f_resize(64).lanes == (0x3FF0000000000000,)
    assert scalar(32, -7).s_to_f().f_to_s(32).signed() == -7
    assert scalar(32, 0xFFFFFFFF).u_to_f(64).f_to_u(32).unsigned() == 0xFFFFFFFF
    assert scalar(32, 0xFFFFFF7F).u_to_f().lanes == (0x4F7FFFFF,)
    assert scalar(32, 0xFFFFFF80).u_to_f().lanes == (0x4F800000,)
    nan = scalar(32, 0xFFC00001)
    assert one.fmul(nan).lanes == (0x7FC00000,)
    assert (nan.feq(nan).lanes, nan.flt(one).lanes, nan.funordered(one).lanes) == ((0,), (0,), (1,))
    assert nan.f_to_s(32).lanes == nan.f_to_u(32).lanes == (0,)
    assert scalar(32, 0xBF800000).f_to_u(32).lanes == (0,)
    half = scalar(32, 0x3F000000)
    assert [half.fround(how).lanes[0] for how in ("even", "zero", "up", "down")] == [0, 0, 0x3F800000, 0]
