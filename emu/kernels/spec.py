"""What a kernel is: parameters in C order, dimensions, alignment rules, mirror and symbol.

A kernel file in this room holds one or more mirrors and registers each with :func:`kernel`. The mirror takes the
same parameters in the same order as the C function: one numpy array per pointer (1-D, C order, exactly the
elements the function may touch), one Python or numpy scalar per scalar parameter. It writes its results into the
output arrays and returns what the C function returns. ``emu.verify`` derives everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

Role = Literal["in", "out", "inout"]
Dims = Mapping[str, int]


@dataclass(frozen=True)
class Dim:
    """A generated size: ``low..high`` in steps of ``multiple``; ``special`` values are tried more often."""

    name: str
    low: int
    high: int
    multiple: int = 1
    special: tuple[int, ...] = ()


@dataclass(frozen=True)
class Tensor:
    """A pointer parameter.

    ``shape``: entries are ints, dimension names, or functions of the drawn dimensions (e.g. a padded size).
    ``align``: alignment in bytes that the function requires of the pointer; the generator never breaks it unless
    it tests the misaligned status. ``align=1`` tensors are placed at every offset 0..15, but always at a multiple
    of the item size when ``natural`` is true. ``values`` names a family of contents (see emu.verify.strategies):
    "any", "finite", "unit", "s8" (-127..127), "s8_full" (with -128), "bits", "codes_ternary", ... ``fill``: a
    function (dims, rng, array) that overwrites an array after generation, for padding and packed layouts.
    ``valid`` gives the mask (or slice) of elements that are compared; default all.
    """

    name: str
    dtype: str
    shape: tuple[int | str | Callable[[Dims], int], ...]
    role: Role = "in"
    align: int = 1
    natural: bool = True
    values: str = "any"
    fill: Callable[[Dims, np.random.Generator, np.ndarray[Any, Any]], None] | None = None
    valid: Callable[[Dims], Any] | None = None


@dataclass(frozen=True)
class Scalar:
    """A scalar parameter: a dimension (by name), a fixed function of the dimensions, or generated ``values``."""

    name: str
    dtype: str
    value: str | Callable[[Dims], Any] | None = None
    values: str = "any"


Param = Tensor | Scalar


@dataclass(frozen=True)
class Kernel:
    """One firmware function and its mirror. ``returns`` is a dtype name or None (void)."""

    symbol: str
    params: tuple[Param, ...]
    mirror: Callable[..., Any]
    dims: tuple[Dim, ...] = ()
    derived: Mapping[str, Callable[[Dims], int]] = field(default_factory=dict)
    returns: str | None = None
    elementwise: tuple[str, str] | None = None
    """(first input, first output) when y[i] depends on x[i] alone: enables ``--exhaustive``."""
    domain: tuple[int, int] | None = None
    """For exhaustive runs: first and last bit pattern (inclusive) of the input; None means all 2^32."""
    source: str = ""
    """Section of docs/numerics.md that the kernel follows."""


REGISTRY: dict[str, Kernel] = {}


def kernel(
    symbol: str,
    *params: Param,
    dims: tuple[Dim, ...] = (),
    returns: str | None = None,
    source: str = "",
    **extra: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register the decorated mirror as kernel ``symbol``. Raises ValueError when the name is taken."""

    def register(mirror: Callable[..., Any]) -> Callable[..., Any]:
        if symbol in REGISTRY:
            raise ValueError(f"kernel {symbol!r} is registered twice")
        REGISTRY[symbol] = Kernel(symbol, params, mirror, dims=dims, returns=returns, source=source, **extra)
        return mirror

    return register
