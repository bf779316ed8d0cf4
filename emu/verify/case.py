"""A plan (what Hypothesis draws) and a case (what a target runs), and the deterministic way from one to the
other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from emu.kernels.spec import AND, Fault, Kernel, Scalar, Tensor, together
from emu.verify.contents import Source, generate
from emu.verify.errors import UsageProblem
from emu.verify.families import Array, family
from emu.verify.shapes import all_dims, columns_of, elements, fixed_value, holds, scalars, shape_of, tensors

_FILL_KEY = 1 << 32
_SCALAR_KEY = 2 << 32
_SIZE_KEY = 3 << 32
_ATTEMPT_KEY = 1 << 40
_ATTEMPTS = 400
_REPAIRED_ELEMENTS = 50_000
MASK64 = (1 << 64) - 1
_OFTEN = 8
"""A misaligned offset that is taken every other time, and always where scalars are wrong too: strides may be
off by as much, which an exclusive or of both hides."""


@dataclass(frozen=True)
class Plan:
    """Structure of a case: drawn sizes, one kind and one pointer offset per tensor, two seeds.

    ``picks``: drawn positions in the family's list of extremes; a small tensor uses them instead of bulk
    contents. ``scalar_picks``: per generated scalar, negative for a random value or a position in the list of
    extremes. ``fault``: position in the spec's list of calls that must be refused, negative for a valid call;
    ``also``: of a second one in the same call, negative for none.
    """

    dims: Mapping[str, int]
    kinds: tuple[str, ...]
    offsets: tuple[int, ...]
    content: int
    dirty: int
    picks: tuple[int, ...] = ()
    scalar_picks: tuple[int, ...] = ()
    fault: int = -1
    also: int = -1


@dataclass
class Case:
    """Everything a target needs: complete sizes, initial contents (in and inout), pointer offsets, scalars.

    ``arrays`` holds flat arrays by parameter name; outputs have none: both targets start them with the same
    bytes derived from ``dirty``, which also seeds guard zones, registers and stack. ``offsets`` are 0..15 per
    pointer. ``content`` seeds the fill functions of the spec; ``fault`` names the refusal that is tested (""
    for a valid call); ``origin`` says where the case came from (seed, example, ...).
    """

    kernel: str
    dims: dict[str, int]
    arrays: dict[str, Array]
    offsets: dict[str, int]
    scalars: dict[str, Any]
    dirty: int
    content: int = 0
    fault: str = ""
    origin: dict[str, Any] = field(default_factory=dict)


def generator(content: int, key: int) -> np.random.Generator:
    """Counter-based generator for one part of a case: the same on every machine, cheap to make."""
    return np.random.Generator(np.random.Philox(key=np.array([content & MASK64, key], np.uint64)))


def typed(scalar: Scalar, value: Any) -> Any:
    """``value`` as a numpy scalar of the parameter's dtype; integers wrap like a C conversion."""
    dtype = np.dtype(scalar.dtype)
    if dtype.kind == "f":
        return dtype.type(value)
    return (
        np.array(int(value) & ((1 << 8 * dtype.itemsize) - 1), np.uint64)
        .astype(f"u{dtype.itemsize}")
        .view(dtype)[()]
    )


def fault_named(kernel: Kernel, name: str) -> Fault | None:
    """The refusal of that name, or of two names, None for "". Raises UsageProblem when the spec has none."""
    if not name:
        return None
    for fault in kernel.faults:
        if fault.name == name:
            return fault
    first, _, second = name.partition(AND)
    if second and (a := fault_named(kernel, first)) and (b := fault_named(kernel, second)):
        return together(a, b)
    raise UsageProblem(f"kernel {kernel.symbol} has no refused call named {name!r}")


def statuses_of(kernel: Kernel, name: str) -> set[int]:
    """What the refused call of that name may return: of two in one call, whichever is looked at first."""
    if any(fault.name == name for fault in kernel.faults):
        parts = [name]
    else:
        parts = name.split(AND)
    return {fault.status for part in parts if (fault := fault_named(kernel, part))}


def scalar_values(
    kernel: Kernel, dims: Mapping[str, int], drawn: Mapping[str, Any], fault: Fault | None = None
) -> dict[str, Any]:
    """All scalar arguments: those fixed by the dimensions, ``drawn`` for the generated ones, a fault's own on
    top.
    """
    values = {}
    for s in scalars(kernel):
        value = drawn[s.name] if s.value is None else fixed_value(kernel, s, dims)
        if fault is not None and s.name in fault.scalars:
            rule = fault.scalars[s.name]
            value = rule(dims) if callable(rule) else rule
        values[s.name] = typed(s, value)
    return values


def misaligned(tensor: Tensor, fault: Fault, dirty: int) -> int:
    """A pointer offset 1..15 that breaks the alignment (a multiple of the item size when natural)."""
    step = np.dtype(tensor.dtype).itemsize if tensor.natural else 1
    choices = [o for o in range(0, 16, step) if o % tensor.align]
    if not choices:
        raise UsageProblem(f"tensor {tensor.name}: no offset below 16 breaks an alignment of {tensor.align}")
    if _OFTEN in choices and (fault.scalars or dirty >> 8 & 1):
        return _OFTEN
    return choices[dirty % len(choices)]


