"""Which instruction, and with it which line, makes two builds compute different things: both run in lockstep.

The two images execute a failing case together, instruction by instruction. Where the next instructions are
not the same, or one does something else in one of the two, is the place. Images of C that differ in one
statement must have been compiled without optimisation: then every statement has instructions of its own, and
only those of the changed one differ.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from emu.cpu.engine import RETURN_ADDRESS, Engine
from emu.cpu.options import EngineOptions
from emu.debug.calls import Buffer, Call, start
from emu.debug.correspondence import Correspondence
from emu.debug.record import Recorder, Step
from emu.image import Image, Location
from emu.isa.decode import Insn
from emu.kernels.spec import Kernel, Tensor
from emu.verify.case import Case
from emu.verify.layout import Layout
from emu.verify.target import host_arena

LIMIT = 400_000
"""Instructions after which the search is given up."""
_FRAME_POINTERS = (1, 7)
_ADDRESSED = frozenset(
    {"l32i", "s32i", "l8ui", "s8i", "l16ui", "l16si", "s16i", "lsi", "ssi", "addi", "addmi"}
)


@dataclass(frozen=True)
class Place:
    """The first difference: the same moment in both images. ``number``: instructions before it."""

    good: Location
    bad: Location
    number: int


def call_of(kernel: Kernel, case: Case) -> Call:
    """The call that a case is, with the same bytes in every buffer as a target starts it with."""
    layout = Layout(kernel, case, host_arena())
    slots = {slot.tensor.name: slot for slot in layout.slots}
    arguments = []
    for parameter in kernel.params:
        if isinstance(parameter, Tensor):
            slot = slots[parameter.name]
            data = layout.view(slot).tobytes()
            arguments.append(Buffer(data, parameter.dtype, parameter.name, slot.start % 64))
        else:
            arguments.append(case.scalars[parameter.name])
    words = 0 if kernel.returns is None else -(-np.dtype(kernel.returns).itemsize // 4)
    return Call(kernel.symbol, arguments, dirty=case.dirty or None, budget=LIMIT, returns=words)


def first_place(good: Image, bad: Image, call: Call, exact: bool = False) -> Place | None:
    """Where a call first goes different ways in two images; None when it does not within :data:`LIMIT`.

    ``exact``: the two have all their code at the same addresses.
    """
    options = EngineOptions(tier="stepper")
    engines = Engine(good, options), Engine(bad, options)
    for engine in engines:
        start(engine, call)
    with Recorder(engines[0]) as left, Recorder(engines[1]) as right:
        return _walk(engines, (left, right), exact)


def _walk(engines: tuple[Engine, Engine], recorders: tuple[Recorder, Recorder], exact: bool) -> Place | None:
    match = Correspondence(*engines)
    for number in range(LIMIT):
        for engine, recorder in zip(engines, recorders, strict=True):
            _skip_padding(engine, recorder)
        pcs = [int(engine.state.PC) for engine in engines]
        if RETURN_ADDRESS in pcs or any(engine.state.budget <= 0 for engine in engines):
            return None
        plans = [engine.stepper.plan_at(pc) for engine, pc in zip(engines, pcs, strict=True)]
        here = Place(engines[0].locate(pcs[0]), engines[1].locate(pcs[1]), number)
        if plans[0] is None or plans[1] is None or not _alike(plans[0].insn, plans[1].insn, match, exact):
            return here
        steps = [recorder.step() for recorder in recorders]
        if any(step.trap is not None for step in steps):
            return here if steps[0].trap is None or steps[1].trap is None else None
        if not _same_values(engines, steps[0], steps[1], match):
            return here
    return None


def _alike(a: Insn, b: Insn, match: Correspondence, exact: bool) -> bool:
    """The same instruction, wherever in their frames the two functions keep their variables.

    Targets inside of the function are not looked at unless ``exact``: code between may have another length.
    """
    if _is_move(a) and _is_move(b):
        return a.operands["t" if a.length == 2 else "r"] == b.operands["t" if b.length == 2 else "r"] and (
            a.operands["s"] == b.operands["s"]
        )
    if a.mnemonic.removesuffix(".n") != b.mnemonic.removesuffix(".n"):
        return False
    framed = a.mnemonic == "entry" or (a.mnemonic.removesuffix(".n") in _ADDRESSED and _on_frame(a, b))
    for x, y in zip(a.row.operands, b.row.operands, strict=True):
        left, right = a.operands[x.name], b.operands[y.name]
        if x.kind.cls == "label":
            is_call = a.mnemonic.startswith("call")
            if (exact and left != right) or (is_call and not match.same(left, right)):
                return False
        elif left != right and not (framed and x.kind.cls == "imm"):
            return False
    return True


def _skip_padding(engine: Engine, recorder: Recorder) -> None:
    """The assembler fills up to an alignment with instructions that do nothing, here or there."""
    while engine.state.PC != RETURN_ADDRESS and engine.state.budget > 0:
        plan = engine.stepper.plan_at(int(engine.state.PC))
        if plan is None or plan.insn.mnemonic.removesuffix(".n") != "nop":
            return
        recorder.skip()


def _is_move(insn: Insn) -> bool:
    """mov, which is "or" with one register twice, or its short form: the assembler chooses."""
    return insn.mnemonic == "mov.n" or (insn.mnemonic == "or" and insn.operands["s"] == insn.operands["t"])


def _on_frame(a: Insn, b: Insn) -> bool:
    registers = [o.name for o in a.row.operands if o.kind.is_register and o.is_read]
    bases = [(a.operands[name], b.operands[name]) for name in registers]
    return any(x == y and x in _FRAME_POINTERS for x, y in bases)


def _same_values(engines: tuple[Engine, Engine], a: Step, b: Step, match: Correspondence) -> bool:
    """Whether an instruction loaded and stored the same; places may differ, and so may places in frames."""
    if len(a.accesses) != len(b.accesses):
        return False
    for x, y in zip(a.accesses, b.accesses, strict=True):
        if x.size != y.size:
            return False
        if not match.same(x.value, y.value) and not _both_on_stack(engines, x.value, y.value):
            return False
    return True


def _both_on_stack(engines: tuple[Engine, Engine], x: int, y: int) -> bool:
    values = zip(engines, (x, y), strict=True)
    return all(engine.stack.start <= value <= engine.stack.end for engine, value in values)
