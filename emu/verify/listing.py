"""A listing for people: the kernels of a spec."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from emu.kernels.spec import AnyParam, Kernel, Scalar, Struct, Tensor


def print_kernels(kernels: Mapping[str, Kernel]) -> None:
    """One row per kernel: C-like signature, section, whether an exhaustive run exists."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("kernel", "parameters", "follows", "exhaustive"):
        table.add_column(title, overflow="fold")
    for kernel in kernels.values():
        text = ", ".join(_parameter(p) for p in kernel.params)
        result = f" -> {kernel.returns}" if kernel.returns else ""
        table.add_row(kernel.symbol, Text(text + result), kernel.source, "yes" if kernel.elementwise else "")
    Console().print(table)


def _parameter(param: AnyParam) -> str:
    if isinstance(param, Scalar):
        return f"{param.dtype} {param.name}"
    if isinstance(param, Struct):
        return f"struct {param.name} {{ {'; '.join(map(_parameter, param.members))} }}"
    if not isinstance(param, Tensor):
        return f"{type(param).__name__.lower()} {param.name}"
    shape = "][".join(_entry(entry) for entry in param.shape)
    mark = {"in": "", "out": "out ", "inout": "inout "}[param.role]
    align = f" align {param.align}" if param.align > 1 else ""
    return f"{mark}{param.dtype} {param.name}[{shape}]{align}"


def _entry(entry: Any) -> str:
    return str(entry) if isinstance(entry, int | str) else "..."
