"""Smaller versions of a case: fewer rows and columns, neutral elements, simpler values, aligned pointers.

Each function returns new cases and leaves the given one alone. Whether a candidate still fails is the
business of :mod:`emu.verify.shrink`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from emu.kernels.spec import Kernel, Tensor
from emu.verify.case import Case, Plan, fault_named, materialise, refill, scalar_values
from emu.verify.families import Array, family
from emu.verify.shapes import all_dims, columns_of, grid_shape, scalars, shape_of, tensors
from emu.verify.strategies import offset_choices

Keep = Mapping[str, Array]
"""Kept positions by dimension name; the first ones where a name is missing."""


def with_dims(kernel: Kernel, case: Case, drawn: Mapping[str, int], keep: Keep) -> Case:
    """The case cropped to smaller sizes; scalars and fixed padding follow the new sizes."""
    dims = all_dims(kernel, drawn)
    generated = {s.name: case.scalars[s.name] for s in scalars(kernel) if s.value is None}
    values = scalar_values(kernel, dims, generated, fault_named(kernel, case.fault))
    arrays = {}
    for i, tensor in enumerate(tensors(kernel)):
        if tensor.role == "out":
            continue
        old = grid_shape(
            shape_of(kernel, tensor, case.dims), columns_of(kernel, tensor, case.dims, case.scalars)
        )
        new = grid_shape(shape_of(kernel, tensor, dims), columns_of(kernel, tensor, dims, values))
        size = prod(shape_of(kernel, tensor, dims))
        array = _crop(tensor, case.arrays[tensor.name], old, new, keep)[:size].copy()
        refill(kernel, tensor, dims, array, case.content, i)
        arrays[tensor.name] = array
    return replace(case, dims=dims, arrays=arrays, scalars=values)


def _crop(tensor: Tensor, array: Array, old: tuple[int, ...], new: tuple[int, ...], keep: Keep) -> Array:
    """``array`` of shape ``old`` (the last row may be cut short) as flat array of shape ``new``."""
    whole = np.full(max(prod(old), array.size), neutral_of(tensor), array.dtype)
    whole[: array.size] = array
    out = np.full(new, neutral_of(tensor), array.dtype)
    if len(old) != len(new):
        count = min(out.size, array.size)
        out.reshape(-1)[:count] = array[:count]
        return out.reshape(-1)
    kept = []
    for axis, (o, n) in enumerate(zip(old, new, strict=True)):
        entry = tensor.shape[axis] if len(tensor.shape) == len(old) else None
        chosen = keep.get(entry) if isinstance(entry, str) else None
        kept.append(np.arange(min(o, n)) if chosen is None else chosen[chosen < o][:n])
    source = whole[: prod(old)].reshape(old)[np.ix_(*kept)]
    out[tuple(slice(0, n) for n in source.shape)] = source
    return out.reshape(-1)


def drawn_dims(kernel: Kernel, case: Case) -> dict[str, int]:
    """The case's own sizes without the derived ones."""
    return {d.name: case.dims[d.name] for d in kernel.dims}


def regenerated(kernel: Kernel, case: Case, drawn: Mapping[str, int], kind: str, content: int) -> Case:
    """A new case of the given sizes with fresh contents of one kind; offsets and dirty state stay."""
    names = [t.name for t in tensors(kernel)]
    plan = Plan(drawn, (kind,) * len(names), tuple(case.offsets[n] for n in names), content, case.dirty)
    fresh = materialise(kernel, plan)
    generated = {s.name: case.scalars[s.name] for s in scalars(kernel) if s.value is None}
    fault = fault_named(kernel, case.fault)
    values = scalar_values(kernel, fresh.dims, generated, fault)
    return replace(fresh, scalars=values, offsets=case.offsets, fault=case.fault, origin=case.origin)


def smaller_sizes(kernel: Kernel, name: str, current: int) -> Iterator[int]:
    """Smaller values of a dimension, the smallest first, about logarithmically many."""
    dim = next(d for d in kernel.dims if d.name == name)
    step, gap = dim.low, dim.multiple
    tried = set()
    while step < current:
        tried.add(step)
        yield step
        step += gap
        if len(tried) >= 4:
            gap *= 2
    if current - dim.multiple >= dim.low and current - dim.multiple not in tried:
        yield current - dim.multiple


def with_elements(case: Case, name: str, array: Array) -> Case:
    """The case with other contents of one tensor."""
    return replace(case, arrays={**case.arrays, name: array})


def free_tensors(kernel: Kernel, case: Case) -> dict[str, bool]:
    """Inputs whose elements may be edited, by name; True when the spec's fill must be applied again after an
    edit.

    A fill that ignores what it overwrites either makes a constant table (left out here) or random contents,
    whose elements may be edited but must not be filled again: that would undo the edit.
    """
    found = {}
    for i, tensor in enumerate(tensors(kernel)):
        if tensor.role == "out" or not case.arrays[tensor.name].size:
            continue
        if tensor.fill is None:
            found[tensor.name] = False
            continue
        here = case.arrays[tensor.name].copy()
        refill(kernel, tensor, case.dims, here, case.content, i)
        there, other = (
            _filled_neutral(kernel, case, i, content) for content in (case.content, ~case.content)
        )
        if not np.array_equal(_raw(here), _raw(there)):
            found[tensor.name] = True
        elif not np.array_equal(_raw(there), _raw(other)):
            found[tensor.name] = False
        elif not _neutral_mask(tensor, there).all():
            continue
        else:
            found[tensor.name] = True
    return found


