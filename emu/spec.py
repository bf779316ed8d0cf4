"""What a spec file imports: kernels described by the type hints of their mirror.

    from emu.spec import In, Out, Size, Value, kernel

    @kernel(rows=(1, 8), cols=(1, 70), stride="cols + 3")
    def scale(x: In("int8", "rows", "stride"), stride: Size("stride"), rows: Size("rows"), cols: Size("cols"),
              mult: Value("int32", "[-100,100]"), y: Out("int8", "rows", "cols")):
        ...

Each parameter of the C function is a parameter of the mirror, in the same order; its hint says what it is.
Behind them stand globals of the image (:func:`Global`). The symbol is the mirror's name, or the first
argument of :func:`kernel`. A spec file is a program: whoever runs it executes it.
"""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from emu.kernels import spec as _spec
from emu.kernels.spec import REGISTRY, AnyParam, Dim, Fault, Kernel

__all__ = [
    "Address", "Alias", "Callback", "Dim", "Fault", "Global", "Hint", "In", "InOut", "Inline", "Out",
    "Scratch", "Size", "Struct", "Value", "kernel",
]  # fmt: skip

Shape = int | str | Callable[[Mapping[str, int]], int]
Sizes = tuple[int, ...] | range | Dim | str | Callable[[Mapping[str, int]], int]
_DTYPES = re.compile(r"""["']?u?(int|float)\d+(\s*,\s*u?(int|float)\d+)*["']?""")
_NAMES = {"min": min, "max": max, "abs": abs}


@dataclass(frozen=True)
class Hint:
    """The type hint of one parameter; ``make`` gives the parameter of that name."""

    make: Callable[[str], AnyParam]


def _expression(text: str, what: str) -> Callable[[Mapping[str, Any]], Any]:
    """A rule from Python text over the sizes. Raises ValueError for text that is no expression."""
    try:
        code = compile(text.strip(), f"<{what}>", "eval")
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"{what} {text!r} is no expression of sizes") from error

    def rule(dims: Mapping[str, Any]) -> Any:
        try:
            return eval(code, {"__builtins__": {}, **_NAMES}, {n: _plain(v) for n, v in dims.items()})
        except NameError as error:
            raise KeyError(error.name) from error  # which the checks of specs turn into a message

    return rule


def _plain(value: Any) -> Any:
    """numpy's integers overflow silently; conditions are meant over whole numbers."""
    return value.item() if isinstance(value, np.generic) else value


def _rule(value: Shape) -> Any:
    """An int, a name of a size, or a rule."""
    if isinstance(value, str) and not value.strip().isidentifier():
        return _expression(value, "size")
    return value.strip() if isinstance(value, str) else value


def _tensor(
    kind: type[_spec.Tensor], role: str, dtype: Any, shape: tuple[Shape, ...], extra: dict[str, Any]
) -> Hint:
    name_of_type = np.dtype(dtype).name
    axes = tuple(_rule(axis) for axis in shape)
    return Hint(lambda name: kind(name, name_of_type, axes, role=role, **extra))  # type: ignore[arg-type]


def In(dtype: Any, *shape: Shape, **extra: Any) -> Hint:
    """A pointer to elements that are read: ``In("int8", "rows", "cols", align=16, values="s8")``.

    ``shape``: ints, sizes by name, expressions of them. ``extra``: fields of emu.kernels.spec.Tensor.
    """
    return _tensor(_spec.Tensor, "in", dtype, shape, extra)


def Out(dtype: Any, *shape: Shape, **extra: Any) -> Hint:
    """A pointer to elements that are written; they are compared, all of them."""
    return _tensor(_spec.Tensor, "out", dtype, shape, extra)


def InOut(dtype: Any, *shape: Shape, **extra: Any) -> Hint:
    """A pointer to elements that are read and written: work in place, state."""
    return _tensor(_spec.Tensor, "inout", dtype, shape, extra)


def Scratch(dtype: Any, *shape: Shape, **extra: Any) -> Hint:
    """A pointer to working memory: what the function leaves there is not compared, what lies around it is."""
    return _tensor(_spec.Tensor, "out", dtype, shape, {"valid": lambda dims: slice(0, 0), **extra})


def Inline(dtype: Any, *shape: Shape, role: str = "in", **extra: Any) -> Hint:
    """A member array that lies in its struct; ``role="inout"`` for state that the function changes."""
    return _tensor(_spec.Inline, role, dtype, shape, extra)


def Global(dtype: Any, *shape: Shape, role: str = "in", **extra: Any) -> Hint:
    """Data of the image (``at="symbol+4"``); with ``pointer=True`` a word there that points to a buffer."""
    return _tensor(_spec.Global, role, dtype, shape, extra)


def Size(value: Shape, dtype: Any = "int32") -> Hint:
    """A number that is a size, or follows from sizes: ``Size("rows * cols")``."""
    fixed = _rule(value)
    if isinstance(fixed, int):
        number = fixed
        fixed = lambda dims: number  # noqa: E731
    return Hint(lambda name: _spec.Scalar(name, np.dtype(dtype).name, fixed))


def Value(dtype: Any, values: str = "any") -> Hint:
    """A number that is drawn: ``Value("int32", "[1,31]")``; families as for tensors."""
    return Hint(lambda name: _spec.Scalar(name, np.dtype(dtype).name, None, values))


def Alias(of: str, offset: int = 0) -> Hint:
    """A pointer into the buffer of another parameter."""
    return Hint(lambda name: _spec.Alias(name, of, offset))


def Address(of: str, value: Any = None) -> Hint:
    """A pointer to a symbol of the image; the mirror gets ``value``."""
    return Hint(lambda name: _spec.Address(name, of, value))


