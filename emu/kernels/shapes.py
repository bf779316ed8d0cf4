"""Sizes that several kernel files describe in the same way."""

from __future__ import annotations

from collections.abc import Callable

from emu.kernels.spec import Alternatives, Dim, Dims, Scalar
from emu.numerics.packed import padded
from emu.numerics.status import MAX_COLUMNS

TAILS = (0, 1, 2, 15, 16, 17, 31, 32, 33)
"""Around the vector block of 16: nothing, one, one less, exact, one more."""

N = Dim("n", 0, 300, special=TAILS)
N_SCALAR = Scalar("n", "int32", "n")
ROWS = Dim("rows", 0, 5, special=(1, 2, 3))
COLS = Dim("cols", 0, 700, special=(*TAILS, 47, 48, 49, 63, 64, 65, 127, 128))
X_GAP = Dim("x_gap", 0, 3)

MOST = MAX_COLUMNS
TOO_MANY = MAX_COLUMNS + 1
TOO_MANY_STRIDE = padded(TOO_MANY, 16)
FAR_TOO_MANY = (1 << 31) - 1
"""Rounded up to whole vectors, or times anything, it overflows."""


FAR = 1 << 16
"""Elements of a gap that makes a stride longer than a half word, whose low half is a good stride too."""


def far_apart(*gaps: str, step: int = 1, **sizes: int) -> tuple[dict[str, int], ...]:
    """Extremes of a spec: each of the gaps, counted in steps, so large, with few rows."""
    return tuple({**sizes, gap: FAR // step} for gap in gaps)


def block16(dims: Dims) -> int:
    """Columns with the zero padding that a vector kernel reads."""
    return padded(dims["cols"], 16)


def extent(rows: str, stride: str, width: str) -> Callable[[Dims], int]:
    """Elements from the first of ``rows`` rows to the end of the last one, ``width`` wide."""

    def size(dims: Dims) -> int:
        return (dims[rows] - 1) * dims[stride] + dims[width] if dims[rows] else 0

    return size


_SIGN = 1 << 31


def below_zero(name: str) -> Alternatives:
    """A refused size: -1, or a negative one whose low bits are a good size.

    Code that reads less of an argument than all of it (a byte or a half word) accepts the latter.
    """
    return Alternatives({"": lambda dims: -1, **_good_low_bits(lambda dims: dims.get(name, 1))})


def too_short(stride: str, least: str | int) -> Alternatives:
    """A refused stride: one below ``least``, or a negative one whose low bits are long enough."""

    def needed(dims: Dims) -> int:
        return dims[least] if isinstance(least, str) else least

    longer = _good_low_bits(lambda dims: max(dims[stride], needed(dims)))
    return Alternatives({"": lambda dims: needed(dims) - 1, **longer})


def _good_low_bits(good: Callable[[Dims], int]) -> dict[str, Callable[[Dims], int]]:
    return {
        "low half good": lambda dims: good(dims) - FAR,
        "all but the sign good": lambda dims: good(dims) - _SIGN,
    }


def enough(least: int, *strides: str) -> dict[str, Callable[[Dims], int]]:
    """Good strides for ``least`` columns: another argument alone is to be refused."""
    return {name: _at_least(name, least) for name in strides}


def _at_least(name: str, least: int) -> Callable[[Dims], int]:
    return lambda dims: max(dims[name], least)


def alike(*strides: str) -> dict[str, Callable[[Dims], int]]:
    """Strides that are all wrong by the same 8 bytes: an exclusive or of them is not."""
    return {name: _moved(name) for name in strides}


def _moved(name: str) -> Callable[[Dims], int]:
    return lambda dims: dims[name] + 8