def neutral_of(tensor: Tensor) -> Any:
    """The tensor's neutral element; the family's simplest where the spec's own is outside of it."""
    return family(tensor.values, tensor.dtype).neutral(tensor.neutral)


def _raw(array: Array) -> Array:
    return array.view(np.uint8)


def _filled_neutral(kernel: Kernel, case: Case, index: int, content: int) -> Array:
    """What the fill alone makes of an all-neutral tensor."""
    tensor = tensors(kernel)[index]
    array = np.full_like(case.arrays[tensor.name], neutral_of(tensor))
    refill(kernel, tensor, case.dims, array, content, index)
    return array


def _neutral_mask(tensor: Tensor, array: Array) -> Array:
    """Which elements are neutral, by bits: -0 is not."""
    unsigned = f"u{array.itemsize}"
    neutral = np.array(neutral_of(tensor)).view(unsigned)
    mask: Array = array.view(unsigned) == neutral
    return mask


def nonneutral(kernel: Kernel, case: Case, name: str) -> Array:
    """Flat positions of the elements that are neither neutral nor dictated by the fill."""
    index = next(i for i, t in enumerate(tensors(kernel)) if t.name == name)
    tensor = tensors(kernel)[index]
    free = ~_neutral_mask(tensor, case.arrays[name])
    if tensor.fill is not None and free_tensors(kernel, case).get(name):
        free &= _neutral_mask(tensor, _filled_neutral(kernel, case, index, case.content))
    return np.flatnonzero(free)


def weight(kernel: Kernel, case: Case) -> int:
    """Number of non-neutral input elements, constant tables left out: what a person has to look at."""
    return sum(int(nonneutral(kernel, case, name).size) for name in free_tensors(kernel, case))


def simpler_values(value: Any) -> Iterator[Any]:
    """Simpler values than ``value`` of the same dtype, the simplest first."""
    dtype = value.dtype
    if dtype.kind == "f":
        yield from _simpler_floats(value)
        return
    number = int(value)
    sign = -1 if number < 0 else 1
    ladder = (
        [1, -1, 2, -2]
        + [sign * (1 << k) for k in range(2, 64)]
        + [sign * ((1 << k) - 1) for k in range(2, 64)]
    )
    for candidate in [*ladder, number // 2 if number > 0 else -(-number // 2)]:
        if abs(candidate) < abs(number) or (candidate == 1 and number == -1):
            yield np.array(candidate).astype(dtype)[()]


def _simpler_floats(value: Any) -> Iterator[Any]:
    if value.dtype == np.float64:
        yield from _simpler_doubles(value)
        return
    bits = int(value.view(np.uint32))
    for simple in (1.0, -1.0, 0.5, 2.0, 127.0):
        candidate = np.float32(simple)
        if bits != int(candidate.view(np.uint32)):
            yield candidate
        else:
            return
    for keep in (1, 2, 4, 8, 12, 16, 20):
        rounded = bits & ~((1 << (23 - keep)) - 1)
        if rounded != bits:
            yield np.uint32(rounded).view(np.float32)


def _simpler_doubles(value: Any) -> Iterator[Any]:
    for simple in (1.0, -1.0, 0.5, 2.0):
        if value == simple:
            return
        yield np.float64(simple)
    with np.errstate(over="ignore"):
        fewer_bits = np.rint(value), np.float64(np.float32(value))
    yield from (v for v in fewer_bits if v != value and np.isfinite(v))


def simpler_placements(kernel: Kernel, case: Case) -> Iterator[Case]:
    """Pointers moved to the alignment that the spec asks for, and clean register contents."""
    aligned = {t.name: offset_choices(t)[0] for t in tensors(kernel)}
    if case.offsets != aligned:
        yield replace(case, offsets=aligned)
        for name, offset in aligned.items():
            if case.offsets[name] != offset:
                yield replace(case, offsets={**case.offsets, name: offset})
    if case.dirty:
        yield replace(case, dirty=0)


def simpler_scalars(kernel: Kernel, case: Case) -> Iterator[Case]:
    """Generated scalars replaced by simpler values of their family."""
    for scalar in scalars(kernel):
        if scalar.value is None:
            values = family(scalar.values, scalar.dtype)
            zero = values.dtype.type(0)
            for candidate in (zero, *simpler_values(case.scalars[scalar.name])):
                if (
                    candidate != case.scalars[scalar.name]
                    and values.specials.min() <= candidate <= values.specials.max()
                ):
                    yield replace(case, scalars={**case.scalars, scalar.name: candidate})
