"""The first wrong instruction of a kernel that differs from its mirror on a small case."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from emu.bisect.instruction import FirstWrong, first_wrong
from emu.bisect.machines import Machine, call_of_case, machine_of_case
from emu.bisect.replay import Replayer
from emu.cpu.engine import Engine
from emu.cpu.options import EngineOptions
from emu.cpu.traps import Trap
from emu.debug import lockstep_images
from emu.debug.difference import Difference, Kind, side_of
from emu.debug.errors import DebugInputError
from emu.debug.record import Recorder
from emu.image import Image
from emu.kernels.spec import Kernel
from emu.verify.case import Case
from emu.verify.check import Outcome
from emu.verify.compare import bits_of
from emu.verify.errors import ToolError, UsageProblem
from emu.verify.target import MirrorTarget

TWIN = "_c"
"""Ending of the name of a function that does the same in plain C."""


def in_kernel(
    kernel: Kernel, case: Case, bad: Image, good: Image | None = None, fused: str = "fused"
) -> tuple[FirstWrong | None, str]:
    """(the instruction, what it was compared with). Of a good image, a C twin and the mirror the first one
    that has an answer counts; the first two only where they agree with the mirror on this case.
    """
    if good is not None and good.sha256 != bad.sha256 and agrees(kernel, case, good, fused):
        found = first_wrong(
            machine_of_case(good, kernel, case, fused), machine_of_case(bad, kernel, case, fused)
        )
        if found is not None:
            return found, f"the good image {good.name}"
    twin = kernel.symbol + TWIN
    if twin in bad.symbols and agrees(replace(kernel, symbol=twin), case, bad, fused):
        found = _against_twin(kernel, case, bad, twin)
        if found is not None:
            return found, f"its C twin {twin}"
    return _last_write(kernel, case, bad, fused), "the mirror"


def agrees(kernel: Kernel, case: Case, image: Image, fused: str) -> bool:
    """Whether a function of an image computes what the mirror says on this case."""
    if kernel.symbol not in image.symbols:
        return False
    try:
        outcome: Outcome = Replayer(image, fused, "stepper").check(kernel, case)
    except (ToolError, UsageProblem):
        return False
    return not outcome.bad


def _against_twin(kernel: Kernel, case: Case, image: Image, twin: str) -> FirstWrong | None:
    engines = [Engine(image, EngineOptions(tier="stepper")) for _ in range(2)]
    calls = call_of_case(kernel, case, twin), call_of_case(kernel, case, kernel.symbol)
    try:
        found = lockstep_images.compare(engines[0], engines[1], *calls)
    except (DebugInputError, Trap):
        return None
    return None if found is None else _of_difference(found)


def _of_difference(found: Difference) -> FirstWrong:
    how = {Kind.TRAP: "trap", Kind.EFFECT: "effect"}.get(found.kind, "last write")
    values = tuple(v for v in found.values[:1])
    return FirstWrong(how, found.number, found.b, found.a, values)


def _last_write(kernel: Kernel, case: Case, image: Image, fused: str) -> FirstWrong | None:
    """The instruction that wrote the first element that differs from the mirror."""
    expected = MirrorTarget().call(kernel, case).outputs
    machine = machine_of_case(image, kernel, case, fused)
    engine, writers = machine.engine, dict[int, tuple[int, int]]()
    number = 0
    with Recorder(engine) as recorder:
        while not machine.is_over() and engine.state.budget > 0:
            pc = int(engine.state.PC)
            try:
                accesses = recorder.skip()
            except Trap as trap:
                return FirstWrong("trap", number, side_of(engine, trap.pc, None, trap))
            for access in accesses:
                if access.is_store:
                    writers |= dict.fromkeys(range(access.address, access.end), (number, pc))
            number += 1
    found = _writer(machine, expected, writers)
    if found is None or not found.number:
        return found
    at = _after(machine_of_case(image, kernel, case, fused), found.number)
    return replace(found, bad=side_of(at, found.bad.where.address))


def _after(machine: Machine, number: int) -> Engine:
    """The engine right behind an instruction of the call, whose registers are told."""
    with Recorder(machine.engine) as recorder:
        for _ in range(number + 1):
            recorder.skip()
    return machine.engine


def _writer(
    machine: Machine,
    expected: dict[str, np.ndarray],
    writers: dict[int, tuple[int, int]],
) -> FirstWrong | None:
    """``number`` is 0 where nothing wrote the element."""
    for output in machine.outputs:
        unequal = (bits_of(expected[output.name]) != bits_of(output.read(machine.engine))) & output.counts
        if not unequal.any():
            continue
        at = int(np.flatnonzero(unequal)[0])
        address = output.address + at * np.dtype(output.dtype).itemsize
        number, pc = writers.get(address, (0, int(machine.engine.state.PC)))
        note = f"it wrote {output.name}[{at}]" if address in writers else f"nothing wrote {output.name}[{at}]"
        return FirstWrong("last write", number, side_of(machine.engine, pc), notes=(note,))
    return None
