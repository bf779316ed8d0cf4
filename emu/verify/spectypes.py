"""What the fields of a spec must be made of, so that every later check can rely on it.

Spec files are written by hand and Python does not hold annotations against values: a string where a number is
wanted would otherwise show up far away from the spec.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from emu.kernels.spec import Address, Alias, Callback, Dim, Fault, Kernel, Scalar, Struct, Tensor
from emu.verify.errors import UsageProblem

Test = Callable[[Any], bool]


def _is_int(value: Any) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_rule(value: Any) -> bool:
    return value is None or callable(value)


def _is_ints(value: Any) -> bool:
    return isinstance(value, tuple) and all(map(_is_int, value))


def _all(*kinds: type) -> Test:
    return lambda value: isinstance(value, tuple) and all(isinstance(entry, kinds) for entry in value)


_WANTED: dict[type, dict[str, tuple[Test, str]]] = {
    Kernel: {
        "symbol": (_is_text, "a string, the name of the C function"),
        "params": (
            _all(Tensor, Scalar, Alias, Address, Callback, Struct),
            "Tensor(...), Scalar(...) and so on, one for each parameter",
        ),
        "dims": (_all(Dim), "a tuple of Dim(...)"),
        "derived": (
            lambda v: isinstance(v, Mapping) and all(callable(rule) for rule in v.values()),
            "a dictionary of functions of the sizes",
        ),
        "faults": (_all(Fault), "a tuple of Fault(...)"),
        "extremes": (_all(Mapping), "a tuple of dictionaries of sizes"),
        "requires": (_is_rule, "a function of the sizes and scalars"),
        "setup": (_all(str), "a tuple of function names"),
        "own": (_all(str), "a tuple of function names"),
        "served": (
            lambda v: isinstance(v, Mapping) and all(callable(f) for f in v.values()),
            "a dictionary of functions",
        ),
    },
    Dim: {
        "name": (_is_text, "a string"),
        "low": (_is_int, "an integer"),
        "high": (_is_int, "an integer"),
        "multiple": (_is_int, "an integer"),
        "special": (_is_ints, "a tuple of integers"),
    },
    Tensor: {
        "name": (_is_text, "a string"),
        "align": (_is_int, "an integer"),
        "neutral": (_is_int, "an integer"),
        "values": (_is_text, "a string, the name of a family of contents"),
        "fill": (_is_rule, "a function (sizes, rng, array)"),
        "valid": (_is_rule, "a function of the sizes"),
    },
    Scalar: {
        "name": (_is_text, "a string"),
        "values": (_is_text, "a string, the name of a family of contents"),
        "value": (
            lambda v: _is_text(v) or _is_rule(v),
            "the name of a dimension, or a function of the sizes",
        ),
    },
    Alias: {
        "name": (_is_text, "a string"),
        "of": (_is_text, "a string, the name of a tensor"),
        "offset": (_is_int, "an integer"),
    },
    Address: {"name": (_is_text, "a string"), "of": (_is_text, "a string, a symbol of the image")},
    Callback: {
        "name": (_is_text, "a string"),
        "function": (callable, "a function"),
        "args": (_all(str), "a tuple of dtype names"),
        "at": (_is_text, "a string, a symbol of the image"),
    },
    Struct: {
        "name": (_is_text, "a string"),
        "members": (
            _all(Tensor, Scalar, Alias, Address, Callback),
            "a tuple of Tensor(...), Inline(...), Scalar(...) and so on",
        ),
        "type": (_is_text, "a string, the name of the C struct"),
        "offsets": (lambda v: isinstance(v, Mapping) and all(map(_is_int, v.values())), "a dictionary"),
        "size": (_is_int, "an integer"),
        "at": (_is_text, "a string, a symbol of the image"),
    },
    Fault: {
        "name": (_is_text, "a string"),
        "status": (_is_int, "an integer"),
        "scalars": (lambda v: isinstance(v, Mapping), "a dictionary"),
        "misalign": (lambda v: isinstance(v, tuple), "a tuple of parameter names"),
    },
}


def check_types(name: str, kernel: Any) -> None:
    """Raises UsageProblem for the first field that is something else. ``name``: of the registered kernel."""
    if not isinstance(kernel, Kernel):
        raise UsageProblem(f"kernel {name}: {kernel!r} is registered, which is no Kernel")
    _check(name, "", kernel)
    members = [m for p in kernel.params if isinstance(p, Struct) for m in p.members]
    for part in (*kernel.params, *members, *kernel.dims, *kernel.faults):
        _check(name, f"{type(part).__name__} {part.name!r}: ", part)


def _check(name: str, what: str, part: Any) -> None:
    wants = next(_WANTED[kind] for kind in type(part).__mro__ if kind in _WANTED)
    for field, (test, wanted) in wants.items():
        value = getattr(part, field)
        if not test(value):
            raise UsageProblem(f"kernel {name}: {what}{field} is {value!r}; it must be {wanted}")
