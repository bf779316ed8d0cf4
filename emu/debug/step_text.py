"""Steps of a trace as lines of text and as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emu.cpu.plan import text_of
from emu.debug.changes import Change
from emu.debug.names import float_text, symbol_text, target_text, value_text
from emu.debug.observe import Access
from emu.debug.record import Step
from emu.image import Image

Namer = Callable[[int], str]
"""Name of a data address ("x+0x10"), or ""."""


def header() -> str:
    """Title of the columns of :func:`text_line`."""
    return f"{'number':>9}  {'address':8}  {'where':<26} {'instruction':<40} reads | changes | memory"


def text_line(step: Step, image: Image, namer: Namer) -> str:
    """One step as one line."""
    text = instruction_text(step, image)
    where = symbol_text(image, step.pc)
    effects = " | ".join(filter(None, (_reads(step), _changes(step), _memory(step, namer))))
    line = f"{step.number:>9}  {step.pc:08x}  {where:<26} {text:<40} {effects}".rstrip()
    return f"{line}  ! {step.event}" if step.event else line


def instruction_text(step: Step, image: Image) -> str:
    """Assembler text with named targets."""
    if step.plan is None:
        return "(no instruction)"
    return text_of(step.plan, lambda target: target_text(image, target)).replace("\t", " ")


def _reads(step: Step) -> str:
    return " ".join(_named(name, value) for name, value in step.reads.items())


def _named(name: str, value: int) -> str:
    bits = bits_of(name)
    note = f"({float_text(value)})" if name[0] == "f" and name[1:].isdigit() else ""
    return f"{name}={value_text(value, bits)}{note}"


def bits_of(name: str) -> int:
    """Width of a register or state by its name in a step."""
    from emu.cpu.state import STATES

    if name in STATES:
        return STATES[name]
    if name == "br":
        return 16
    return {"q": 128, "b": 1}.get(name[0], 32)


def _changes(step: Step) -> str:
    return " ".join(change_text(change) for change in step.changes)


def change_text(change: Change) -> str:
    """``a3: 00000000 -> 00000001``."""
    before, after = (value_text(v, change.bits) for v in (change.before, change.after))
    note = f"({float_text(change.after)})" if change.name[0] == "f" and change.name[1:].isdigit() else ""
    return f"{change.name}: {before} -> {after}{note}"


def _memory(step: Step, namer: Namer) -> str:
    return " ".join(access_text(access, namer) for access in step.accesses)


def access_text(access: Access, namer: Namer) -> str:
    """``[x+0x10 3d000410] = 01`` for a load, ``<- 02 (was 01)`` for a store."""
    name = namer(access.address)
    place = f"[{name} {access.address:08x}]" if name else f"[{access.address:08x}]"
    value = value_text(access.value, 8 * access.size)
    if not access.is_store:
        return f"{place} = {value}"
    return f"{place} <- {value} (was {value_text(access.before, 8 * access.size)})"


def json_object(step: Step, image: Image, namer: Namer) -> dict[str, Any]:
    """One step as a JSON object; values of registers and memory are hex strings."""
    place = image.locate(step.pc)
    found: dict[str, Any] = {
        "number": step.number,
        "pc": hex(step.pc),
        "symbol": place.symbol,
        "offset": place.offset,
        "file": place.file,
        "line": place.line,
        "bytes": step.plan.data.hex() if step.plan else "",
        "text": instruction_text(step, image),
        "reads": {name: hex(value) for name, value in step.reads.items()},
        "changes": {c.name: [hex(c.before), hex(c.after)] for c in step.changes},
        "memory": [_access_object(access, namer) for access in step.accesses],
        "next": hex(step.next_pc),
    }
    if step.event:
        found["event"] = step.event
    return found


def _access_object(access: Access, namer: Namer) -> dict[str, Any]:
    found: dict[str, Any] = {
        "kind": "store" if access.is_store else "load",
        "address": hex(access.address),
        "place": namer(access.address),
        "size": access.size,
        "value": hex(access.value),
    }
    if access.is_store:
        found["before"] = hex(access.before)
    return found
