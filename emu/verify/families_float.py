"""Families of binary32 values: the whole line, finite and everyday values, intervals."""

from __future__ import annotations

import numpy as np

from emu.verify.families import Array, Family

_F = np.float32

# Where kernels change their behaviour: ends of the format, ties of rne, ends of exp, GELU and the quantizers.
_POINTS = """
0 0x1p-149 0x1p-127 0x1p-126 0x1.fffffep127 0x1p-101 0x1p-100 1e-6 1e-5 0.007874016
0.25 0.49999997 0.5 0.70710678 1 1.4142135 1.5 2.5 3 6 63.5 85.25 87 88 104 126.5 127 127.49 127.5 128
128.5 255 1e4 65535 0x1p22 4194304.5 0x1p23 0x1p24 16777217 0x1p31 0x1p32 1e30
"""


def _points() -> list[float]:
    return [float.fromhex(p) if "x" in p else float(p) for p in _POINTS.split()]


def with_neighbours(points: Array) -> Array:
    """``points`` and the next value on each side, both signs, without duplicates (by bits)."""
    points = np.concatenate([points, -points]).astype(_F)
    with np.errstate(over="ignore", under="ignore"):
        every = np.concatenate([points, np.nextafter(points, _F(np.inf)), np.nextafter(points, _F(-np.inf))])
    return np.unique(every[np.isfinite(every)].view(np.uint32)).view(_F)


class Floats(Family):
    """Finite binary32 values of an interval; ``subnormal`` and the non-finite ones only where asked for."""

    def __init__(
        self,
        dtype: str,
        low: float = -3.4028234663852886e38,
        high: float = 3.4028234663852886e38,
        low_open: bool = False,
        high_open: bool = False,
        subnormal: bool = True,
        nonfinite: bool = False,
    ) -> None:
        self.dtype = np.dtype(dtype)
        self.low = np.nextafter(_F(low), _F(np.inf)) if low_open else _F(low)
        self.high = np.nextafter(_F(high), _F(-np.inf)) if high_open else _F(high)
        if not subnormal and low_open and low == 0:
            self.low = _F(2.0**-126)
        if self.low == 0:
            self.low = _F(0.0)
        self._nonfinite = nonfinite
        fractions = np.arange(0, 9, dtype=_F) / _F(8)
        points = np.concatenate([np.array([*_points(), low, high], np.float64).astype(_F), fractions])
        near = with_neighbours(points)
        inside = (near >= self.low) & (near <= self.high) & ~(np.signbit(near) & (self.low == 0))
        self.specials = near[inside]
        self._middle = _F(0) if self.low <= 0 <= self.high else self.low if self.low > 0 else self.high
        if not subnormal:
            self.specials = self.specials[(np.abs(self.specials) >= _F(2.0**-126)) | (self.specials == 0)]

    def wide(self, rng: np.random.Generator, n: int) -> Array:
        """Every exponent as likely as another (a bounded interval: half of them uniform)."""
        bits = rng.integers(0, 1 << 32, n, np.uint32)
        if float(self.high) - float(self.low) < 1e9:
            half = n // 2
            uniform = self.low + (self.high - self.low) * rng.random(half, _F)
            return self._inside(np.concatenate([uniform, bits[half:].view(_F)]))
        return self._inside(
            np.where(bits & 0x7F800000 == 0x7F800000, bits & 0xBFFFFFFF, bits).astype(np.uint32).view(_F)
        )

    def small(self, rng: np.random.Generator, n: int) -> Array:
        """Uniform within a power of two."""
        scale = _F(2.0 ** int(rng.integers(-6, 7)))
        return self._inside((rng.random(n, _F) * _F(2) - _F(1)) * scale)

    def ends(self, rng: np.random.Generator, high: Array) -> Array:
        """Magnitudes of the upper quarter below a power of two."""
        scale = _F(2.0 ** int(rng.integers(-2, 8)))
        size = (_F(1) - rng.random(high.size, _F) * _F(0.25)) * scale
        return self._inside(np.where(high, size, -size))

    def nonfinite(self) -> Array:
        """Quiet and signalling NaN of both signs, and infinities."""
        if not self._nonfinite:
            return super().nonfinite()
        return np.array(
            [0x7FC00000, 0xFFC00000, 0x7F800001, 0x7FFFFFFF, 0x7F800000, 0xFF800000], np.uint32
        ).view(_F)

    def _inside(self, values: Array) -> Array:
        """Values moved into the interval: folded by sign first, so that both ends do not pile up."""
        values = np.where(np.isnan(values), self._middle, values)
        outside = (values < self.low) | (values > self.high)
        if outside.any():
            folded = np.where(outside & (-values >= self.low) & (-values <= self.high), -values, values)
            share = np.abs(folded) - np.floor(np.abs(folded))
            again = self.low + (self.high - self.low) * np.where(np.isfinite(share), share, _F(0.5))
            values = np.where((folded < self.low) | (folded > self.high), again, folded)
        clipped: Array = np.clip(values, self.low, self.high).astype(_F)
        return np.abs(clipped) if self.low == 0 else clipped


class Everyday(Floats):
    """Magnitudes 2^-20 .. 2^20 of both signs, and zeros; ``span`` narrows what ordinary samples cover."""

    def __init__(self, dtype: str, span: float = 2.0**20) -> None:
        super().__init__(dtype, -(2.0**20), 2.0**20)
        self.specials = self.specials[(np.abs(self.specials) >= _F(2.0**-20)) | (self.specials == 0)]
        self._span = span

    def wide(self, rng: np.random.Generator, n: int) -> Array:
        """Every exponent as likely as another (a bounded interval: half of them uniform)."""
        if self._span < 1e3 and n:
            return (rng.random(n, _F) * _F(2) - _F(1)) * _F(self._span)
        bits = rng.integers(0, 1 << 32, n, np.uint32)
        exponents = (bits >> np.uint32(23) & np.uint32(0xFF)) % np.uint32(40) + np.uint32(107)
        return (bits & np.uint32(0x807FFFFF) | exponents << np.uint32(23)).astype(np.uint32).view(_F)

    def small(self, rng: np.random.Generator, n: int) -> Array:
        """Uniform within a power of two."""
        values = super().small(rng, n)
        return np.where(np.abs(values) < _F(2.0**-20), _F(0), values)


FLOAT_NAMES = ("any", "bits", "finite", "unit", "ln_domain", "moderate", "gelu")


def float_family(name: str, dtype: str) -> Family | None:
    """The family of one of FLOAT_NAMES as emu.kernels.spec.Tensor describes them, or None."""
    if dtype != "float32" or name not in FLOAT_NAMES:
        return None
    if name == "unit":
        return Floats(dtype, 0.0, 1.0, high_open=True)
    if name == "ln_domain":
        return Floats(dtype, 0.0, 1.0, low_open=True, subnormal=False)
    if name == "moderate":
        return Everyday(dtype)
    if name == "gelu":
        return Everyday(dtype, span=8.0)
    return Floats(dtype, nonfinite=name in ("any", "bits"))
