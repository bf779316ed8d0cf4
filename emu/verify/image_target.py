"""Functions of a firmware image on the CPU engine, as a target.

Every call starts from the same machine: the image's own data as loaded, and registers, accumulators and stack
dirtied from the case's seed (all zero for seed 0). Some cases call the function twice in a row without
restoring the image's data, so that state kept between calls shows; some run under the byte-exact permission
map, so that a read outside the buffers traps even when its value does not matter. Which ones follows from the
seed alone: replays are exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from emu.cpu import state_tools
from emu.cpu.engine import Engine
from emu.cpu.options import EngineOptions
from emu.cpu.shadow import INIT, READ, WRITE
from emu.cpu.state import CpuState
from emu.cpu.traps import Trap, TrapKind
from emu.image import Image, load_image
from emu.image.names import find_function
from emu.kernels.spec import Kernel
from emu.verify.case import Case
from emu.verify.errors import TargetFault, ToolError, UsageProblem
from emu.verify.families import Array
from emu.verify.layout import Layout
from emu.verify.marshal import Marshal
from emu.verify.options import Options
from emu.verify.pristine import Pristine
from emu.verify.served import Services
from emu.verify.shapes import all_dims, elements, elements_of, tensors
from emu.verify.target import ARENA_BYTES, CallResult, return_mask

_STACK_DIRT = np.frombuffer(
    np.random.Generator(np.random.Philox(key=[0x737461636B, 0])).bytes(1 << 19), np.uint8
)
BOUNDS_ONE_IN = 8
BOUNDS_ELEMENTS = 2000
BOUNDS_TIMES = 4
"""Cases up to this size, or so many times the kernel's smallest, take turns under the permission map, which
costs time; those with an empty input always run under it.
"""
TWICE_ONE_IN = 8
_FAR = 1 << 20
"""An address this far from the buffers still belongs to them in messages."""
_OVERFLOW = "stack overflow"


@dataclass
class _Machine:
    """An engine with live views of its memory, and the machine as it was when the image was loaded."""

    engine: Engine
    arena: Array
    stack: Array
    pristine: Pristine
    services: Services
    fresh: CpuState

    @classmethod
    def of(cls, image: Image, options: EngineOptions) -> _Machine:
        engine = Engine(image, options)
        if engine.arena.size < ARENA_BYTES:
            raise ToolError(f"the engine's arena has {engine.arena.size:,} bytes; {ARENA_BYTES:,} are needed")
        return cls(
            engine,
            engine.memory.view(engine.arena.start, ARENA_BYTES),
            engine.memory.view(engine.stack.start, engine.stack.size),
            Pristine(engine),
            Services(engine),
            state_tools.copy(engine.state),
        )

    def restore(self) -> None:
        """Memory as loaded and the processor as after a reset, whatever ran before."""
        self.pristine.restore()
        state_tools.restore(self.engine.state, self.fresh)
        self.engine.interrupts.reset()


class ImageTarget:
    """Runs kernels of one image. ``options.bounds``: permission map always (True), never, or for some cases
    (None).
    """

    name = "image"

    def __init__(self, elf: Path | Image, options: Options, *, checks: bool = False) -> None:
        """``checks``: every diagnostic of the engine is on."""
        self._checks = checks
        self.image = elf if isinstance(elf, Image) else load_image(elf)
        self._options = options
        self._machines: dict[bool, _Machine] = {}
        self._limits: dict[str, int] = {}
        self._marshals: dict[str, Marshal] = {}
        self.repeats = True
        """Some cases call the function twice."""

    def machine(self, bounds: bool) -> _Machine:
        """The machine with or without the permission map, made when first asked for."""
        if bounds not in self._machines:
            options = EngineOptions(
                tier=cast(Any, self._options.tier),
                fused=cast(Any, self._options.fused),
                bounds=bounds,
                check=self._checks,
                readings=dict(self._options.readings),
            )
            self._machines[bounds] = _Machine.of(self.image, options)
        return self._machines[bounds]

    @property
    def engine(self) -> Engine:
        """The engine that runs most cases."""
        return self.machine(self._options.bounds is True).engine

    def call(self, kernel: Kernel, case: Case) -> CallResult:
        """Run the kernel's function. Raises TargetFault when it traps."""
        machine = self.machine(self._bounded(kernel, case))
        machine.restore()
        result = self._once(machine, kernel, case)
        if self.repeats and case.dirty // BOUNDS_ONE_IN % TWICE_ONE_IN == 1:
            result = self._once(machine, kernel, case)
        return result

    def _bounded(self, kernel: Kernel, case: Case) -> bool:
        if self._options.bounds is not None:
            return self._options.bounds
        if elements(kernel, case.dims) > self._bounds_limit(kernel):
            return False
        return case.dirty % BOUNDS_ONE_IN == 1 or _has_empty_input(kernel, case)

    def _bounds_limit(self, kernel: Kernel) -> int:
        """Elements up to which a case may run under the permission map: a few times the smallest case."""
        if kernel.symbol not in self._limits:
            smallest = {d.name: max(d.low, min(d.high, 1)) for d in kernel.dims}
            least = elements(kernel, all_dims(kernel, smallest))
            self._limits[kernel.symbol] = max(BOUNDS_ELEMENTS, BOUNDS_TIMES * least)
        return self._limits[kernel.symbol]

    def _once(self, machine: _Machine, kernel: Kernel, case: Case) -> CallResult:
        engine, marshal = machine.engine, self.marshal(kernel)
        layout = Layout(kernel, case, machine.arena, marshal.blocks())
        machine.pristine.show_arena(layout.used)
        self._dirty_stack(machine, case)
        if engine.options.bounds:
            _permit(engine, layout)
        machine.services.prepare(kernel, marshal, case.dirty)
        try:
            self._set_up(machine, kernel)
            words = marshal.enter(engine, layout, case)
            out = engine.call(marshal.function, words, budget=self._options.budget, dirty=case.dirty or None)
            _check_stack(machine, marshal.function)
            machine.services.check_heap()
            marshal.leave(engine, layout)
        except Trap as trap:
            raise _fault(trap, layout, machine) from None
        finally:
            if engine.options.bounds:
                engine.memory.shadow.deny(engine.arena.start, layout.used)
        leaks, log = machine.services.leaks(), machine.services.log()
        returned = _returned(kernel, out.a2, out.a3, out.a4, out.a5)
        return CallResult(layout.outputs(), returned, out.instructions, layout.damage(), leaks, log)

    def marshal(self, kernel: Kernel) -> Marshal:
        """How the kernel is called in this image. Raises UsageProblem for what the image does not have."""
        known = self._marshals.get(kernel.symbol)
        if known is None or known.kernel is not kernel:
            known = self._marshals[kernel.symbol] = Marshal(self.image, kernel)
        return known

    def _set_up(self, machine: _Machine, kernel: Kernel) -> None:
        """Call what the spec wants to have run before: constructors, tables that are computed."""
        for name in kernel.setup:
            for function in _setup_functions(machine.engine, name):
                machine.engine.call(function, budget=self._options.budget)

    def _dirty_stack(self, machine: _Machine, case: Case) -> None:
        size = machine.stack.size
        if case.dirty and size < _STACK_DIRT.size:
            shift = case.dirty % (_STACK_DIRT.size - size)
            machine.stack[:] = _STACK_DIRT[shift : shift + size]
        else:
            machine.stack[:] = 0

    def close(self) -> None:
        """Drop the engines."""
        self._machines.clear()


