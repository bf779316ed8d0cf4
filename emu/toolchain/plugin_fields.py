"""C text of the plug-in's operands: field access, value rules and label bases, one set per operand kind."""

from __future__ import annotations

from collections.abc import Iterator

from emu.isa.table import OperandKind


def ident(text: str) -> str:
    """A C identifier for a table name; '_' is doubled so that two names never collide."""
    table = {"_": "__", ".": "_d", "@": "_a", "-": "_m", "+": "_p", "#": "_h", ":": "_c", "/": "_s"}
    return "".join(table.get(char, char) for char in text)


def field_functions(kind: OperandKind) -> Iterator[str]:
    """Getter and setter of the kind's field in an instruction word."""
    name = ident(kind.name)
    gather = " | ".join(f"(w[0] >> {bit} & 1u) << {place}" for place, bit in enumerate(kind.bits))
    scatter = " | ".join(f"(f >> {place} & 1u) << {bit}" for place, bit in enumerate(kind.bits))
    yield f"static unsigned get_{name}(const unsigned *w) {{ (void)w; return {gather or '0'}; }}"
    yield (
        f"static void set_{name}(unsigned *w, unsigned f) "
        f"{{ (void)f; w[0] = (w[0] & ~{kind.mask:#x}u) | {scatter or '0'}; }}"
    )


def value_functions(kind: OperandKind) -> Iterator[str]:
    """Encode (value to field, non-zero when no field holds it) and decode, and the label base functions."""
    yield from (_table_rule(kind) if kind.table else _linear_rule(kind))
    if kind.cls == "label":
        base = kind.pcbase.replace("~3", "~3u")
        for verb, sign in (("do", "-"), ("undo", "+")):
            yield (
                f"static int {verb}_{ident(kind.name)}(unsigned *v, unsigned pc) "
                f"{{ *v = *v {sign} ({base}); return 0; }}"
            )


def _table_rule(kind: OperandKind) -> Iterator[str]:
    name = ident(kind.name)
    yield f"static const int values_{name}[] = {{ {', '.join(map(str, kind.table))} }};"
    yield (
        f"static int enc_{name}(unsigned *v) {{ unsigned f; for (f = 0; f < {len(kind.table)}u; f++) "
        f"if ((unsigned)values_{name}[f] == *v) {{ *v = f; return 0; }} return 1; }}"
    )
    index = f"*v & {kind.mask_of_field:#x}u"
    yield f"static int dec_{name}(unsigned *v) {{ *v = (unsigned)values_{name}[{index}]; return 0; }}"


def _linear_rule(kind: OperandKind) -> Iterator[str]:
    """The division is exact or refused, so a value that does not fit is never cut down silently."""
    name, size = ident(kind.name), 1 << kind.width
    scale = kind.scale or 1
    yield (
        f"static int enc_{name}(unsigned *v) {{ long long x = (long long)(int)*v - ({kind.offset}); "
        f"long long q = x / ({scale}); "
        f"if (x % ({scale}) || q < {-kind.wrap} || q >= {size - kind.wrap}) return 1; "
        f"*v = (unsigned)q & {size - 1:#x}u; return 0; }}"
    )
    yield (
        f"static int dec_{name}(unsigned *v) {{ "
        f"int f = (int)((*v + {kind.wrap}u) & {size - 1:#x}u) - {kind.wrap}; "
        f"*v = (unsigned)({kind.scale} * f + ({kind.offset})); return 0; }}"
    )
