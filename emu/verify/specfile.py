"""Spec files of users, and the checks that every spec must pass before anything runs."""

from __future__ import annotations

import importlib.util
import inspect
import os
import re
import sys
import traceback
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from emu.kernels.spec import (
    REGISTRY,
    Alias,
    Callback,
    Global,
    Inline,
    Kernel,
    Scalar,
    Struct,
    Tensor,
    is_argument,
)
from emu.verify.errors import UsageProblem
from emu.verify.families import family
from emu.verify.layout import GUARD
from emu.verify.shapes import all_dims, fixed_value, scalars, shape_of, tensors, valid_mask
from emu.verify.spectypes import check_types

_DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")
_CPP_NAME = re.compile(r"[A-Za-z_~][A-Za-z0-9_ :<>,*&()~]*")
_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_.$]*")


def load_spec(path: Path) -> dict[str, Kernel]:
    """Execute a spec file (it is a program: run only files you trust) and return the kernels it registered.

    Raises UsageProblem with file and line when it cannot be read, does not run, or registers nothing.
    """
    if not path.is_file():
        raise UsageProblem(f"spec file {path}: {'not a file' if path.exists() else 'no such file'}")
    before = set(REGISTRY)
    _execute(path)
    found = {symbol: k for symbol, k in REGISTRY.items() if symbol not in before}
    if not found:
        raise UsageProblem(f"spec file {path} registers no kernel (see emu.kernels.spec.kernel)")
    return found


def _execute(path: Path) -> None:
    folder = str(path.resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)  # modules beside the file; behind all others, so that they hide none
    name = f"emu_spec_{re.sub(r'[^A-Za-z0-9_]', '_', path.stem)}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UsageProblem(f"spec file {path}: not a Python file (its name must end in .py)")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    leave, os._exit = os._exit, _no_exit  # it would end this process, and pass for a verdict
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        place = f"{error.filename or path}:{error.lineno}" if error.lineno else str(path)
        raise UsageProblem(f"spec file {place}: {error.msg}") from error
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # SystemExit too: its code would pass for a verdict
        text = str(error).strip().splitlines()
        reason = f": {text[0]}" if text else ""
        raise UsageProblem(f"spec file {_line(path, error)}: {type(error).__name__}{reason}") from error
    finally:
        os._exit = leave


def _no_exit(status: int = 0) -> NoReturn:
    raise RuntimeError(f"os._exit({status}) is called while the file is loaded")


def _line(path: Path, error: BaseException) -> str:
    """``file:line`` of the innermost frame inside the spec file."""
    here = path.resolve()
    frames = traceback.extract_tb(error.__traceback__)
    lines = [f.lineno for f in frames if Path(f.filename).resolve() == here]
    return f"{path}:{lines[-1]}" if lines else str(path)


def validate(kernels: Mapping[str, Kernel]) -> None:
    """Check every spec. Raises UsageProblem that names kernel, parameter and what is wrong."""
    for name, kernel in kernels.items():
        check_types(name, kernel)
        _check_names(kernel)
        _check_kinds(kernel)
        for tensor in tensors(kernel):
            _check_tensor(kernel, tensor)
        _check_dims(kernel)
        for tensor in tensors(kernel):
            _check_size(kernel, tensor)
            _check_mask(kernel, tensor)
        for scalar in scalars(kernel):
            _check_scalar(kernel, scalar)
        _check_returns(kernel)
        _check_mirror(kernel)


def _complain(kernel: Kernel, what: str) -> UsageProblem:
    return UsageProblem(f"kernel {kernel.symbol}: {what}")


def _check_names(kernel: Kernel) -> None:
    is_cpp = _CPP_NAME.fullmatch(kernel.symbol) and ("::" in kernel.symbol or "(" in kernel.symbol)
    if not _SYMBOL.fullmatch(kernel.symbol) and not is_cpp:
        raise UsageProblem(f"{kernel.symbol!r} is no C symbol and no C++ name")
    for kind, names in (
        ("parameter", [p.name for p in (*kernel.params, *_members(kernel))]),
        ("dimension", [d.name for d in kernel.dims] + list(kernel.derived)),
    ):
        for name in names:
            if names.count(name) > 1:
                raise _complain(kernel, f"{kind} {name!r} is declared {names.count(name)} times")


def _members(kernel: Kernel) -> list[Any]:
    return [m for p in kernel.params if isinstance(p, Struct) for m in p.members]


def _check_kinds(kernel: Kernel) -> None:
    """Kinds of parameters in places where they have no meaning, and what they refer to."""
    known = {t.name for t in tensors(kernel)}
    for param in kernel.params:
        if isinstance(param, Inline):
            raise _complain(kernel, f"{param.name}: Inline(...) is a member of a Struct, not a parameter")
    for param in (*kernel.params, *_members(kernel)):
        if isinstance(param, Alias) and param.of not in known:
            names = ", ".join(sorted(known)) or "none"
            raise _complain(kernel, f"alias {param.name} is of {param.of!r}, no tensor (known: {names})")
        if isinstance(param, Callback):
            for dtype in (*param.args, *([param.returns] if param.returns is not None else [])):
                _check_dtype(kernel, f"callback {param.name}", dtype)
    for member in _members(kernel):
        if isinstance(member, Global):
            raise _complain(
                kernel, f"{member.name}: Global(...) cannot be a member of a struct; use Inline(...)"
            )
    behind = False
    for param in kernel.params:
        if is_argument(param) and behind:
            raise _complain(kernel, f"{param.name} is a C parameter: list it before what is no parameter")
        behind = behind or not is_argument(param)


