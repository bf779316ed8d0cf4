"""An engine that stands somewhere in a run, and how to tell that the stretch of interest is over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from emu.cpu.engine import RETURN_ADDRESS, Engine
from emu.debug.calls import Buffer, Call
from emu.image import Image
from emu.kernels.spec import Kernel, Tensor
from emu.verify.case import Case
from emu.verify.families import Array
from emu.verify.image_target import ImageTarget
from emu.verify.layout import Layout
from emu.verify.options import Options
from emu.verify.shapes import tensors, valid_mask
from emu.verify.target import host_arena

BUDGET = 50_000_000


@dataclass
class Machine:
    """``outputs``: (name, address, dtype, compared elements) of what the stretch has to produce."""

    engine: Engine
    is_over: Callable[[], bool]
    outputs: list[Output] = field(default_factory=list)


@dataclass(frozen=True)
class Output:
    """An output tensor in guest memory. ``counts``: elements that are compared."""

    name: str
    address: int
    dtype: str
    counts: Array

    def read(self, engine: Engine) -> Array:
        """Its elements, flat."""
        dtype = np.dtype(self.dtype)
        return np.frombuffer(engine.memory.read(self.address, self.counts.size * dtype.itemsize), dtype)


def machine_of_case(
    image: Image, kernel: Kernel, case: Case, fused: str = "fused", tier: str = "stepper"
) -> Machine:
    """The machine at the first instruction of a kernel, memory laid out as for a verdict. Raises Trap."""
    target = ImageTarget(image, Options(tier=tier, fused=fused, bounds=False))
    machine, marshal = target.machine(False), target.marshal(kernel)
    engine = machine.engine
    layout = Layout(kernel, case, machine.arena, marshal.blocks())
    places = {slot.tensor.name: engine.arena.start + slot.start for slot in layout.slots}
    words = marshal.enter(engine, layout, case)
    engine.begin(marshal.function, words, dirty=case.dirty or None)
    engine.state.budget = BUDGET
    outputs = []
    for slot in layout.slots:
        if slot.tensor.role != "in" and slot.size:
            mask = valid_mask(kernel, slot.tensor, case.dims)
            count = slot.size // np.dtype(slot.tensor.dtype).itemsize
            counts = np.ones(count, bool) if mask is None else mask
            outputs.append(Output(slot.tensor.name, places[slot.tensor.name], slot.tensor.dtype, counts))
    return Machine(engine, lambda: bool(engine.state.PC == RETURN_ADDRESS), outputs)


def call_of_case(kernel: Kernel, case: Case, symbol: str) -> Call:
    """The case as a call of ``symbol`` for lockstep; every buffer is as both targets begin with it."""
    arena = host_arena()
    layout = Layout(kernel, case, arena)
    data = {s.tensor.name: arena[s.start : s.end].tobytes() for s in layout.slots}
    arguments: list[Any] = []
    for param in kernel.params:
        if isinstance(param, Tensor):
            offset = case.offsets[param.name]
            arguments.append(Buffer(data[param.name], param.dtype, param.name, offset))
        else:
            arguments.append(case.scalars[param.name])
    returns = 0 if kernel.returns is None else -(-np.dtype(kernel.returns).itemsize // 4)
    return Call(symbol, arguments, case.dirty or None, BUDGET, returns)


def has_scratch_only(kernel: Kernel, name: str, case: Case) -> bool:
    """True for an output of which no element counts."""
    tensor = next(t for t in tensors(kernel) if t.name == name)
    mask = valid_mask(kernel, tensor, case.dims)
    return mask is not None and not mask.any()