def Callback(
    function: Callable[..., Any], args: tuple[Any, ...] = (), returns: Any = None, at: str = ""
) -> Hint:
    """A function pointer that leads to a Python function; ``at``: the pointer is a global of the image."""
    types = tuple(np.dtype(a).name for a in args)
    result = None if returns is None else np.dtype(returns).name
    return Hint(lambda name: _spec.Callback(name, function, types, result, at))


def Struct(
    type: str = "",
    *,
    by_value: bool = False,
    at: str = "",
    offsets: Mapping[str, int] | None = None,
    size: int = 0,
    members: Mapping[str, Hint] | None = None,
    **hints: Hint,
) -> Hint:
    """A struct, by pointer or by value: ``Struct("layer_t", w=In("int8", "n"), shift=Value("int32"))``.

    ``type``: its C name, checked against debug information. ``members``: for names that Python cannot have as
    keywords (``{"quant.mult": Value("int32")}``). The mirror gets an object with these attributes.
    """
    every = {**(members or {}), **hints}

    def make(name: str) -> AnyParam:
        parts: tuple[Any, ...] = tuple(hint.make(member) for member, hint in every.items())
        return _spec.Struct(name, parts, type, dict(offsets or {}), size, by_value, at)

    return Hint(make)


def kernel(
    symbol: Any = None,
    *,
    requires: str | Callable[[Mapping[str, Any]], bool] | None = None,
    faults: tuple[Fault, ...] = (),
    extremes: tuple[Mapping[str, int], ...] = (),
    setup: tuple[str, ...] | str = (),
    own: tuple[str, ...] | str = (),
    served: Mapping[str, Callable[[Any], Any]] | None = None,
    source: str = "",
    returns: Any = None,
    **sizes: Sizes,
) -> Any:
    """Register the decorated mirror as a kernel; its hints describe the parameters.

    ``symbol``: the C symbol, or a C++ name (mangled, ``Dense::run``, ``Dense::run(signed char const*)``).
    ``sizes``: ``rows=(1, 8)``, ``cols=(16, 128, 16)`` (low, high, step), a Dim with more choices, or what
    follows from others: ``stride="cols + 3"``. ``requires``: what callers promise, ``"rows * cols <= 4096"``.
    The other arguments: see emu.kernels.spec.Kernel. The result's type is the mirror's return hint, or
    ``returns``.

    Raises ValueError for hints that describe no parameter.
    """
    if callable(symbol) and not isinstance(symbol, str):
        return kernel()(symbol)
    dims = tuple(_dim(n, s) for n, s in sizes.items() if isinstance(s, tuple | range | Dim))
    derived = {n: _derived(n, s) for n, s in sizes.items() if not isinstance(s, tuple | range | Dim)}

    def register(mirror: Callable[..., Any]) -> Callable[..., Any]:
        function = getattr(mirror, "py_func", mirror)
        name = symbol or function.__name__
        if name in REGISTRY:
            raise ValueError(f"kernel {name!r} is registered twice")
        signature = inspect.signature(function)
        REGISTRY[name] = Kernel(
            name,
            tuple(_param(p, function) for p in signature.parameters.values()),
            mirror,
            dims=dims,
            derived=derived,
            returns=_result(signature.return_annotation if returns is None else returns, function),
            source=source,
            faults=faults,
            extremes=extremes,
            requires=_expression(requires, "requires") if isinstance(requires, str) else requires,
            setup=(setup,) if isinstance(setup, str) else setup,
            own=(own,) if isinstance(own, str) else own,
            served=dict(served or {}),
        )
        return mirror

    return register


def _dim(name: str, sizes: Any) -> Dim:
    if isinstance(sizes, Dim):
        return replace(sizes, name=name)
    if isinstance(sizes, range):
        if not sizes or sizes.step < 1:
            raise ValueError(f"size {name}: {sizes} has no values, or goes down")
        return Dim(name, sizes[0], sizes[-1], sizes.step)
    if len(sizes) not in (2, 3):
        raise ValueError(f"size {name}: {sizes!r} is not (low, high) or (low, high, step)")
    return Dim(name, *sizes)


def _derived(name: str, rule: Any) -> Callable[[Mapping[str, int]], int]:
    if isinstance(rule, str):
        return _expression(rule, f"size {name}")
    if isinstance(rule, int):
        return lambda dims: rule
    if not callable(rule):
        raise ValueError(f"size {name} is {rule!r}; it must be (low, high), an expression or a function")
    found: Callable[[Mapping[str, int]], int] = rule
    return found


def _evaluated(hint: Any, function: Callable[..., Any]) -> Any:
    """A hint that ``from __future__ import annotations`` has made text. Raises what evaluating it raises."""
    return eval(hint, function.__globals__) if isinstance(hint, str) else hint


def _param(parameter: inspect.Parameter, function: Callable[..., Any]) -> AnyParam:
    hint = _evaluated(parameter.annotation, function)
    if typing.get_origin(hint) is typing.Annotated:
        hint = next((a for a in typing.get_args(hint) if isinstance(a, Hint)), hint)
    if isinstance(hint, Hint):
        return hint.make(parameter.name)
    what = "has no type hint" if hint is inspect.Parameter.empty else f"is hinted {hint!r}"
    raise ValueError(
        f"parameter {parameter.name} {what}; say In(...), Out(...), Size(...), Value(...) or the like"
    )


def _result(hint: Any, function: Callable[..., Any]) -> str | None:
    """A dtype by name; ``"int16,int16"`` for a small struct."""
    if isinstance(hint, str) and _DTYPES.fullmatch(hint):
        return hint.replace(" ", "").replace("'", "").replace('"', "")
    hint = _evaluated(hint, function)
    if hint is inspect.Signature.empty or hint is None:
        return None
    if isinstance(hint, str):
        return _result(hint, function)
    return str(np.dtype(hint).name)
