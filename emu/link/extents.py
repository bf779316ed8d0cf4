"""Which bytes a call of a kernel may touch, as formulas of its arguments (docs/wire.md section 6).

A kernel's spec gives the shape of each tensor as a function of sizes. Here the same functions are given
expressions instead of numbers, and what they return is written down in postfix, for the agent to work out
before it calls the kernel: one formula for each argument, separated by commas.

    i <bii<bi>ii      dot_rows_s8(x, x_stride, rows, w, cols, acc, acc_stride)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from emu.kernels.spec import Dim, Kernel, Scalar, Tensor

LIMIT = (1 << 31) - 1
"""Larger values, on the way too, are none."""
DEPTH = 8
"""Values that the agent can keep."""
_TOO_MANY_COLUMNS = 2


class NotExpressible(ValueError):
    """A shape that is no formula of the arguments."""


class _Fork(Exception):
    """A shape asks whether an expression is 0."""

    def __init__(self, condition: Expr) -> None:
        super().__init__(condition.text)
        self.condition = condition


@dataclass(frozen=True)
class Expr:
    """An expression in postfix. ``answers``: what to say when asked whether it is 0, in order."""

    text: str
    answers: list[bool]

    def _with(self, other: Expr | int, op: str, reverse: bool = False) -> Expr:
        if not isinstance(other, Expr):
            other = Expr(str(int(other)), self.answers)
        first, second = (other, self) if reverse else (self, other)
        return Expr(_joined(first.text, second.text) + op, self.answers)

    def __add__(self, other: Expr | int) -> Expr:
        return self._with(other, "+")

    def __radd__(self, other: int) -> Expr:
        return self._with(other, "+", reverse=True)

    def __sub__(self, other: Expr | int) -> Expr:
        return self._with(other, "-")

    def __rsub__(self, other: int) -> Expr:
        return self._with(other, "-", reverse=True)

    def __mul__(self, other: Expr | int) -> Expr:
        return self._with(other, "*")

    def __rmul__(self, other: int) -> Expr:
        return self._with(other, "*", reverse=True)

    def __floordiv__(self, other: Expr | int) -> Expr:
        return self._with(other, "/")

    def __mod__(self, other: Expr | int) -> Expr:
        return self._with(other, "%")

    def __lshift__(self, other: Expr | int) -> Expr:
        return self._with(other, "<")

    def __neg__(self) -> Expr:
        return 0 - self

    def __bool__(self) -> bool:
        if not self.answers:
            raise _Fork(self)
        return self.answers.pop(0)


def _joined(first: str, second: str) -> str:
    return first + (" " if first[-1].isdigit() and second[0].isdigit() else "") + second


class _Sizes(Mapping[str, Any]):
    """The sizes of a kernel as expressions: the letter of an argument, or what follows from letters."""

    def __init__(self, kernel: Kernel, answers: list[bool]) -> None:
        self._kernel = kernel
        self._answers = answers
        self._letters = {
            p.value: chr(ord("a") + i)
            for i, p in enumerate(kernel.params)
            if isinstance(p, Scalar) and isinstance(p.value, str)
        }

    def __getitem__(self, name: str) -> Any:
        if name in self._letters:
            return Expr(self._letters[name], self._answers)
        if name in self._kernel.derived:
            return self._kernel.derived[name](self)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._letters)

    def __len__(self) -> int:
        return len(self._letters)


def formulas(kernel: Kernel) -> str:
    """The formulas of a kernel. Raises NotExpressible.

    Of a pointer: the bytes behind it, up to 0 for none. Of a number: above 0 when the function takes it;
    empty when it takes any.
    """
    return ",".join(
        _bytes(kernel, param) if isinstance(param, Tensor) else _domain(kernel, param, chr(ord("a") + i))
        for i, param in enumerate(kernel.params)
    )


def _bytes(kernel: Kernel, tensor: Tensor) -> str:
    size = np.dtype(tensor.dtype).itemsize
    total = "1"
    for entry in tensor.shape:
        text = _traced(kernel, tensor, entry)
        total = text if total == "1" else _joined(total, text) + "*"
    if total.isdigit():
        return str(int(total) * size)
    return total if size == 1 else f"{total}{size}*" if not total[-1].isdigit() else f"{total} {size}*"


def _traced(kernel: Kernel, tensor: Tensor, entry: int | str | Callable[..., Any]) -> str:
    def value(answers: list[bool]) -> str:
        sizes = _Sizes(kernel, answers)
        found = sizes[entry] if isinstance(entry, str) else entry(sizes) if callable(entry) else entry
        return found.text if isinstance(found, Expr) else str(int(found))

    try:
        return _both(value, [])
    except (KeyError, TypeError) as error:
        raise NotExpressible(f"{kernel.symbol}: the size of {tensor.name}: {error!r}") from error


def _both(value: Callable[[list[bool]], str], answers: list[bool]) -> str:
    """Where the shape asks for a truth, both answers: (it > 0) * one + (1 > it) * the other."""
    try:
        return value(list(answers))
    except _Fork as fork:
        condition = fork.condition.text
        yes, no = _both(value, [*answers, True]), _both(value, [*answers, False])
    first = f"{_joined(yes, condition)}0>*"
    if no == "0":
        return first
    second = f"{_joined(no, _joined('1', condition))}>*"
    return f"{first}{second}+"


def _domain(kernel: Kernel, scalar: Scalar, letter: str) -> str:
    """A size is not below what is generated, and a multiple of what is; some functions have a largest."""
    if scalar.value is None or not scalar.dtype.startswith(("int", "uint")):
        return ""
    dim = next((d for d in kernel.dims if d.name == scalar.value), Dim("", 0, 0))
    low = dim.low if dim.name else 0
    text = letter if low == 1 else f"{letter}1+" if low == 0 else f"{letter}{low - 1}-"
    if dim.multiple > 1:
        text += f"1{letter}{dim.multiple}%>*"
    most = _refused_above(kernel, scalar)
    return f"{text}{most}{letter}>*" if most else text


def _refused_above(kernel: Kernel, scalar: Scalar) -> int:
    """The least value that is refused as too large, 0 when there is none."""
    refused = [f.scalars.get(scalar.name) for f in kernel.faults if f.status == _TOO_MANY_COLUMNS]
    numbers = [value for value in refused if isinstance(value, int)]
    return min(numbers) if numbers and len(numbers) == len(refused) and not _is_stride(scalar) else 0


def _is_stride(scalar: Scalar) -> bool:
    return scalar.name.endswith("stride")


def evaluate(text: str, words: Sequence[int]) -> list[int | None]:
    """The value of each formula with these arguments (32-bit words), as the agent has it; None: it has none.

    An empty formula has the value 1.
    """
    return [_value(formula, words) if formula else 1 for formula in text.split(",")]


def _value(formula: str, words: Sequence[int]) -> int | None:
    stack: list[int] = []
    number = ""
    for character in [*formula, " "]:
        if character.isdigit():
            number += character
            continue
        if number:
            stack.append(int(number))
            number = ""
        if character.isalpha():
            stack.append(words[ord(character) - ord("a")])
            if not stack[-1] <= LIMIT:
                return None
        elif character != " ":
            right, left = stack.pop(), stack.pop()
            if (found := _apply(character, left, right)) is None:
                return None
            stack.append(found)
    return stack.pop()


def _apply(op: str, left: int, right: int) -> int | None:
    if (op in "/%" and right <= 0) or (op == "<" and not 0 <= right <= 16):
        return None
    results: dict[str, Callable[[int, int], int]] = {
        "+": lambda a, b: a + b,
        "-": lambda a, b: a - b,
        "*": lambda a, b: a * b,
        "/": lambda a, b: a // b,
        "%": lambda a, b: a % b,
        "<": lambda a, b: a << b,
        ">": lambda a, b: int(a > b),
    }
    found = results[op](left, right)
    return found if -LIMIT <= found <= LIMIT else None