def materialise(kernel: Kernel, plan: Plan) -> Case:
    """The case that ``plan`` describes. Deterministic: the same plan gives the same bytes everywhere."""
    dims, drawn = _sizes_and_scalars(kernel, plan)
    fault = kernel.faults[plan.fault] if plan.fault >= 0 else None
    if fault is not None and plan.also >= 0:
        fault = together(fault, kernel.faults[plan.also])
    valid = scalar_values(kernel, dims, drawn)
    scale = next((float(v) for v in valid.values() if isinstance(v, np.floating) and 0 < v < 1e30), 1.0)
    arrays = {}
    offsets = {}
    for i, tensor in enumerate(tensors(kernel)):
        if fault is not None and tensor.name in fault.misalign:
            offsets[tensor.name] = misaligned(tensor, fault, plan.dirty)
        else:
            offsets[tensor.name] = plan.offsets[i]
        if tensor.role != "out":
            arrays[tensor.name] = _contents(kernel, tensor, dims, plan, i, valid, scale)
    values = scalar_values(kernel, dims, drawn, fault) if fault else valid
    return Case(
        kernel.symbol, dims, arrays, offsets, values, plan.dirty, plan.content, fault.name if fault else ""
    )  # fmt: skip


def refill(
    kernel: Kernel, tensor: Tensor, dims: Mapping[str, int], array: Array, content: int, index: int
) -> None:
    """Let the spec overwrite padding or packed parts of ``array`` (flat, in place)."""
    if tensor.fill is None:
        return
    try:
        tensor.fill(
            dims, generator(content, _FILL_KEY + index), array.reshape(shape_of(kernel, tensor, dims))
        )
    except Exception as error:
        raise UsageProblem(
            f"kernel {kernel.symbol}: the fill function of {tensor.name!r} failed: "
            f"{type(error).__name__}: {error}"
        ) from error


def _contents(
    kernel: Kernel,
    tensor: Tensor,
    dims: Mapping[str, int],
    plan: Plan,
    index: int,
    arguments: Mapping[str, Any],
    scale: float,
) -> Array:
    values = family(tensor.values, tensor.dtype)
    n = prod(shape_of(kernel, tensor, dims))
    columns = columns_of(kernel, tensor, dims, arguments)
    if plan.picks and 0 < n <= len(plan.picks):
        array = values.specials[np.array(plan.picks[:n]) % values.specials.size]
    else:
        rng = generator(plan.content, index)
        array = generate(plan.kinds[index], Source(values, rng, n, columns, tensor.neutral, scale))
    array = np.ascontiguousarray(array, values.dtype)
    refill(kernel, tensor, dims, array, plan.content, index)
    return array


def _sizes_and_scalars(kernel: Kernel, plan: Plan) -> tuple[dict[str, int], dict[str, Any]]:
    """As planned, or near the plan where the spec's ``requires`` does not hold. Raises UsageProblem."""
    for attempt in range(_ATTEMPTS):
        sizes = _other_sizes(kernel, plan, attempt) if attempt else plan.dims
        dims, drawn = all_dims(kernel, sizes), _draw_scalars(kernel, plan, attempt)
        if holds(kernel, dims, drawn) and (not attempt or elements(kernel, dims) <= _REPAIRED_ELEMENTS):
            return dims, drawn
    raise UsageProblem(
        f"kernel {kernel.symbol}: none of {_ATTEMPTS} tries fulfils requires=; derive sizes from other sizes"
    )


def _other_sizes(kernel: Kernel, plan: Plan, attempt: int) -> dict[str, int]:
    """Some sizes drawn anew, small ones more often; at first one, later all of them."""
    rng = generator(plan.content, _SIZE_KEY + attempt)
    changed = 1 + attempt * len(kernel.dims) // _ATTEMPTS
    sizes = dict(plan.dims)
    for i in rng.permutation(len(kernel.dims))[:changed]:
        dim = kernel.dims[int(i)]
        steps = (dim.high - dim.low) // dim.multiple
        sizes[dim.name] = dim.low + min(int((steps + 1) ** rng.random()) - 1, steps) * dim.multiple
    return sizes


def _draw_scalars(kernel: Kernel, plan: Plan, attempt: int = 0) -> dict[str, Any]:
    drawn = {}
    for i, scalar in enumerate(s for s in scalars(kernel) if s.value is None):
        values = family(scalar.values, scalar.dtype)
        pick = plan.scalar_picks[i] if i < len(plan.scalar_picks) and not attempt else -1
        rng = generator(plan.content, _SCALAR_KEY + i + attempt * _ATTEMPT_KEY)
        drawn[scalar.name] = (
            values.specials[pick % values.specials.size]
            if pick >= 0
            else (values.wide(rng, 2) if rng.integers(0, 2) else values.small(rng, 2))[0]
        )
    return drawn
