"""A mirror run as plain Python with some of its building blocks replaced.

A mirror that numba compiled still has its Python function. A copy of it gets other globals: functions and
constants that a hypothesis replaces, and copies of the functions that it calls. numpy itself is replaced by
a view of it in which single functions differ.
"""

from __future__ import annotations

import types
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Function = Callable[..., Any]


@dataclass(frozen=True)
class Swaps:
    """``functions``: by name, of globals and builtins, a factory from the original; ``numpy``: members of
    numpy, likewise; ``constants``: numbers by value; ``replace``: for any other global function, None to
    leave it; ``skip_rooms``: modules (by prefix) whose numpy and constants stay as they are.
    """

    functions: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    numpy: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    constants: Mapping[float, float] = field(default_factory=dict)
    replace: Callable[[Function], Function | None] = lambda function: None
    skip_rooms: tuple[str, ...] = ()


class _Numpy:
    """numpy with some members replaced."""

    def __init__(self, swaps: Mapping[str, Callable[[Any], Any]]) -> None:
        self._swaps = {name: make(getattr(np, name)) for name, make in swaps.items() if hasattr(np, name)}

    def __getattr__(self, name: str) -> Any:
        return self._swaps[name] if name in self._swaps else getattr(np, name)


def interpreted(mirror: Function, swaps: Swaps) -> Function:
    """The mirror as plain Python with ``swaps``; integer overflow wraps as in compiled code."""
    maker = _Maker(swaps)
    copy = maker.copy(mirror)

    def run(*arguments: Any) -> Any:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return copy(*arguments)

    return run


class _Maker:
    def __init__(self, swaps: Swaps) -> None:
        self._swaps = swaps
        self._numpy = _Numpy(swaps.numpy)
        self._made: dict[int, Function] = {}

    def copy(self, function: Any) -> Function:
        plain = getattr(function, "py_func", function)
        if not isinstance(plain, types.FunctionType):
            return function  # type: ignore[no-any-return]
        if id(plain) not in self._made:
            names: dict[str, Any] = {}
            made = types.FunctionType(
                self._code(plain.__code__, plain.__module__),
                names,
                plain.__name__,
                plain.__defaults__,
                self._cells(plain),
            )
            made.__kwdefaults__ = plain.__kwdefaults__
            self._made[id(plain)] = made
            names.update(self._globals(plain))
        return self._made[id(plain)]

    def _cells(self, plain: types.FunctionType) -> tuple[types.CellType, ...] | None:
        if plain.__closure__ is None:
            return None
        return tuple(types.CellType(self._value("", cell.cell_contents, plain)) for cell in plain.__closure__)

    def _globals(self, plain: types.FunctionType) -> dict[str, Any]:
        found: dict[str, Any] = {"__builtins__": plain.__globals__.get("__builtins__", __builtins__)}
        builtins = found["__builtins__"]
        table = builtins if isinstance(builtins, dict) else vars(builtins)
        for name in self._swaps.functions:
            if name in table and name not in plain.__globals__:
                found[name] = self._swaps.functions[name](table[name])
        for name in _names(plain.__code__):
            if name in plain.__globals__:
                found[name] = self._value(name, plain.__globals__[name], plain)
        return found

    def _value(self, name: str, value: Any, plain: types.FunctionType) -> Any:
        skipped = _is_in(plain.__module__, self._swaps.skip_rooms)
        if value is np:
            return np if skipped else self._numpy
        if isinstance(value, np.generic | int | float) and not isinstance(value, bool):
            return value if skipped else self._number(value)
        if not callable(value) or isinstance(value, type):
            return value
        if name in self._swaps.functions:
            return self._swaps.functions[name](self.copy(value))
        replaced = self._swaps.replace(value)
        if replaced is not None:
            return replaced
        return self.copy(value) if _is_own(value) else value

    def _number(self, value: Any) -> Any:
        other = self._swaps.constants.get(float(value)) if self._swaps.constants else None
        return value if other is None else type(value)(other)

    def _code(self, code: types.CodeType, module: str) -> types.CodeType:
        """The code with its literal numbers replaced."""
        if not self._swaps.constants or _is_in(module, self._swaps.skip_rooms):
            return code
        return code.replace(co_consts=tuple(self._literal(c, module) for c in code.co_consts))

    def _literal(self, value: Any, module: str) -> Any:
        if isinstance(value, types.CodeType):
            return self._code(value, module)
        if isinstance(value, tuple):
            return tuple(self._literal(v, module) for v in value)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return self._number(value)
        return value


def _names(code: types.CodeType) -> set[str]:
    """Names that a function's code, and that of functions inside of it, may look up."""
    inner = (_names(c) for c in code.co_consts if isinstance(c, types.CodeType))
    return set(code.co_names).union(*inner)


def _is_in(module: str, rooms: tuple[str, ...]) -> bool:
    return any(module == room or module.startswith(f"{room}.") for room in rooms)


def _is_own(value: Any) -> bool:
    """A function of a mirror's own making, not one of a library."""
    plain = getattr(value, "py_func", value)
    if not isinstance(plain, types.FunctionType):
        return False
    library = ("numpy", "numba", "scipy", "builtins", "math")
    return not _is_in(plain.__module__ or "", library)
