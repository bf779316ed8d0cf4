"""From the scalar arguments of a call back to the sizes that the kernel's spec describes.

A spec goes the other way: dimensions are drawn, strides and padded sizes are derived from them. A recorded
call has the scalars only, so dimensions that no scalar names (gaps between rows, kinds of contents) are
searched for until all derived sizes agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from emu.kernels.spec import Dim, Kernel
from emu.verify.errors import UsageProblem
from emu.verify.shapes import all_dims, scalars

_LARGEST = 4096
"""Unknown dimensions are searched up to this, or up to their own limit."""
_ROUNDS = 3


@dataclass(frozen=True)
class Sizes:
    """``dims``: all sizes of the call, derived ones included. ``is_exact``: the spec derives the same ones
    from the drawn dimensions, so the call can be cut down like a drawn case. ``free``: dimensions that no
    argument tells.
    """

    dims: dict[str, int]
    is_exact: bool
    free: tuple[str, ...] = ()


def sizes_of(kernel: Kernel, values: Mapping[str, int]) -> Sizes:
    """Sizes of a call from its integer scalars by parameter name. Raises UsageProblem for rules that fail."""
    known = {s.value: int(values[s.name]) for s in scalars(kernel) if isinstance(s.value, str)}
    drawn = {d.name: known.get(d.name, d.low) for d in kernel.dims}
    unknown = [d for d in kernel.dims if d.name not in known]
    missing = _missing(kernel, drawn, known)
    for _ in range(_ROUNDS):
        for dim in unknown:
            if missing:
                drawn, missing = _searched(kernel, dim, drawn, known, missing)
    dims = _dims(kernel, drawn)
    return Sizes(dims | known, not missing, tuple(d.name for d in unknown))


def _searched(
    kernel: Kernel, dim: Dim, drawn: dict[str, int], known: Mapping[str, int], missing: int
) -> tuple[dict[str, int], int]:
    """The first value of one dimension with which the most sizes agree."""
    best = drawn
    for value in _values(dim):
        tried = {**drawn, dim.name: value}
        wrong = _missing(kernel, tried, known)
        if wrong < missing:
            best, missing = tried, wrong
        if not missing:
            break
    return best, missing


def _values(dim: Dim) -> Iterator[int]:
    yield from range(dim.low, max(dim.high, _LARGEST) + 1, max(dim.multiple, 1))


def _missing(kernel: Kernel, drawn: Mapping[str, int], known: Mapping[str, int]) -> int:
    """How many of the known sizes come out otherwise."""
    dims = _dims(kernel, drawn)
    return sum(dims.get(name) != value for name, value in known.items())


def _dims(kernel: Kernel, drawn: Mapping[str, int]) -> dict[str, int]:
    try:
        return all_dims(kernel, drawn)
    except UsageProblem:
        return dict(drawn)
