"""C prototypes from debug information, held against specs before anything runs.

Without debug information, or for functions written in assembly, there is nothing to check, and nothing is
said.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from emu.image import Image
from emu.image.debug_types import VOID, CType
from emu.image.prototypes import Prototype, Prototypes
from emu.kernels.spec import AnyParam, Kernel, Scalar, Struct, Tensor, is_argument
from emu.verify.errors import UsageProblem
from emu.verify.structs import layout_of, same_number

_REGISTER_BYTES = 16
"""Larger results are stored where a hidden first parameter points to (Xtensa ABI, "Return values")."""


def disagreements(image: Image, kernels: Sequence[Kernel]) -> list[str]:
    """One sentence for each kernel whose spec cannot be the function's C prototype."""
    prototypes = Prototypes(image)
    told = []
    for kernel in kernels:
        prototype = prototypes.function(kernel.symbol)
        if prototype is not None and (prototype.is_prototyped or prototype.parameters):
            told.append(_disagreement(kernel, prototype))
    return [text for text in told if text]


def _disagreement(kernel: Kernel, prototype: Prototype) -> str:
    name, parameters = kernel.symbol, [p.type for p in prototype.parameters]
    if prototype.is_variadic:
        return (
            f"{name} takes variable arguments ({prototype}), which a spec cannot describe; describe a "
            "function with fixed parameters that calls it"
        )
    arguments = [p for p in kernel.params if is_argument(p)]
    result = prototype.result
    if result.kind == "struct" and result.size > _REGISTER_BYTES and len(arguments) == len(parameters) + 1:
        parameters.insert(0, CType(f"{result.text} *", "pointer", "u", 4, target=result))
        result = VOID
    if len(parameters) != len(arguments):
        c = ", ".join(p.text for p in parameters)
        return f"{name} takes {len(parameters)} parameters in C ({c}), the spec lists {len(arguments)}"
    for param, actual in zip(arguments, parameters, strict=True):
        wrong = _wrong(kernel, param, actual)
        if wrong:
            return wrong
    return _wrong_result(kernel, result)


def _wrong(kernel: Kernel, param: AnyParam, actual: CType) -> str:
    what = f"{kernel.symbol}: parameter {param.name} is {actual.text} in C"
    if isinstance(param, Struct):
        return _wrong_struct(kernel, param, actual, what)
    if actual.kind == "struct":
        return f"{what}, a struct by value, {_text(param)} in the spec; describe it as Struct(by_value=True)"
    if isinstance(param, Tensor):
        if not actual.pointer or not same_number(param.dtype, _pointee(actual), exact=True):
            return f"{what}, {_text(param)} in the spec"
        target = actual.target
        if param.role != "in" and target is not None and target.is_const:
            return f"{what}, {_text(param)} with role {param.role!r} in the spec"
        return ""
    if isinstance(param, Scalar):
        fits = not actual.pointer and same_number(param.dtype, actual, exact=False)
        return "" if fits or actual.kind == "unknown" else f"{what}, {_text(param)} in the spec"
    return "" if actual.pointer or actual.size == 4 else f"{what}, {_text(param)} in the spec"


def _pointee(c: CType) -> CType | None:
    """What a pointer's elements are: those of an array too."""
    target = c.target
    while target is not None and target.kind == "array":
        target = target.target
    return target


def _text(param: AnyParam) -> str:
    if isinstance(param, Tensor):
        return f"{param.dtype} *"
    return param.dtype if isinstance(param, Scalar) else f"a pointer ({type(param).__name__})"


def _wrong_struct(kernel: Kernel, param: Struct, actual: CType, what: str) -> str:
    kind = actual if param.by_value else actual.target
    wanted = "struct by value" if param.by_value else "pointer to a struct"
    if kind is None or (actual.pointer == param.by_value) or kind.kind not in ("struct", "void", "unknown"):
        return f"{what}, a {wanted} in the spec"
    try:
        layout_of(kernel, param, kind)
    except UsageProblem as error:
        return str(error)
    return ""


def _wrong_result(kernel: Kernel, result: CType) -> str:
    name, returns = kernel.symbol, kernel.returns
    if result.kind == "struct" and result.size > _REGISTER_BYTES:
        return (
            f"{name} returns {result.text} ({result.size} bytes), for which C passes a hidden pointer; "
            "describe it as a first parameter with role='out' and the function as void"
        )
    if returns is None:
        return ""
    if result.kind == "void":
        return f"{name} returns nothing in C, {returns} in the spec"
    if result.kind == "struct":
        fits = np.dtype(returns, align=True).itemsize == result.size
    else:
        fits = same_number(returns, result, exact=False) if "," not in returns else False
    return "" if fits else f"{name} returns {result.text} in C, {returns} in the spec"
