"""Sizes of a kernel's tensors: dimensions, derived dimensions, shapes, valid masks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

import numpy as np

from emu.kernels.spec import AnyParam, Kernel, Scalar, Struct, Tensor
from emu.verify.errors import UsageProblem


def _leaves(kernel: Kernel) -> Iterator[AnyParam]:
    for param in kernel.params:
        if isinstance(param, Struct):
            yield from param.members
        else:
            yield param


def tensors(kernel: Kernel) -> list[Tensor]:
    """The pointer parameters, in C order; members of structs among them."""
    return [p for p in _leaves(kernel) if isinstance(p, Tensor)]


def scalars(kernel: Kernel) -> list[Scalar]:
    """The scalar parameters, in C order; members of structs among them."""
    return [p for p in _leaves(kernel) if isinstance(p, Scalar)]


def all_dims(kernel: Kernel, drawn: Mapping[str, int]) -> dict[str, int]:
    """Drawn dimensions plus the derived ones, computed in their order."""
    dims = {d.name: int(drawn[d.name]) for d in kernel.dims}
    for name, rule in kernel.derived.items():
        dims[name] = _user(kernel, f"derived size {name!r}", lambda d, rule=rule: int(rule(d)), dims)
    return dims


def shape_of(kernel: Kernel, tensor: Tensor, dims: Mapping[str, int]) -> tuple[int, ...]:
    """The tensor's shape; a negative size (bad-argument tests) counts as zero."""
    return tuple(max(_size(kernel, tensor, entry, dims), 0) for entry in tensor.shape)


def elements_of(kernel: Kernel, tensor: Tensor, dims: Mapping[str, int]) -> int:
    """Elements of one tensor."""
    return prod(shape_of(kernel, tensor, dims))


def elements(kernel: Kernel, dims: Mapping[str, int]) -> int:
    """Elements of all tensors together."""
    return sum(elements_of(kernel, t, dims) for t in tensors(kernel))


def valid_mask(kernel: Kernel, tensor: Tensor, dims: Mapping[str, int]) -> np.ndarray[Any, Any] | None:
    """Flat mask of the elements that are compared, or None for all of them."""
    if tensor.valid is None:
        return None
    chosen, shape = tensor.valid, shape_of(kernel, tensor, dims)
    what = f"valid elements of {tensor.name!r}"
    found: np.ndarray[Any, Any] = _user(kernel, what, lambda d: _mask(chosen(d), shape), dims)
    return found


def _mask(chosen: Any, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    if isinstance(chosen, np.ndarray) and chosen.dtype == bool:
        return chosen.reshape(-1)
    mask = np.zeros(shape, bool)
    target = mask if isinstance(chosen, tuple) or len(shape) == 1 else mask.reshape(-1)
    target[chosen] = True
    return mask.reshape(-1)


def fixed_value(kernel: Kernel, scalar: Scalar, dims: Mapping[str, int]) -> Any:
    """The value of a scalar that follows from the dimensions (``scalar.value`` is not None)."""
    if isinstance(scalar.value, str):
        if scalar.value not in dims:
            raise UsageProblem(
                f"kernel {kernel.symbol}, parameter {scalar.name}: {scalar.value!r} is no dimension "
                f"(known: {', '.join(dims) or 'none'})"
            )
        return dims[scalar.value]
    assert scalar.value is not None
    return _user(kernel, f"value of {scalar.name!r}", scalar.value, dims)


def _size(kernel: Kernel, tensor: Tensor, entry: Any, dims: Mapping[str, int]) -> int:
    if isinstance(entry, str):
        if entry not in dims:
            raise UsageProblem(
                f"kernel {kernel.symbol}, tensor {tensor.name}: the shape names {entry!r}, no dimension "
                f"(known: {', '.join(dims) or 'none'})"
            )
        return dims[entry]
    value = (
        entry
        if isinstance(entry, int | np.integer)
        else _user(kernel, f"shape of {tensor.name!r}", entry, dims)
    )
    if not isinstance(value, int | np.integer):
        raise UsageProblem(
            f"kernel {kernel.symbol}, tensor {tensor.name}: a size must be an integer, not {value!r}"
        )
    return int(value)


def _user(kernel: Kernel, what: str, rule: Any, dims: Mapping[str, int]) -> Any:
    """Call a rule of the spec; its exceptions become a message about the spec."""
    try:
        return rule(dims)
    except KeyError as error:
        raise UsageProblem(
            f"kernel {kernel.symbol}: the {what} asks for dimension {error}, which does not exist "
            f"(known: {', '.join(dims) or 'none'})"
        ) from error
    except UsageProblem:
        raise
    except Exception as error:
        raise UsageProblem(
            f"kernel {kernel.symbol}: the {what} failed: {type(error).__name__}: {error}"
        ) from error


def holds(kernel: Kernel, dims: Mapping[str, int], values: Mapping[str, Any]) -> bool:
    """Whether sizes and generated scalars are as callers promise (``requires``)."""
    if kernel.requires is None:
        return True
    rule = kernel.requires
    known = {**dims, **{s.name: values[s.name] for s in scalars(kernel) if s.value is None}}
    return bool(_user(kernel, "condition requires=", rule, known))


def columns_of(kernel: Kernel, tensor: Tensor, dims: Mapping[str, int], values: Mapping[str, Any]) -> int:
    """Row length of a tensor: its scalar ``NAME_stride``, else its last axis, else 0 (no rows)."""
    stride = values.get(f"{tensor.name}_stride")
    if stride is not None:
        return max(int(stride), 0)
    shape = shape_of(kernel, tensor, dims)
    return shape[-1] if len(shape) >= 2 else 0


def grid_shape(shape: tuple[int, ...], columns: int) -> tuple[int, ...]:
    """Shape in which people think of a tensor: a flat one with a stride is rows x stride, the last row cut
    short.
    """
    if len(shape) == 1 and 0 < columns < shape[0]:
        return -(-shape[0] // columns), columns
    return shape