def _check_dims(kernel: Kernel) -> None:
    for dim in kernel.dims:
        if dim.multiple < 1 or dim.low > dim.high:
            raise _complain(kernel, f"dimension {dim!r}: wants low <= high and multiple >= 1")
        if (dim.high - dim.low) % dim.multiple:
            raise _complain(
                kernel,
                f"dimension {dim.name}: {dim.low} plus steps of {dim.multiple} never gives {dim.high}; for "
                f" multiples of {dim.multiple} both ends must be some",
            )
    for name in ("low", "high"):
        dims = all_dims(kernel, {d.name: getattr(d, name) for d in kernel.dims})
        for tensor in tensors(kernel):
            shape_of(kernel, tensor, dims)


def _check_dtype(kernel: Kernel, what: str, dtype: str) -> None:
    if dtype not in _DTYPES:
        raise _complain(kernel, f"{what}: dtype {dtype!r} is not one of {', '.join(_DTYPES)}")


def _check_tensor(kernel: Kernel, tensor: Tensor) -> None:
    what = f"tensor {tensor.name}"
    _check_dtype(kernel, what, tensor.dtype)
    if tensor.role not in ("in", "out", "inout"):
        raise _complain(kernel, f"{what}: role {tensor.role!r} is not in, out or inout")
    if tensor.align < 1 or tensor.align & (tensor.align - 1) or tensor.align > 4096:
        raise _complain(kernel, f"{what}: align {tensor.align} is not a power of two up to 4096")
    if not 0 <= tensor.margin <= GUARD:
        raise _complain(kernel, f"{what}: margin {tensor.margin} is not 0 to {GUARD} bytes")
    if not isinstance(tensor.shape, tuple):
        raise _complain(kernel, f'{what}: shape must be a tuple, e.g. ("n",), not {tensor.shape!r}')
    if tensor.role != "out":
        try:
            family(tensor.values, tensor.dtype)
        except UsageProblem as error:
            raise _complain(kernel, f"{what}: {error}") from error


def _check_size(kernel: Kernel, tensor: Tensor) -> None:
    what = f"tensor {tensor.name}"
    smallest = all_dims(kernel, {d.name: d.low for d in kernel.dims})
    largest = prod(shape_of(kernel, tensor, smallest))
    if largest * np.dtype(tensor.dtype).itemsize > 1 << 22:
        raise _complain(kernel, f"{what}: even the smallest sizes give {largest:,} elements, more than fit")


def _check_mask(kernel: Kernel, tensor: Tensor) -> None:
    """It would be looked at only when results differ; then it is too late to hear that it is wrong."""
    dims = all_dims(kernel, {d.name: d.low for d in kernel.dims})
    mask = valid_mask(kernel, tensor, dims)
    size = prod(shape_of(kernel, tensor, dims))
    if mask is not None and mask.size != size:
        raise _complain(kernel, f"tensor {tensor.name}: valid gives {mask.size} elements of {size}")


def _check_scalar(kernel: Kernel, scalar: Scalar) -> None:
    what = f"parameter {scalar.name}"
    _check_dtype(kernel, what, scalar.dtype)
    if scalar.value is not None:
        fixed_value(kernel, scalar, all_dims(kernel, {d.name: d.low for d in kernel.dims}))
        return
    try:
        family(scalar.values, scalar.dtype)
    except UsageProblem as error:
        raise _complain(kernel, f"{what}: {error}") from error


def _check_returns(kernel: Kernel) -> None:
    for dtype in kernel.returns.split(",") if kernel.returns is not None else ():
        _check_dtype(kernel, "return value", dtype)
    for fault in kernel.faults:
        if kernel.returns is None:
            raise _complain(
                kernel, f"refused call {fault.name!r} has a status, but the function returns nothing"
            )
        unknown = set(fault.scalars) - {s.name for s in scalars(kernel)}
        unknown |= set(fault.misalign) - {t.name for t in tensors(kernel)}
        if unknown:
            raise _complain(
                kernel, f"refused call {fault.name!r} names {', '.join(sorted(unknown))}, no parameter"
            )


def _check_mirror(kernel: Kernel) -> None:
    function = getattr(kernel.mirror, "py_func", kernel.mirror)
    if not callable(function):
        raise _complain(kernel, "the mirror is not a function")
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return
    names = [p.name for p in kernel.params]
    mirror = [p.name for p in parameters]
    if names != mirror:
        raise _complain(
            kernel,
            f"the mirror takes ({', '.join(mirror)}), the spec lists ({', '.join(names)}); "
            "both must have the C function's parameters in its order",
        )
