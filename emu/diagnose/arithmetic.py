"""Hypotheses about the arithmetic: the mirror with another rounding, clamp or accumulator."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from emu.diagnose.evidence import Evidence, Fact, same
from emu.diagnose.hypothesis import Hypothesis, mirror_of
from emu.diagnose.interpret import Swaps, interpreted
from emu.diagnose.requantize import requantization_swaps
from emu.kernels.spec import Kernel
from emu.verify.errors import ToolError
from emu.verify.target import CallResult

_EXACT = 1 << 22
"""Up to this magnitude the contract's own rounding is exact; beyond it wraps."""
NUMERICS = ("emu.numerics",)


def _away(x: Any) -> Any:
    return np.copysign(np.floor(np.abs(x) + 0.5), x)


def _up(x: Any) -> Any:
    return np.floor(x + 0.5)


def _float_up(x: Any) -> Any:
    return np.floor((np.asarray(x, np.float32) + np.float32(0.5)).astype(np.float32))


def _float_away(x: Any) -> Any:
    single = np.asarray(x, np.float32)
    return np.trunc((single + np.copysign(np.float32(0.5), single)).astype(np.float32))


def _chopped_up(x: Any) -> Any:
    return np.trunc((np.asarray(x, np.float32) + np.float32(0.5)).astype(np.float32))


ROUNDINGS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "half away": ("ties are rounded away from zero instead of to even", _away),
    "half up": ("ties are rounded up instead of to even", _up),
    "truncation": ("the fraction is cut off instead of rounding to nearest, ties to even", np.trunc),
    "floor": ("rounded down instead of to nearest, ties to even", np.floor),
    "half up in float32": (
        "rounded as floor(x + 0.5f), where the sum itself is rounded, instead of ties to even",
        _float_up,
    ),
    "half away in float32": (
        "rounded as (int)(x + copysign(0.5f, x)), where the sum itself is rounded, instead of ties to even",
        _float_away,
    ),
    "truncation after adding a half": ("rounded as (int)(x + 0.5f) instead of ties to even", _chopped_up),
}


def _rne(rounded: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A replacement for the contract's ``rne``: float32 to int32."""

    def swap(original: Any) -> Any:
        def other(x: Any) -> Any:
            if not abs(float(x)) <= _EXACT:
                return original(x)
            return np.int32(rounded(np.float64(x)))

        return other

    return swap


def _numpy_round(rounded: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def swap(original: Any) -> Any:
        def other(x: Any, *rest: Any, **more: Any) -> Any:
            if rest or more:
                return original(x, *rest, **more)
            dtype = np.asarray(x).dtype
            return np.asarray(rounded(np.asarray(x, np.float64))).astype(dtype)[()]

        return other

    return swap


def _python_round(rounded: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda original: lambda x, *rest: original(x, *rest) if rest else int(rounded(float(x)))


def _roundings() -> Iterator[tuple[str, str, Swaps]]:
    for name, (text, rounded) in ROUNDINGS.items():
        members = dict.fromkeys(("rint", "round", "around"), _numpy_round(rounded))
        functions = {"rne": _rne(rounded), "round": _python_round(rounded)}
        yield f"rounding, {name}", text, Swaps(functions, members)


def _clamps() -> Iterator[tuple[str, str, Swaps]]:
    for low, other in ((-127, -128), (-128, -127)):
        text = f"limited to {other} instead of {low}"
        yield f"clamp {other}", text, Swaps(constants={low: other})


def _wrapped(bits: int) -> Callable[[Any], Any]:
    def swap(original: Any) -> Any:
        half = 1 << (bits - 1)
        return lambda x=0: original((int(x) + half) % (2 * half) - half)

    return swap


def _limited(bits: int) -> Callable[[Any], Any]:
    def swap(original: Any) -> Any:
        high = (1 << (bits - 1)) - 1
        return lambda x=0: original(max(min(int(x), high), -high - 1))

    return swap


def _accumulators() -> Iterator[tuple[str, str, Swaps]]:
    for bits in (16, 20, 24):
        yield (
            f"accumulator of {bits} bits",
            f"sums are kept in {bits} bits and wrap",
            Swaps(numpy={"int32": _wrapped(bits)}, skip_rooms=NUMERICS),
        )
    for bits in (16, 20, 24, 32):
        yield (
            f"accumulator saturates at {bits} bits",
            f"sums are limited to {bits} bits at every step",
            Swaps(numpy={"int32": _limited(bits)}, skip_rooms=NUMERICS),
        )


def _unlimited_clip(original: Any) -> Any:
    """np.clip to the ends of int32 as a read-out of the low 32 bits."""

    def other(x: Any, low: Any = None, high: Any = None, *rest: Any, **more: Any) -> Any:
        if np.ndim(low) or np.ndim(high) or low is None or high is None:
            return original(x, low, high, *rest, **more)
        if (int(low), int(high)) != (-(1 << 31), (1 << 31) - 1):
            return original(x, low, high, *rest, **more)
        return (np.asarray(x, np.int64) + (1 << 31)) % (1 << 32) - (1 << 31)

    return other


def variants(kernel: Kernel) -> Iterator[tuple[str, str, Swaps]]:
    """(name, text, what is replaced) of every variant of a mirror."""
    yield from _roundings()
    yield from _clamps()
    yield from _accumulators()
    yield (
        "read-out of 32 bits",
        "the low 32 bits of a sum are taken where it should be limited",
        Swaps(numpy={"clip": _unlimited_clip}),
    )
    yield from requantization_swaps(kernel)


def hypotheses(evidence: Evidence) -> Iterator[Hypothesis]:
    """One for each variant; none when the mirror cannot be run as plain Python with the same results."""
    kernel = evidence.kernel
    plain = interpreted(kernel.mirror, Swaps())
    if not _is_faithful(kernel, plain, evidence):
        return
    for name, text, swaps in variants(kernel):
        yield Hypothesis(name, text, _predictor(kernel, swaps))


def _predictor(kernel: Kernel, swaps: Swaps) -> Callable[[Fact], CallResult | None]:
    variant = interpreted(kernel.mirror, swaps)
    return lambda fact: mirror_of(kernel, fact.case, variant)


def _is_faithful(kernel: Kernel, plain: Callable[..., Any], evidence: Evidence) -> bool:
    for fact in evidence.differing[:2]:
        try:
            if not same(kernel, fact.case, fact.expected, mirror_of(kernel, fact.case, plain)):
                return False
        except ToolError:
            return False
    return True
