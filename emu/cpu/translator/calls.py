"""Leaving a unit for another one: calls of the guest become calls of the host, jumps become tail calls.

The target is looked up by its address in a table of two levels (one chunk of pointers for every 64 KiB of
code, see :mod:`emu.cpu.translator.lookup`); what is not translated yet leads to the dispatcher's resolver.
"""

from __future__ import annotations

from typing import Protocol

from emu.cpu.state import ExitReason
from emu.cpu.translator.emitter import RARELY, TABLE, Emitter
from emu.cpu.translator.frame import Frame
from emu.cpu.value_ir import IrBits

CHUNK_BITS = 16


class StateReader(Protocol):
    """A unit's Frame, or a helper."""

    em: Emitter

    def load_state(self, name: str, kind: str = "i32") -> str:
        """A field of the state, by LLVM name."""


def call(frame: Frame, target: IrBits, back: int) -> None:
    """Call the unit at ``target``; go on at ``back`` if it returns there, else return to our own caller."""
    em = frame.em
    frame.settle_budget()
    frame.late_store()
    frame.flushed()
    frame.store_state("PC", target.typed)
    unless(frame, em.value("icmp ne i32 %depth, 0"), str(int(ExitReason.RUNNING)))
    function = look_up(frame, target)
    below = em.value("sub i32 %depth, 1")
    reason = em.value(f"call i32 {function}(ptr %s, i32 {below})")
    pc = frame.load_state("PC")
    home = em.value(f"icmp eq i32 {pc}, {back}")
    fine = em.value(f"icmp eq i32 {reason}, {int(ExitReason.RUNNING)}")
    unless(frame, em.value(f"and i1 {home}, {fine}"), reason)
    frame.late_load()


def tail_jump(frame: Frame, target: IrBits) -> None:
    """End the unit by continuing in the one at ``target``."""
    em = frame.em
    frame.settle_budget()
    frame.late_store()
    frame.store_state("PC", target.typed)
    function = look_up(frame, target)
    result = em.value(f"musttail call i32 {function}(ptr %s, i32 %depth)")
    em.close(f"ret i32 {result}")


def unless(frame: Frame, condition: str, reason: str) -> None:
    """Return ``reason`` unless the i1 holds, with the state already in memory."""
    em = frame.em
    after, out = em.new_block("ok"), em.new_block("return")
    em.fork(condition, after, out, RARELY)
    em.enter(out)
    em.close(f"ret i32 {reason}")
    em.enter(after)


def look_up(frame: StateReader, target: IrBits) -> str:
    """The host function for a guest address."""
    em = frame.em
    chunks = frame.load_state("jump_cache", "ptr")
    chunk_at = em.value(f"getelementptr ptr, ptr {chunks}, i64 {target.lshr(CHUNK_BITS).zext(64).name}")
    chunk = em.value(f"load ptr, ptr {chunk_at}{TABLE}")
    place = (target & ((1 << CHUNK_BITS) - 1)).zext(64)
    function_at = em.value(f"getelementptr ptr, ptr {chunk}, i64 {place.name}")
    return em.value(f"load ptr, ptr {function_at}{TABLE}")


def engine_data(frame: Frame, place: int) -> str:
    """Pointer number ``place`` of the engine's table of helpers."""
    em = frame.em
    at = em.value(f"getelementptr ptr, ptr %engine, i64 {place}")
    return em.value(f"load ptr, ptr {at}{TABLE}")
