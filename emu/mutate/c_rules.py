"""Mutations of C: each rule looks at one node of the syntax tree and gives replacements for a part of it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise

from emu.mutate.c_source import Node, functions, lines, parse, text, walk
from emu.mutate.mutant import Mutant


@dataclass(frozen=True)
class Change:
    """``node``'s text becomes ``new``."""

    node: Node
    new: str


Rule = Callable[[Node], Iterator[Change]]

_OPERATORS = {
    "+": ("-",), "-": ("+",), "*": ("+",), "/": ("*",), "%": ("/",), "<<": (">>",), ">>": ("<<",),
    "&": ("|",), "|": ("&",), "^": ("&",), "&&": ("||",), "||": ("&&",),
    "+=": ("-=",), "-=": ("+=",), "*=": ("+=",), "<<=": (">>=",), ">>=": ("<<=",),
    "|=": ("&=",), "&=": ("|=",),
}  # fmt: skip
_EDGES = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "=="}
_ORDERED = ("-", "/", "%", "<<", ">>")
_SIGNS = {
    "int8_t": "uint8_t", "uint8_t": "int8_t", "int16_t": "uint16_t", "uint16_t": "int16_t",
    "int32_t": "int16_t", "int64_t": "int32_t", "uint64_t": "uint32_t",
}  # fmt: skip
_INTEGER = re.compile(r"(0[xX][0-9a-fA-F]+|\d+)([uUlL]*)")
_FLOAT = re.compile(r"(\d+\.\d*)f")
_STATUS = ("EMU_OK", "EMU_BAD_ARGUMENT", "EMU_TOO_MANY_COLUMNS", "EMU_MISALIGNED", "EMU_NOT_FINITE")


def operator(node: Node) -> Iterator[Change]:
    """Another arithmetic, logic or assignment operator."""
    if node.type in ("binary_expression", "assignment_expression"):
        sign = node.child_by_field_name("operator")
        for other in _OPERATORS.get(text(sign), ()):
            yield Change(sign, other)


def comparison(node: Node) -> Iterator[Change]:
    """A comparison with its edge on the other side."""
    if node.type == "binary_expression":
        sign = node.child_by_field_name("operator")
        if text(sign) in _EDGES:
            yield Change(sign, _EDGES[text(sign)])


def constant(node: Node) -> Iterator[Change]:
    """An integer one larger and one smaller; a float one larger."""
    if node.type != "number_literal":
        return
    value = text(node)
    if found := _INTEGER.fullmatch(value):
        number, hexadecimal = int(found[1], 0), found[1][:2].lower() == "0x"
        for other in (number + 1, number - 1):
            if other >= 0:
                yield Change(node, (f"0x{other:X}" if hexadecimal else str(other)) + found[2])
    elif found := _FLOAT.fullmatch(value):
        yield Change(node, f"{float(found[1]) + 1.0:.1f}f")


def clamp(node: Node) -> Iterator[Change]:
    """A choice of two values without the choice."""
    if node.type == "conditional_expression":
        yield Change(node, f"({text(node.child_by_field_name('consequence'))})")
        yield Change(node, f"({text(node.child_by_field_name('alternative'))})")


def sign(node: Node) -> Iterator[Change]:
    """A conversion with the other signedness or half the width."""
    if node.type == "cast_expression":
        kind = node.child_by_field_name("type")
        if text(kind) in _SIGNS:
            yield Change(kind, _SIGNS[text(kind)])


def index(node: Node) -> Iterator[Change]:
    """The neighbouring element."""
    if node.type == "subscript_expression":
        place = node.child_by_field_name("index")
        yield Change(place, f"({text(place)}) + 1")


def stride(node: Node) -> Iterator[Change]:
    """A step between rows that is one larger."""
    is_step = node.type == "identifier" or node.type == "field_identifier"
    if not is_step or not text(node).endswith(("stride", "blocks", "padded", "cols")):
        return
    parent = node.parent if node.type == "identifier" else node.parent.parent
    whole = node if node.type == "identifier" else node.parent
    if parent.type in ("binary_expression", "assignment_expression") and whole != parent.child_by_field_name(
        "left"
    ):
        yield Change(whole, f"({text(whole)} + 1)")


