"""Families of binary64 values: the whole line, finite and everyday values, intervals."""

from __future__ import annotations

import numpy as np

from emu.verify.families import Array, Family
from emu.verify.families_float import _points

_D = np.float64
_LARGEST = float(np.finfo(_D).max)
# ends of the format, the limits of exact integers, what a conversion to float or to integers turns on
_ENDS = "0x1p-1074 0x1p-1022 0x1.fffffffffffffp1023 0x1.fffffep127 0x1.ffffffp127 0x1p52 0x1p53 0x1p63 0x1p64"


def _neighbours(points: Array) -> Array:
    points = np.concatenate([points, -points])
    with np.errstate(over="ignore", under="ignore"):
        every = np.concatenate([points, np.nextafter(points, _D(np.inf)), np.nextafter(points, _D(-np.inf))])
    return np.unique(every[np.isfinite(every)].view(np.uint64)).view(_D)


class Doubles(Family):
    """Finite binary64 values of an interval; the non-finite ones only where asked for."""

    def __init__(
        self,
        low: float = -_LARGEST,
        high: float = _LARGEST,
        low_open: bool = False,
        high_open: bool = False,
        nonfinite: bool = False,
        everyday: float = 0.0,
    ) -> None:
        """``everyday``: ordinary samples have magnitudes from its inverse to it."""
        self.dtype = np.dtype(_D)
        self.low = np.nextafter(_D(low), _D(np.inf)) if low_open else _D(low)
        self.high = np.nextafter(_D(high), _D(-np.inf)) if high_open else _D(high)
        self._nonfinite, self._everyday = nonfinite, everyday
        points = np.array([*_points(), *map(float.fromhex, _ENDS.split()), low, high], _D)
        near = _neighbours(points[np.isfinite(points)])
        inside = (near >= self.low) & (near <= self.high) & ~(np.signbit(near) & (self.low == 0))
        self.specials = near[inside]
        if everyday:
            self.specials = self.specials[(np.abs(self.specials) >= 1 / everyday) | (self.specials == 0)]
        self._middle = _D(0) if self.low <= 0 <= self.high else self.low if self.low > 0 else self.high

    def wide(self, rng: np.random.Generator, n: int) -> Array:
        """Every exponent as likely as another (a bounded interval: half of them uniform)."""
        if self._everyday:
            exponents = rng.uniform(-np.log2(self._everyday), np.log2(self._everyday), n)
            return self._inside(np.exp2(exponents) * rng.choice(np.array([-1.0, 1.0]), n))
        bits = rng.integers(0, (1 << 64) - 1, n, np.uint64, endpoint=True)
        finite = np.where(np.isfinite(bits.view(_D)), bits, bits & np.uint64(0xBFFFFFFFFFFFFFFF)).view(_D)
        if float(self.high) - float(self.low) < 1e9:
            half = n // 2
            finite[:half] = self.low + (self.high - self.low) * rng.random(half)
        return self._inside(finite)

    def small(self, rng: np.random.Generator, n: int) -> Array:
        """Uniform within a power of two."""
        return self._inside((rng.random(n) * 2 - 1) * 2.0 ** int(rng.integers(-6, 7)))

    def ends(self, rng: np.random.Generator, high: Array) -> Array:
        """Magnitudes of the upper quarter below a power of two."""
        size = (1 - rng.random(high.size) * 0.25) * 2.0 ** int(rng.integers(-2, 8))
        return self._inside(np.where(high, size, -size))

    def nonfinite(self) -> Array:
        """Quiet and signalling NaN of both signs, and infinities."""
        if not self._nonfinite:
            return super().nonfinite()
        tops = [0x7FF80000, 0xFFF80000, 0x7FF00001, 0x7FF00000, 0xFFF00000]
        return np.array([top << 32 for top in tops], np.uint64).view(_D)

    def _inside(self, values: Array) -> Array:
        """Values moved into the interval: folded by sign first, so that both ends do not pile up."""
        values = np.where(np.isnan(values), self._middle, values)
        folds = ((values < self.low) | (values > self.high)) & (-values >= self.low) & (-values <= self.high)
        values = np.where(folds, -values, values)
        outside = (values < self.low) | (values > self.high)
        if outside.any():
            mantissa = np.abs(np.frexp(values)[0])
            values = np.where(outside, self.low + (self.high - self.low) * mantissa, values)
        clipped: Array = np.clip(values, self.low, self.high).astype(_D)
        return np.abs(clipped) if self.low == 0 else clipped


def double_family(name: str) -> Family | None:
    """The families that emu.kernels.spec.Tensor describes for floats, for double; None for another name."""
    if name in ("any", "bits", "finite"):
        return Doubles(nonfinite=name != "finite")
    if name == "unit":
        return Doubles(0.0, 1.0, high_open=True)
    if name == "moderate":
        return Doubles(-(2.0**20), 2.0**20, everyday=2.0**20)
    return None
