"""C sources as syntax trees (tree-sitter), with the exact place of every node in the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

_DECORATIONS = re.compile(rb"\bEMU_INLINE\b|__attribute__\(\([a-z_]+(\([^()]*\))?(, *[a-z_]+)*\)\)")
"""What stands before a type and is no C; the parser sees blanks instead."""
Node = Any


@lru_cache(maxsize=1)
def _parser() -> Any:
    import tree_sitter
    import tree_sitter_c

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_c.language()))


def parse(source: bytes) -> Node:
    """Root of the syntax tree; positions are those of ``source``."""
    plain = _DECORATIONS.sub(lambda found: b" " * len(found[0]), source)
    return _parser().parse(plain).root_node


def functions(root: Node) -> Iterator[tuple[str, Node]]:
    """(name, definition) of every function with a body that was understood."""
    for node in root.named_children:
        if node.type == "function_definition" and not node.has_error:
            yield _name(node.child_by_field_name("declarator")), node
        elif node.type in ("preproc_ifdef", "preproc_if", "preproc_else"):
            yield from functions(node)


def _name(declarator: Node) -> str:
    while declarator.type != "identifier":
        declarator = declarator.child_by_field_name("declarator")
    return text(declarator)


def text(node: Node) -> str:
    """The node's source text."""
    return str(node.text.decode())


def walk(node: Node) -> Iterator[Node]:
    """The node and everything in it, in the order of the text."""
    yield node
    for child in node.named_children:
        yield from walk(child)


def statement(node: Node) -> Node:
    """The smallest statement, declaration or loop head around a node."""
    while node.parent is not None and not node.type.endswith(("_statement", "declaration")):
        node = node.parent
    return node


def lines(node: Node) -> tuple[int, int]:
    """First and last line of the statement around a node; of a loop or a condition only its head."""
    around = statement(node)
    body = around.child_by_field_name("body") or around.child_by_field_name("consequence")
    last = around.end_point[0] if body is None else body.start_point[0]
    if body is not None and body.start_point[0] > around.start_point[0]:
        head_end = next(
            (c.end_point[0] for c in reversed(around.children) if c.end_byte <= body.start_byte), last
        )
        last = head_end
    return around.start_point[0] + 1, max(last, around.start_point[0]) + 1
