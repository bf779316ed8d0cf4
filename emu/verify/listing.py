"""Listings for people: the kernels of a spec, and the disassembly of an image."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import rich_click as click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from emu.image import Image, load_image
from emu.isa.disasm import listing
from emu.kernels.spec import Kernel, Param, Scalar

_HALT = 64


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


def _parameter(param: Param) -> str:
    if isinstance(param, Scalar):
        return f"{param.dtype} {param.name}"
    shape = "][".join(_entry(entry) for entry in param.shape)
    mark = {"in": "", "out": "out ", "inout": "inout "}[param.role]
    align = f" align {param.align}" if param.align > 1 else ""
    return f"{mark}{param.dtype} {param.name}[{shape}]{align}"


def _entry(entry: Any) -> str:
    return str(entry) if isinstance(entry, int | str) else "..."


def print_disassembly(path: Path, symbols: Sequence[str]) -> None:
    """Functions of an image, each instruction with its source line where the image tells it."""
    image = load_image(path)
    functions = [image.symbols.function(name) for name in symbols] or list(image.symbols.functions())
    for function in functions:
        end = function.end if function.size else _next_symbol(image, function.address)
        click.echo(f"{function.address:08x} <{function.name}>:")
        for line in _lines(image, function.address, end):
            click.echo(line)
        click.echo()


def _next_symbol(image: Image, address: int) -> int:
    later = [s.address for s in image.symbols if s.address > address and image.is_code(s.address)]
    segment = image.segment_at(address)
    return min([*later, segment.end if segment else address + _HALT])


def _lines(image: Image, start: int, end: int) -> Iterator[str]:
    segment = image.segment_at(start)
    if segment is None:
        return
    data = segment.data[start - segment.address : end - segment.address]
    last = ""
    for line in listing(data, start, lambda target: _label(image, target)):
        place = image.lines.at(int(line.split(":", 1)[0], 16))
        here = f"{place[0]}:{place[1]}" if place else ""
        if here and here != last:
            last = here
            yield f"; {here}"
        yield line


def _label(image: Image, target: int) -> str:
    symbol = image.symbols.at(target)
    if symbol is None:
        return f"{target:#x}"
    offset = target - symbol.address
    return f"{target:#x} <{symbol.name}{f'+{offset:#x}' if offset else ''}>"
