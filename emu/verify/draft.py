"""The first draft of a spec file, from a function's prototype: it runs as soon as the mirror is written."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from emu.image import Image
from emu.image.debug_types import CType, Member
from emu.image.names import demangled, find_function
from emu.image.prototypes import Parameter, Prototypes
from emu.verify.draft_names import parameters_of_name
from emu.verify.errors import UsageProblem

_SIZE_NAME = re.compile(
    r"(n|m|k|h|w|c|ch|len|length|size|count|num|rows?|cols?|columns|width|height|channels?|batch|dim|depth|"
    r"taps|(num|n)_?\w+|\w*_(n|len|length|size|count|rows|cols|width|height|channels|dim|ch))",
    re.IGNORECASE,
)
_FLOATS = {"float32": "moderate", "float64": "moderate"}
_REGISTER_BYTES = 16
_LINE = 90
_HEADER = '''"""Draft of a spec{where}. Check the lines marked TODO, write the mirror, then:

    emu verify --elf {elf} --spec THIS_FILE

This file is a program: emu verify executes it.
"""

import numpy as np

from emu.spec import {names}
'''


@dataclass
class _Draft:
    """Hints by parameter name, the sizes that they use, and what has to be looked at."""

    sizes: list[str]
    lines: list[str] = field(default_factory=list)
    used: set[str] = field(default_factory=lambda: {"In", "InOut", "Out", "Size", "Value", "kernel"})

    @property
    def shape(self) -> str:
        """As many elements as all sizes together can mean: enough for the function, for a start."""
        return '"' + " * ".join(self.sizes) + '"'

    def hint(self, name: str, *arguments: str) -> str:
        self.used.add(name)
        return f"{name}({', '.join(arguments)})"


def draft(image: Image, name: str, elf: str) -> str:
    """Text of a spec file for a function of ``image``. ``elf``: its path, for the command in the header.

    Raises SymbolError for an unknown function, UsageProblem for one that no spec can describe.
    """
    symbol = find_function(image, name)
    prototypes = Prototypes(image)
    prototype = prototypes.function(name)
    if prototype is not None and prototype.is_variadic:
        raise UsageProblem(
            f"{name} takes variable arguments ({prototype}), which a spec cannot describe; describe a "
            "function with fixed parameters that calls it"
        )
    known = prototype is not None and (prototype.is_prototyped or bool(prototype.parameters))
    parameters = list(prototype.parameters) if prototype is not None and known else None
    if parameters is None:
        parameters = parameters_of_name(symbol.name)
    body = _Draft(_sizes(parameters or []))
    returns = _result(body, prototype.result if prototype is not None else None)
    if parameters is None:
        _unknown(body)
    for parameter in parameters or []:
        _add(body, image, parameter)
    where = (
        f" for\n\n    {prototype}\n    ({prototype.file}:{prototype.line})" if prototype is not None else ""
    )
    return _text(body, symbol.name, elf, where or _no_debug_info(symbol.name), returns)


def _no_debug_info(name: str) -> str:
    return f" for\n\n    {demangled(name)}\n\nwithout debug information: all of it is a guess"


def _sizes(parameters: list[Parameter]) -> list[str]:
    found = [
        p.name for p in parameters if p.type.dtype[:3] in ("int", "uin") and _SIZE_NAME.fullmatch(p.name)
    ]
    return [_python_name(name) for name in found] or ["n"]


def _python_name(name: str) -> str:
    return f"{name}_" if keyword.iskeyword(name) or name in ("np", "kernel") else name


def _unknown(body: _Draft) -> None:
    body.lines += [
        f"x: {body.hint('In', _quoted('int8'), _quoted('n'))},  # TODO all parameters, in the order of C",
        f"y: {body.hint('Out', _quoted('int8'), _quoted('n'))},",
        f"n: {body.hint('Size', _quoted('n'))},",
    ]


def _quoted(text: str) -> str:
    return f'"{text}"'


def _add(body: _Draft, image: Image, parameter: Parameter) -> None:
    name = _python_name(parameter.name or f"p{len(body.lines)}")
    hint, todo = _hint(body, image, name, parameter.type)
    body.lines.append(f"{name}: {hint},{f'  # TODO {todo}' if todo else ''}")


def _hint(body: _Draft, image: Image, name: str, c: CType) -> tuple[str, str]:
    """The hint and what to check about it."""
    if c.kind == "struct":
        return _struct(body, image, c, by_value=True), ""
    if c.pointer:
        return _pointer(body, image, c)
    dtype = c.dtype or "int32"
    if name in body.sizes and dtype[0] in "iu":
        more = () if dtype == "int32" else (f'"{dtype}"',)
        return body.hint("Size", f'"{name}"', *more), ""
    values = f"[{c.limits[0]},{c.limits[1]}]" if c.limits else _FLOATS.get(dtype, "any")
    return body.hint("Value", f'"{dtype}"', f'"{values}"'), "values that callers give"


def _pointer(body: _Draft, image: Image, c: CType) -> tuple[str, str]:
    target = c.target
    if target is None or target.kind == "function":
        return body.hint(
            "Callback", "lambda: 0", "()", "None"
        ), "the function, types of its arguments, result"
    if target.kind == "struct":
        return _struct(body, image, target), ""
    if target.kind == "pointer":
        return body.hint("In", '"uint32"', body.shape), f"{c.text} in C: a table of pointers"
    while target.kind == "array" and target.target is not None:
        target = target.target
    role = "In" if target.is_const else "InOut"
    extra = [f'values="{_FLOATS[target.dtype]}"'] if target.dtype in _FLOATS else []
    todo = "shape" if role == "In" else "shape; Out if it is written only"
    return body.hint(role, f'"{target.dtype or "uint8"}"', body.shape, *extra), todo


def _struct(body: _Draft, image: Image, c: CType, by_value: bool = False) -> str:
    plain, paths = [], []
    for path, member in _leaves(c, ""):
        hint = _member(body, image, path, member)
        if hint and path.isidentifier() and not keyword.iskeyword(path):
            plain.append(f"{path}={hint}")
        elif hint:
            paths.append(f'"{path}": {hint}')
    head = [f'"{c.text.split()[-1]}"'] if c.members and not c.text.startswith("an unnamed") else []
    head += ["by_value=True"] if by_value else []
    head += [f"size={c.size or 64}"] if not c.members else []
    members = [f"members={{{', '.join(paths)}}}"] if paths else []
    whole = body.hint("Struct", *head, *plain, *members)
    if len(whole) < _LINE:
        return whole
    lines = [*head, *plain, *members]
    return "Struct(\n        " + ",\n        ".join(lines) + ",\n    )"


def _leaves(c: CType, prefix: str) -> Iterator[tuple[str, Member]]:
    for member in c.members:
        if member.bits:
            continue  # a spec cannot describe bit fields: they hold noise
        if member.type.kind == "struct":
            yield from _leaves(member.type, f"{prefix}{member.name}.")
        else:
            yield prefix + member.name, member


def _member(body: _Draft, image: Image, path: str, member: Member) -> str:
    c = member.type
    if member.name.startswith("_vptr"):
        table = _vtable(image, member.name)
        return body.hint("Address", f'"{table}+8"') if table else ""
    if c.kind == "array" and c.target is not None and c.target.dtype:
        return body.hint("Inline", f'"{c.target.dtype}"', str(max(c.count, 1)), 'role="inout"')
    return _hint(body, image, path, c)[0]


def _vtable(image: Image, member: str) -> str:
    """The virtual table of the class that ``_vptr$Name`` or ``_vptr.Name`` belongs to."""
    name = re.split(r"[.$]", member)[-1]
    mangled = f"_ZTV{len(name)}{name}"
    return mangled if mangled in image.symbols else ""


def _result(body: _Draft, result: CType | None) -> str:
    """The return hint, or ``returns=`` for a struct; a result in memory becomes the first parameter."""
    if result is None or result.kind == "void":
        return ""
    if result.kind != "struct":
        return f" -> np.{result.dtype or 'uint32'}"
    if result.size <= _REGISTER_BYTES:
        kinds = [m.type.dtype or "uint32" for m in result.members]
        return f', returns="{",".join(kinds)}"'
    body.lines.append(f"result: {body.hint('Out', repr('uint8'), str(result.size))},  # TODO its members")
    return ""


def _text(body: _Draft, symbol: str, elf: str, where: str, returns: str) -> str:
    sizes = "".join(f", {name}=(1, 16)" for name in body.sizes if f'"{name}"' in " ".join(body.lines))
    for name in body.sizes:  # sizes that only stand in products
        if f" {name}=" not in sizes and re.search(rf"\b{name}\b", " ".join(body.lines)):
            sizes += f", {name}=(1, 16)"
    names = sorted(body.used)
    function = re.sub(r"\W", "_", demangled(symbol).split("(")[0]).strip("_")
    hint = returns if returns.startswith(" ->") else ""
    inside = "".join(f"    {line}\n" for line in body.lines)
    return (
        _HEADER.format(where=where, elf=elf, names=", ".join(names))
        + f'\n\n@kernel("{symbol}"{sizes}{"" if hint else returns})\ndef {function}(\n{inside}){hint}:\n'
        + f'    raise NotImplementedError("TODO what {function} computes, in numpy")\n'
    )
