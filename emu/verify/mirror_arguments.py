"""What a mirror gets: arrays, numpy scalars, objects with the members of structs, callbacks."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from emu.kernels.spec import Address, Alias, Callback, Kernel, Scalar, Struct, Tensor
from emu.verify.callbacks import TypedCallback
from emu.verify.case import Case
from emu.verify.families import Array


def mirror_arguments(kernel: Kernel, case: Case, views: Mapping[str, Array]) -> list[Any]:
    """In the order of the spec; ``views``: the tensors in place, by name."""
    return [_argument(kernel, case, views, p) for p in kernel.params]


def _argument(kernel: Kernel, case: Case, views: Mapping[str, Array], param: Any) -> Any:
    if isinstance(param, Tensor):
        return views[param.name]
    if isinstance(param, Scalar):
        return case.scalars[param.name]
    if isinstance(param, Alias):
        return views[param.of][param.offset :]
    if isinstance(param, Callback):
        return TypedCallback(kernel, param)
    if isinstance(param, Address):
        return param.value
    assert isinstance(param, Struct)
    whole = SimpleNamespace()
    for member in param.members:
        _set(whole, member.name.split(".")[1:], _argument(kernel, case, views, member))
    return whole


def _set(target: SimpleNamespace, path: list[str], value: Any) -> None:
    for name in path[:-1]:
        if not hasattr(target, name):
            setattr(target, name, SimpleNamespace())
        target = getattr(target, name)
    setattr(target, path[-1], value)
