"""B081: 16-bit vector products are fractions when SAR is 15; people who expect integers see -1 and 0."""

from __future__ import annotations

from pie_bench import Bench

MIN16 = -0x8000


def products(x: list[int], y: list[int]) -> tuple[list[int], Bench]:
    bench = Bench()
    bench.state.SAR = 15
    bench.set_q(0, x, 16)
    bench.set_q(1, y, 16)
    bench.run(("ee.vmul.s16", 2, 0, 1))
    return bench.q(2, "s16"), bench


def test_b081_small_negative_products_round_down_to_minus_1() -> None:
    found, _ = products([5, 2, 8, 9, 5, 2, 8, 9], [-5] * 8)
    assert found == [-1] * 8


def test_b081_ends_of_the_range() -> None:
    """-1 * -1 is the one product of fractions that does not fit: it wraps, it does not saturate."""
    found, _ = products([16384, MIN16, 32767, MIN16] * 2, [16384, MIN16, 32767, 32767] * 2)
    assert found == [8192, MIN16, 32766, -32767] * 2
