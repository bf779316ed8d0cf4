"""C source of the configuration plug-in that makes a stock xtensa GCC and binutils target the ESP32-S3.

Everything is generated from the tables of `emu.isa`; the layout of the structures is the public interface
of the tools (binutils `xtensa-isa-internal.h`, `xtensa-dynconfig.h`). No file of the chip's vendor is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources

from emu.isa.table import Operand, Row, kinds, read_csv, rows
from emu.toolchain.plugin_fields import field_functions, ident, value_functions
from emu.toolchain.plugin_registers import array, registers, settings, sysregs

SLOTS: tuple[tuple[str, int, int, tuple[int, ...], str | None], ...] = (
    ("x24", 3, 0x0, tuple(range(8)), "nop"),
    ("x16a", 2, 0x8, (8, 9, 10, 11), None),
    ("x16b", 2, 0xC, (12, 13), "nop.n"),
    ("x32", 4, 0xE, (14, 15), "nop"),
)
"""Formats of the core: name, length, base value, low nibbles, and the name of the no-op."""

INOUT = {"in": "i", "out": "o", "inout": "m"}
FLOW_FLAGS = {"": 0, "branch": 1, "jump": 2, "loop": 4, "call": 8}
CLASS_FILES = {"ar": "AR", "fr": "FR", "qr": "QR", "br": "BR", "mr": "MR"}
REGISTER, PC_RELATIVE, INVISIBLE = 1, 2, 4


@cache
def plugin_source() -> str:
    """The whole C file, a pure function of the package's tables."""
    parts: list[Iterable[str]] = [
        [resources.files("emu.toolchain").joinpath("plugin_head.c").read_text(encoding="utf-8")],
        settings(),
        _fields(),
        registers(),
        _operands(),
        _iclasses(),
        _opcodes(),
        _slots(),
        _root(),
    ]
    return "\n".join(line for part in parts for line in part) + "\n"


def _fields() -> Iterator[str]:
    for kind in kinds().values():
        yield from field_functions(kind)
        yield from value_functions(kind)
    for name, length, _, _, _ in SLOTS:
        for verb in ("get", "set"):
            entries = (
                f"{verb}_{ident(kind.name)}" if length in kind.lens else "0" for kind in kinds().values()
            )
            yield f"static {verb}_field {verb}ters_{name}[] = {{ {', '.join(entries)} }};"


@cache
def _operand_numbers() -> Mapping[tuple[str, str, bool], int]:
    """Number of every (operand name, kind, invisible) that occurs in the table."""
    keys = {_operand_key(op, hidden): None for row in rows() for op, hidden in _all_operands(row)}
    return {key: number for number, key in enumerate(keys)}


def _all_operands(row: Row) -> Iterator[tuple[Operand, bool]]:
    yield from ((operand, False) for operand in row.operands)
    yield from ((operand, True) for operand in row.implicit)


def _operand_key(operand: Operand, hidden: bool) -> tuple[str, str, bool]:
    return operand.name, operand.kind.name, hidden


def _operands() -> Iterator[str]:
    yield array("operand", "operands", (_operand(*key) for key in _operand_numbers()))


def _operand(name: str, kind_name: str, hidden: bool) -> str:
    kind = kinds()[kind_name]
    files = [line["name"] for line in read_csv("registers.csv") if line["type"] == "regfile"]
    number = list(kinds()).index(kind_name)
    fixed = ident(kind_name)
    flags = REGISTER * kind.is_register + PC_RELATIVE * (kind.cls == "label") + INVISIBLE * hidden
    file = files.index(CLASS_FILES[kind.cls]) if kind.is_register else -1
    bases = f"do_{fixed}, undo_{fixed}" if kind.cls == "label" else "0, 0"
    count = kind.regs if kind.is_register else 0
    return f'{{"{name}", {number}, {file}, {count}, {flags}, enc_{fixed}, dec_{fixed}, {bases}}}'


@cache
def opcodes() -> Mapping[str, list[Row]]:
    """Rows by mnemonic: one opcode of the tools each (the two rows of `nop` share one)."""
    result: dict[str, list[Row]] = {}
    for row in rows():
        result.setdefault(row.mnemonic, []).append(row)
    return result