def _has_empty_input(kernel: Kernel, case: Case) -> bool:
    """What is read of an empty buffer often does not matter, and is a fault all the same."""
    if case.fault:
        return False
    return any(t.role == "in" and not elements_of(kernel, t, case.dims) for t in tensors(kernel))


def _permit(engine: Engine, layout: Layout) -> None:
    """Inputs may be read, outputs read and written; guard zones not touched beyond a tensor's margin."""
    shadow = engine.memory.shadow
    for slot in layout.slots:
        if margin := slot.tensor.margin:
            shadow.allow(engine.arena.start + slot.start - margin, slot.size + 2 * margin, READ | INIT)
    for slot in layout.slots:
        if slot.size:
            perm = READ | INIT if slot.tensor.role == "in" else READ | WRITE | INIT
            shadow.allow(engine.arena.start + slot.start, slot.size, perm)
    for block in layout.blocks.values():
        shadow.allow(engine.arena.start + block.start, block.size, READ | WRITE | INIT)


def _returned(kernel: Kernel, *words: int) -> int | None:
    if kernel.returns is None:
        return None
    whole = sum(word << 32 * i for i, word in enumerate(words))
    return whole & return_mask(kernel.returns)


def _setup_functions(engine: Engine, name: str) -> list[int]:
    """Addresses of what a ``setup`` entry stands for."""
    symbols = engine.image.symbols
    if name != "init_array":
        return [find_function(engine.image, name).address]
    ends = [(f"{u}init_array_start", f"{u}init_array_end") for u in ("__", "_", "")]
    for start, end in ends:
        if start in symbols and end in symbols:
            first, last = symbols.get(start).address, symbols.get(end).address
            words = np.frombuffer(engine.memory.read(first, last - first), "<u4") if last > first else ()
            return [int(word) for word in words]
    raise UsageProblem(f"{engine.image.name} has no symbols __init_array_start and __init_array_end")


def _check_stack(machine: _Machine, function: int) -> None:
    """A call that came back although it wrote below its stack: what is there on a board is luck."""
    if machine.pristine.below_stack():
        where = machine.engine.locate(function)
        raise TargetFault(_OVERFLOW, f"{_overflow(machine)}, in a call of {where}", str(where), where.address)


def _overflow(machine: _Machine) -> str:
    stack = machine.engine.stack
    return f"stack overflow: it needs more than the {stack.size:,} bytes from {stack.start:#010x} on"


def _fault(trap: Trap, layout: Layout, machine: _Machine) -> TargetFault:
    """The trap as a verdict; an address in the arena is told by the buffer that it belongs to."""
    engine, text = machine.engine, str(trap)
    if machine.pristine.below_stack():
        # whatever happened then is a consequence
        first = f"{_overflow(machine)}; it ended with this: {text}"
        return TargetFault(_OVERFLOW, first, str(trap.where), trap.pc)
    near = None if trap.address is None else _nearest(layout, trap.address - engine.arena.start)
    if near:
        first, *rest = text.splitlines()
        text = "\n".join([first, f"  address {trap.address:#010x} is {near}", *rest])
    if trap.kind is TrapKind.BUDGET:
        text += "\n  --budget N allows more instructions"
    text += machine.services.log_text()
    return TargetFault(trap.kind.value, text, str(trap.where), trap.pc)


def _nearest(layout: Layout, offset: int) -> str:
    """``7 bytes behind the end of x`` for an offset in the arena, "" for one that is nowhere near."""
    if not -_FAR <= offset < layout.used + _FAR or not layout.slots:
        return ""

    def distance(start: int, end: int) -> int:
        return max(start - offset, offset - end + 1, 0)

    slot = min(layout.slots, key=lambda s: distance(s.start, s.end))
    if offset < slot.start:
        return f"{slot.start - offset} bytes before {slot.tensor.name}"
    if offset >= slot.end:
        return f"{offset - slot.end} bytes behind the end of {slot.tensor.name}"
    return f"byte {offset - slot.start} of {slot.tensor.name}"