def swap(node: Node) -> Iterator[Change]:
    """The operands of an operator whose order matters, or two neighbouring arguments of a call."""
    if node.type == "binary_expression" and text(node.child_by_field_name("operator")) in _ORDERED:
        left, right = node.child_by_field_name("left"), node.child_by_field_name("right")
        if text(left) != text(right):
            yield Change(node, f"({text(right)}) {text(node.child_by_field_name('operator'))} ({text(left)})")
    if node.type == "argument_list":
        parts = node.named_children
        for a, b in pairwise(parts):
            if text(a) != text(b):
                swapped = [text(b) if p == a else text(a) if p == b else text(p) for p in parts]
                yield Change(node, f"({', '.join(swapped)})")


def removal(node: Node) -> Iterator[Change]:
    """A statement less."""
    if node.type == "expression_statement" and len(text(node)) > 1:
        yield Change(node, ";")


def condition(node: Node) -> Iterator[Change]:
    """A condition that never holds, and its opposite."""
    if node.type == "if_statement":
        test = node.child_by_field_name("condition")
        yield Change(test, f"(0 && {text(test)})")
        yield Change(test, f"(!{text(test)})")


def bounds(node: Node) -> Iterator[Change]:
    """A loop that starts one later, ends one earlier, or takes two steps at a time."""
    if node.type != "for_statement":
        return
    start = node.child_by_field_name("initializer")
    if start is not None and text(start).rstrip("; ").endswith("= 0"):
        yield Change(start, re.sub(r"= 0\s*;$", "= 1;", text(start)))
    test = node.child_by_field_name("condition")
    if test is not None and test.type == "binary_expression":
        limit = test.child_by_field_name("right")
        yield Change(limit, f"({text(limit)}) - 1")
    for step in walk(node.child_by_field_name("update")):
        if step.type == "update_expression" and text(step).endswith("++"):
            yield Change(step, f"{text(step)[:-2]} += 2")


def negation(node: Node) -> Iterator[Change]:
    """A sign, complement or logical not less."""
    if node.type == "unary_expression":
        yield Change(node, f"({text(node.child_by_field_name('argument'))})")


def status(node: Node) -> Iterator[Change]:
    """The neighbouring status."""
    if node.type == "identifier" and text(node) in _STATUS and node.parent.type == "return_statement":
        yield Change(node, _STATUS[(_STATUS.index(text(node)) + 1) % len(_STATUS)])


RULES: tuple[Rule, ...] = (
    operator, comparison, constant, clamp, sign, index, stride, swap, removal, condition, bounds, negation,
    status,
)  # fmt: skip


def mutants(file: str, source: bytes) -> Iterator[Mutant]:
    """Every mutant of the functions of one C file or header."""
    for name, definition in functions(parse(source)):
        for node in walk(definition.child_by_field_name("body")):
            for rule in RULES:
                for change in rule(node):
                    yield _mutant(file, name, rule.__name__, change)


def _mutant(file: str, function: str, rule: str, change: Change) -> Mutant:
    node = change.node
    first, last = lines(node)
    around = node.parent if node.named_child_count == 0 and node.parent is not None else node
    before = _short(text(around))
    at = node.start_byte - around.start_byte
    after = _short(text(around)[:at] + change.new + text(around)[at + node.end_byte - node.start_byte :])
    what = f"{before} -> {after if change.new != ';' else 'nothing'}"
    new = change.new + "\n" * (text(node).count("\n") - change.new.count("\n"))
    return Mutant("c", rule, file, function, first, last, node.start_byte, node.end_byte, new, what)


def _short(words: str) -> str:
    words = " ".join(words.split())
    return words if len(words) <= 70 else f"{words[:67]}..."
