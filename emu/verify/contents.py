"""Bulk contents of a tensor: a *kind* (drawn by Hypothesis) applied to a family with a counter-based
generator.

Every kind exists because some fault hides from the others (design rule 6): all-equal blocks and one-row
tensors are avoided, same-sign runs overflow narrow accumulators, ramps show wrong strides, ties show wrong
rounding.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from emu.verify.families import Array, Family

Kind = Callable[["Source"], Array]


class Source:
    """What a kind draws from. ``columns``: row length (stride) of the flat tensor; ``scale``: a float scalar
    of the call, so that ties can be aimed at it; ``neutral``: the element that contributes nothing.
    """

    def __init__(
        self,
        family: Family,
        rng: np.random.Generator,
        n: int,
        columns: int = 0,
        neutral: int = 0,
        scale: float = 1.0,
    ) -> None:
        self.family = family
        self.rng = rng
        self.n = n
        self.columns = min(columns, n) if columns > 0 and n else max(n, 1)
        self.neutral = family.neutral(neutral)
        self.scale = scale

    @property
    def rows(self) -> int:
        """Number of complete rows."""
        return self.n // self.columns

    def chosen(self, one_in: int, n: int | None = None) -> Array:
        """Mask that is true for about one element in ``one_in``."""
        picked: Array = self.rng.integers(0, one_in, self.n if n is None else n, np.uint16) == 0
        return picked

    def special(self, n: int) -> Array:
        """``n`` of the family's extreme values."""
        picked: Array = self.family.specials[self.rng.integers(0, self.family.specials.size, n, np.uint16)]
        return picked


def wide(s: Source) -> Array:
    """The family's whole range."""
    return s.family.wide(s.rng, s.n)


def small(s: Source) -> Array:
    """Moderate values."""
    return s.family.small(s.rng, s.n)


def specials(s: Source) -> Array:
    """Extremes only."""
    return s.special(s.n)


def mixed(s: Source) -> Array:
    """Moderate or wide values with extremes strewn in."""
    base = s.family.small(s.rng, s.n) if s.rng.integers(0, 2) else s.family.wide(s.rng, s.n)
    hit = s.chosen(5)
    base[hit] = s.special(int(hit.sum()))
    return base


def sparse(s: Source) -> Array:
    """Neutral, but for a few elements."""
    base = np.full(s.n, s.neutral, s.family.dtype)
    hit = s.rng.integers(0, max(s.n, 1), min(1 + s.n // 37, 8)) if s.n else np.empty(0, int)
    base[hit] = s.family.wide(s.rng, hit.size)
    return base


def runs(s: Source) -> Array:
    """Large values in runs of one sign: narrow partial sums overflow."""
    length = int(s.rng.choice([16, 32, 128, 1 << 20]))
    sign = s.rng.integers(0, 2, s.n // length + 1, np.uint8).astype(bool)
    return s.family.ends(s.rng, np.repeat(sign, min(length, max(s.n, 1)))[: s.n])


def ramp(s: Source) -> Array:
    """Values that name their position."""
    return s.family.ramp(s.rng, s.n)


def outlier(s: Source) -> Array:
    """Moderate rows with one large element each."""
    base = s.family.small(s.rng, s.n)
    if s.n:
        at = np.arange(s.rows) * s.columns + s.rng.integers(0, s.columns, s.rows)
        base[at] = s.family.ends(s.rng, s.chosen(2, s.rows))
    return base


def zero_rows(s: Source) -> Array:
    """Some rows neutral, never all of them (with one row: its first half)."""
    base = s.family.wide(s.rng, s.n) if s.rng.integers(0, 2) else s.family.small(s.rng, s.n)
    if s.rows >= 2:
        dead = s.chosen(2, s.rows)
        dead[s.rng.integers(0, s.rows)] = False
        base[: s.rows * s.columns].reshape(s.rows, s.columns)[dead] = s.neutral
    else:
        base[: s.n // 2] = s.neutral
    return base


def ties(s: Source) -> Array:
    """Products that fall on k + 1/2 or one ULP beside it, for quantizers with any scale."""
    if s.family.dtype != np.float32:
        return mixed(s)
    largest = (
        np.float32(127.0)
        if s.rng.integers(0, 2)
        else np.float32(0.5) + s.rng.random(dtype=np.float32) * np.float32(300)
    )
    step = largest / np.float32(127.0) if s.scale == 1.0 else np.float32(s.scale)
    half = s.rng.integers(-127, 127, s.n, np.int16).astype(np.float32) + np.float32(0.5)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        base = half * step
        bits = base.view(np.int32) + s.rng.integers(-1, 1, s.n, np.int32, endpoint=True)
    base = bits.view(np.float32)
    if s.n and s.scale == 1.0:
        at = np.arange(s.rows) * s.columns + s.rng.integers(0, s.columns, s.rows)
        base[at] = largest
    low, high = s.family.specials.min(), s.family.specials.max()
    ok = (base >= low) & (base <= high)
    inside: Array = np.where(ok, base, s.neutral).astype(np.float32)
    return inside


def nonfinite(s: Source) -> Array:
    """Moderate values with one or a few NaN or infinities, where the family has them."""
    base = mixed(s)
    bad = s.family.nonfinite()
    if bad.size and s.n:
        hit = s.rng.integers(0, s.n, int(s.rng.integers(1, 4)))
        base[hit] = bad[s.rng.integers(0, bad.size, hit.size)]
    return base


KINDS: dict[str, Kind] = {
    kind.__name__: kind
    for kind in (wide, small, mixed, specials, ramp, sparse, runs, outlier, zero_rows, ties, nonfinite)
}


def kinds_for(family: Family) -> list[str]:
    """Kinds that make sense for ``family``, the more telling ones repeated (a sampling pool)."""
    pool = [
        "mixed",
        "wide",
        "small",
        "ramp",
        "mixed",
        "wide",
        "runs",
        "outlier",
        "zero_rows",
        "sparse",
        "specials",
    ]
    if family.dtype.kind == "f":
        pool += ["ties", "ties"]
    if family.nonfinite().size:
        pool += ["nonfinite"]
    return pool


def generate(kind: str, source: Source) -> Array:
    """Flat contents, ``source.n`` elements; never all equal when there are two elements and two values to
    choose from.
    """
    array = KINDS[kind](source)
    if array.size >= 2 and array[0] == array[-1] and bool((array == array[0]).all()):
        others = source.family.specials[source.family.specials != array[0]]
        if others.size:
            array[source.rng.integers(0, array.size)] = others[source.rng.integers(0, others.size)]
    return array
