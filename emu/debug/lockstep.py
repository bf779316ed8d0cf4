"""Two engines side by side on the same call, up to the first difference.

What is compared depends on what the engines are:

* *One image, two steppers* (:mod:`emu.debug.lockstep_steps`): after every instruction the whole
  architectural state (registers of all files, accumulators, states, PC) and the stores of the instruction.
* *One image, at least one translator* (:mod:`emu.debug.lockstep_tiers`): the whole state and all of memory
  after chunks of instructions; a chunk that differs is searched for the instruction whose translation makes
  the difference.
* *Two images* (:mod:`emu.debug.lockstep_images`): instruction by instruction as long as both execute the same
  stream; after that the bytes that the call leaves in its buffers and in named data, and its result.
"""

from __future__ import annotations

from emu.cpu.engine import Engine
from emu.debug import lockstep_images, lockstep_steps, lockstep_tiers
from emu.debug.calls import Call
from emu.debug.difference import Difference
from emu.debug.errors import DebugInputError
from emu.debug.snapshot import memory_differences


def first_difference(
    engine_a: Engine, engine_b: Engine, call: Call, call_b: Call | None = None
) -> Difference | None:
    """The first difference between two runs of the same call, None when there is none.

    ``call_b``: the call as engine_b has to make it, where a symbol or address differs; default: ``call``.
    Both processors are reset first; memory is used as it is and left as the runs leave it. Two traps of the
    same kind at the same place are no difference.

    Raises DebugInputError when the engines cannot be compared, and what :func:`emu.debug.calls.start` raises.
    """
    if engine_a is engine_b:
        raise DebugInputError("an engine cannot be compared with itself: make two")
    engine_a.reset()
    engine_b.reset()
    if engine_a.image.sha256 != engine_b.image.sha256:
        return lockstep_images.compare(engine_a, engine_b, call, call_b or call)
    _check_memory(engine_a, engine_b)
    if {engine_a.options.tier, engine_b.options.tier} == {"stepper"}:
        return lockstep_steps.compare(engine_a, engine_b, call, call_b or call)
    return lockstep_tiers.compare(engine_a, engine_b, call, call_b or call)


def _check_memory(a: Engine, b: Engine) -> None:
    differences = memory_differences(a, b, 1)
    if differences:
        address, left, right = differences[0]
        raise DebugInputError(
            f"the memories of the two engines differ before the call: {left:02x} and {right:02x} at "
            f"{address:#010x}; use new engines"
        )
