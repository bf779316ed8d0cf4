"""Interrupt handlers for tests: each writes down when it ran and what it saw, and returns."""

from __future__ import annotations

from emu.cpu.engine import Engine
from emu.cpu.exceptions import setting
from emu.cpu.interrupts import level_mask
from tests.cpu.lab import CODE, DATA, Assembled, assemble
from tests.cpu.test_windows import VECTORS

BASE = CODE + 0x8000
"""VECBASE of the tests."""
SAVE = DATA + 0x2000
"""The end of the log, then 16 bytes for each level: two saved registers."""
LOG = DATA + 0x3000
AREA = DATA + 0x2400
"""For handlers that save more than two registers; its address is their third literal."""

HANDLER = """
    .word {save}
    .word {mask}
    .word {area}
    handler: wsr.excsave{n} a0
    l32r a0, literal
    s32i a2, a0, {slot}
    s32i a3, a0, {slot4}
    l32i a2, a0, 0
    addi a2, a2, 16
    s32i a2, a0, 0
    addi a2, a2, -16
    movi a3, {n}
    s32i a3, a2, 0
    rsr.epc{n} a3
    s32i a3, a2, 4
    rsr.ccount a3
    s32i a3, a2, 8
    rsr.interrupt a3
    s32i a3, a2, 12
    l32r a3, literal+4
    wsr.intclear a3
    {more}
    l32i a2, a0, {slot}
    l32i a3, a0, {slot4}
    rsr.excsave{n} a0
    {leave}
"""
BEFORE_CCOUNT = 13
"""Instructions of the vector and the handler before the one that reads CCOUNT."""
REARM = {
    1: "rsr.ccompare0 a3\n wsr.ccompare0 a3",
    3: "rsr.ccompare1 a3\n wsr.ccompare1 a3",
    5: "rsr.ccompare2 a3\n wsr.ccompare2 a3",
}
"""Taking back the timer of a level without moving it: it fires again in 2**32 cycles."""


def vector_offset(level: int) -> int:
    """Offset of a level's vector; level 1 uses the user vector."""
    return setting("XCHAL_USER_VECOFS" if level == 1 else f"XCHAL_INTLEVEL{level}_VECOFS")


def install(engine: Engine, more: dict[int, str] | None = None) -> None:
    """Window handlers and a logging handler for each level at BASE. ``more``: further code by level."""
    engine.state.VECBASE = BASE >> 10
    engine.memory.write(BASE, assemble(VECTORS, BASE).data)
    for level in (1, 2, 3, 4, 5, 7):
        at = BASE + 0x400 + 0x800 * level
        made = handler(level, at, (more or REARM).get(level, "nop"))
        engine.memory.write(at, made.data)
        vector = BASE + vector_offset(level)
        engine.memory.write(vector, assemble("j handler", vector, handler=made.labels["handler"]).data)
    engine.memory.write(SAVE, LOG.to_bytes(4, "little"))
    engine.memory.write(LOG, bytes(1024))


def handler(level: int, at: int, more: str) -> Assembled:
    """The handler of a level, with its literals at ``at``; it clears the requests of its own level."""
    leave = "rfe" if level == 1 else f"rfi {level}"
    slot = 16 * level
    names = {
        "n": level,
        "save": SAVE,
        "mask": level_mask(level),
        "area": AREA,
        "slot": slot,
        "slot4": slot + 4,
    }
    text = HANDLER.format(**names, more=more, leave=leave)
    return assemble(text, at, literal=at)


def log_of(engine: Engine) -> list[tuple[int, int, int, int]]:
    """(level, EPC, CCOUNT, INTERRUPT) of each interrupt, in order."""
    end = int.from_bytes(engine.memory.read(SAVE, 4), "little")
    data = engine.memory.read(LOG, end - LOG)
    words = [int.from_bytes(data[i : i + 4], "little") for i in range(0, len(data), 4)]
    return [(words[i], words[i + 1], words[i + 2], words[i + 3]) for i in range(0, len(words), 4)]
