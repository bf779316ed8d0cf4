"""Calls from a host function back into the guest: comparisons of qsort, callbacks."""

from __future__ import annotations

from collections.abc import Sequence

from emu.cpu import state_tools
from emu.cpu.calls import REGISTER_WORDS, ArgumentError, pack_words
from emu.cpu.engine import RETURN_ADDRESS, Engine
from emu.cpu.state import ExitReason

MASK32 = 0xFFFFFFFF
_SAVE_AREAS = 64
"""Room below a frame for what window overflows put there."""


def stack_below(engine: Engine, size: int) -> int:
    """The address ``size`` bytes below the frame of the function that called the host, 16-byte aligned."""
    return (engine.state.get_a(1) - _SAVE_AREAS - size) & MASK32 & ~15


def call_guest(engine: Engine, function: int, words: Sequence[int], kept: int = 0) -> int:
    """Run ``function`` to its end below the current frame (and ``kept`` bytes); its result as int32.

    The processor is as it was afterwards, but for the instructions counted. Raises Trap.
    """
    if len(words) > REGISTER_WORDS:
        raise ArgumentError(f"{len(words)} words: a callback gets at most {REGISTER_WORDS}")
    state = engine.state
    pointer = stack_below(engine, kept) - _SAVE_AREAS
    saved = state_tools.copy(state)
    state_tools.prepare_call(state)
    engine.memory.write(pointer - 16, pack_words([0, engine.stack.end, 0, 0]))
    state.set_a(0, 0)
    state.set_a(1, pointer)
    state.set_a(8, 2 << 30 | (RETURN_ADDRESS & 0x3FFFFFFF))
    for i, word in enumerate(words):
        state.set_a(10 + i, word & MASK32)
    state.PC = function & MASK32
    if engine.stepper.run() == ExitReason.BUDGET:
        raise engine.budget_trap()
    result = int(state.ar[10])
    instructions, budget = state.instructions, state.budget
    state_tools.restore(state, saved)
    state.instructions, state.budget = instructions, budget
    return result - (1 << 32) if result >> 31 else result