def _iclasses() -> Iterator[str]:
    entries = []
    for number, (first, *_) in enumerate(opcodes().values()):
        parts = {"args": _args(first), "stateargs": _state_args(first), "pins": _pins(first)}
        for what, listed in parts.items():
            yield array("int" if what == "pins" else "arg", f"{what}_{number}", listed)
        entries.append(
            "{" + ", ".join(f"{len(listed)}, {what}_{number}" for what, listed in parts.items()) + "}"
        )
    yield array("iclass", "iclasses", entries)


def _args(row: Row) -> list[str]:
    numbers = _operand_numbers()
    return [_arg(numbers[_operand_key(op, hidden)], op.role) for op, hidden in _all_operands(row)]


def _state_args(row: Row) -> list[str]:
    names = _names("state")
    return [_arg(names.index(use.name), use.role) for use in row.states if not use.is_interface]


def _pins(row: Row) -> list[str]:
    names = _names("interface")
    return [str(names.index(use.name)) for use in row.states if use.is_interface]


def _arg(number: int, role: str) -> str:
    return f"{{{{{number}}}, '{INOUT[role]}'}}"


@cache
def _names(kind: str) -> list[str]:
    return [line["name"] for line in read_csv("registers.csv") if line["type"] == kind]


def _opcodes() -> Iterator[str]:
    entries = []
    for number, (name, variants) in enumerate(opcodes().items()):
        for row in variants:
            yield f"static void put_{number}_{row.length}(unsigned *w) {{ w[0] = {row.match:#x}u; }}"
        slots = (_encoder(number, variants, length, nibbles) for _, length, _, nibbles, _ in SLOTS)
        yield f"static set_word puts_{number}[] = {{ {', '.join(slots)} }};"
        entries.append(f'{{"{name}", {number}, {FLOW_FLAGS[variants[0].flow]}, puts_{number}, 0, 0}}')
    yield array("opcode", "opcodes", entries)


def _encoder(number: int, variants: Sequence[Row], length: int, nibbles: Sequence[int]) -> str:
    fits = any(row.length == length and row.match & 15 in nibbles for row in variants)
    return f"put_{number}_{length}" if fits else "0"


def _slots() -> Iterator[str]:
    numbers = {name: number for number, name in enumerate(opcodes())}
    for name, length, base, nibbles, _ in SLOTS:
        own = [row for row in rows() if row.length == length and row.match & 15 in nibbles]
        yield array(
            "pattern",
            f"patterns_{name}",
            (f"{{{r.mask:#x}u, {r.match:#x}u, {numbers[r.mnemonic]}}}" for r in own),
        )
        yield f"SLOT({name}, {(1 << 8 * length) - 1:#x}u, {base:#x}u, {len(own)})"
    formats = (
        f'{{"{name}", {length}, base_{name}, 1, id_{number}}}'
        for number, (name, length, *_) in enumerate(SLOTS)
    )
    yield from (f"static int id_{number}[] = {{ {number} }};" for number in range(len(SLOTS)))
    yield array("format", "formats", formats)
    yield array("slot", "slots", (_slot(name, nop) for name, *_, nop in SLOTS))
    for what, values in (("format", _format_of_nibble()), ("length", _length_of_nibble())):
        yield f"static const int {what}_of_nibble[16] = {{ {', '.join(map(str, values))} }};"


def _slot(name: str, nop: str | None) -> str:
    functions = ", ".join(f"{verb}_{name}" for verb in ("take", "give", "getters", "setters", "decode"))
    quoted = f'"{nop}"' if nop else "0"
    return f'{{"{name}_slot", "{name}", 0, {functions}, {quoted}}}'


def _format_of_nibble() -> list[int]:
    return [next(i for i, slot in enumerate(SLOTS) if nibble in slot[3]) for nibble in range(16)]


def _length_of_nibble() -> list[int]:
    return [SLOTS[number][1] for number in _format_of_nibble()]


def _root() -> Iterator[str]:
    highest = [max(int(s["number"]) for s in sysregs() if s["type"] == kind) for kind in ("special", "user")]
    yield "static int decode_format(const unsigned *w) { return format_of_nibble[w[0] & 15]; }"
    yield "static int decode_length(const unsigned char *p) { return length_of_nibble[p[0] & 15]; }"
    yield f"ROOT({len(kinds())}, {highest[0]}, {highest[1]})"
