"""How a call ended: results, buffers that changed, and what the engine noticed, for people and as JSON."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from emu.cpu.calls import CallResult
from emu.cpu.diagnostics import TEXTS, Counts, Diagnostics
from emu.cpu.engine import Engine
from emu.cpu.traps import Trap
from emu.debug.calls import Place, Started
from emu.debug.names import symbol_text

_SHOWN = 16


def place_namer(engine: Engine, started: Started | None) -> Callable[[int], str]:
    """Names of data addresses: a buffer of the call, the stack, or a symbol."""

    def name(address: int) -> str:
        place = started.place_at(address) if started is not None else None
        if place is not None:
            return f"{place.name}+{address - place.address:#x}"
        if engine.stack.start <= address < engine.stack.end:
            return f"stack-{engine.stack.end - address:#x}"
        return symbol_text(engine.image, address)

    return name


def text_lines(
    engine: Engine, started: Started, result: CallResult | None, trap: Trap | None
) -> Iterator[str]:
    """The outcome as lines."""
    executed = engine.state.instructions - started.entered.instructions
    name = engine.locate(started.entered.address).symbol or f"{started.entered.address:#010x}"
    if trap is not None:
        yield f"{name} trapped after {executed:,} instructions: {trap}"
        yield trap.registers_text()
    elif result is not None:
        yield f"{name} returned after {executed:,} instructions: {result_text(result)}"
    for place in started.places:
        yield buffer_text(engine, place)
    yield from notice_lines(engine.diagnostics, engine)


def result_text(result: CallResult) -> str:
    """The result words in the readings that a caller may want."""
    return f"a2 = {result.a2:#010x} (int {result.s32}, float {result.f32}), a3 = {result.a3:#010x}"


def buffer_text(engine: Engine, place: Place) -> str:
    """Where a buffer is, how much of it changed since the call began, and its first elements."""
    data = engine.memory.read(place.address, len(place.buffer.data))
    changed = [i for i, (a, b) in enumerate(zip(place.buffer.data, data, strict=True)) if a != b]
    head = f"  {place.name} at {place.address:#010x}, {len(data):,} bytes: "
    if not changed:
        return head + "unchanged"
    elements = place.buffer.elements(data)
    values = ", ".join(str(e) for e in elements[:_SHOWN]) + (", ..." if elements.size > _SHOWN else "")
    plural = "s" * (len(changed) != 1)
    return head + f"{len(changed):,} byte{plural} changed; {place.buffer.dtype}: {values}"


def notice_lines(found: Diagnostics, engine: Engine) -> Iterator[str]:
    """What the engine noticed: a line for each kind, with the first place and its values."""
    for check, counts in found.counts():
        if counts:
            pc = min(counts)
            values = found.first.get((check, pc), "")
            yield _notice(TEXTS[check], counts, engine) + (f": {values}" if values else "")
    yield from (f"  noticed: the result {use}" for use in engine.contested())
    for what, where in engine.unmodelled.seen.items():
        yield f"  not modelled, was without effect: {what}, first at {where}"
    if found.lowest_stack is not None:
        yield f"  stack used: {engine.stack.end - found.lowest_stack:,} bytes"


def _notice(what: str, counts: Counts, engine: Engine) -> str:
    """``what`` at the first of its places, and how often in all."""
    places = "1 place" if len(counts) == 1 else f"{len(counts):,} places"
    times = "once" if sum(counts.values()) == 1 else f"{sum(counts.values()):,} times"
    return f"  noticed: {what}, {times} in {places}, first at {engine.locate(min(counts))}"


def json_object(
    engine: Engine, started: Started, result: CallResult | None, trap: Trap | None
) -> dict[str, Any]:
    """The outcome as a JSON object."""
    found: dict[str, Any] = {
        "outcome": "trap" if trap is not None else "returned",
        "instructions": engine.state.instructions - started.entered.instructions,
        "buffers": {
            p.name: {
                "address": hex(p.address),
                "changed": (data := engine.memory.read(p.address, len(p.buffer.data))) != p.buffer.data,
                "bytes": data.hex(),
            }
            for p in started.places
        },
    }
    found["noticed"] = [
        {
            "kind": f.kind,
            "address": f"{f.pc:#010x}",
            "where": str(f.where),
            "count": f.count,
            "first": f.first,
        }
        for f in engine.diagnostics.findings(engine.locate)
    ]
    found["contested"] = [
        {"fact": use.name, "certain": use.is_certain, "places": [f"{p.address:#010x}" for p in use.places]}
        for use in engine.contested()
    ]
    found["unmodelled"] = dict(engine.unmodelled.seen)
    if trap is not None:
        found["trap"] = {"kind": trap.kind.value, "message": str(trap), "pc": hex(trap.pc)}
        found["registers"] = {name: hex(value) for name, value in trap.context.registers.items()}
    elif result is not None:
        found["result"] = {name: hex(getattr(result, name)) for name in ("a2", "a3", "a4", "a5")}
    return found
