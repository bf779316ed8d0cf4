"""Kernels of an image, their mirrors, the same C natively and under QEMU, on the same arrays, to be timed.

Before anything is timed, all subjects must give the same bits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from emu.bench.peers import Call, native_call
from emu.bench.qemu import QemuProgram
from emu.bench.reach import why_not_on_qemu
from emu.kernels.spec import Kernel, Tensor
from emu.verify.case import Case, Plan, materialise
from emu.verify.errors import ToolError
from emu.verify.image_target import ImageTarget
from emu.verify.layout import Layout
from emu.verify.shapes import shape_of, tensors

SIZES: dict[str, dict[str, int]] = {
    "dot_rows_s8": {"rows": 64, "cols": 576},
    "gemm_s8_c": {"rows": 64, "outs": 192, "cols": 576},
    "dot_rows_ternary": {"rows": 64, "cols": 576},
    "dot_groups_int4": {"cols": 8192, "group": 32},
    "exp_array": {"n": 100_000},
    "silu_array": {"n": 100_000},
    "gelu_array": {"n": 100_000},
    "div_array": {"n": 100_000},
    "crc32_bytes": {"n": 100_000},
    "xorshift32_array": {"n": 100_000},
    "quantize_row_s8": {"rows": 64, "cols": 576},
    "normal_array": {"n": 20_000},
}
"""Kernels that are measured, with their dimensions."""
_MACS = ("rows", "outs", "cols")


@dataclass(frozen=True)
class Subjects:
    """Calls of one kernel by who runs it: engine, mirror and, where there are, native and qemu.

    ``amount``: multiply-adds or elements of a call, as ``unit`` says; ``instructions``: guest instructions.
    """

    kernel: str
    unit: str
    amount: int
    instructions: int
    calls: dict[str, Call]


def bench_case(kernel: Kernel, sizes: dict[str, int]) -> Case:
    """The fixed case of a kernel: everyday contents, aligned pointers; dimensions not named are smallest."""
    dims = {d.name: sizes.get(d.name, d.low) for d in kernel.dims}
    count = len(tensors(kernel))
    return materialise(kernel, Plan(dims, ("small",) * count, (0,) * count, 1, 0))


@dataclass(frozen=True)
class Others:
    """Who else runs kernels: a native library, a program under QEMU; None where there is none."""

    library: Any = None
    qemu: QemuProgram | None = None


def subjects(target: ImageTarget, kernel: Kernel, sizes: dict[str, int], others: Others) -> Subjects:
    """Everyone who can run the kernel, checked for equal results. Raises ToolError when they differ."""
    case = bench_case(kernel, sizes)
    is_product = "cols" in case.dims and "quantize" not in kernel.symbol
    counted = [case.dims[n] for n in (_MACS if is_product else ("rows", "cols", "n")) if n in case.dims]
    calls, instructions = _calls(target, kernel, case, others)
    unit = "MAC" if is_product else "element"
    return Subjects(kernel.symbol, unit, int(np.prod(counted)), instructions, calls)


def _calls(target: ImageTarget, kernel: Kernel, case: Case, others: Others) -> tuple[dict[str, Call], int]:
    machine = target.machine(False)
    layout = Layout(kernel, case, machine.arena)
    fresh = machine.arena[: layout.used].tobytes()
    words = words_of(kernel, case, layout, machine.engine.arena.start)
    first = machine.engine.call(kernel.symbol, words)
    outputs = {
        t.name: np.zeros(int(np.prod(shape_of(kernel, t, case.dims))), t.dtype)
        for t in tensors(kernel)
        if t.role == "out"
    }
    arguments = [
        (case.arrays[p.name].copy() if p.name in case.arrays else outputs[p.name])
        if isinstance(p, Tensor)
        else case.scalars[p.name]
        for p in kernel.params
    ]
    kernel.mirror(*arguments)
    _must_agree(kernel, "mirror", layout, outputs)
    found: dict[str, Call] = {
        "engine": lambda: machine.engine.call(kernel.symbol, words),
        "mirror": lambda: kernel.mirror(*arguments),
    }
    native = _native(kernel, case, others.library, layout, outputs)
    if native is not None:
        found["native"] = native
    if others.qemu is not None and not why_not_on_qemu(target.image, kernel.symbol):
        found["qemu"] = _qemu(
            kernel, others.qemu, words_of(kernel, case, layout, others.qemu.arena), fresh, layout
        )
    return found, first.instructions


def words_of(kernel: Kernel, case: Case, layout: Layout, base: int) -> list[Any]:
    """Arguments for buffers that lie from ``base`` on."""
    places = {slot.tensor.name: base + slot.start for slot in layout.slots}
    return [places[p.name] if isinstance(p, Tensor) else case.scalars[p.name] for p in kernel.params]


def _qemu(kernel: Kernel, program: QemuProgram, words: list[Any], fresh: bytes, layout: Layout) -> Call:
    """The kernel under QEMU, from the bytes that the engine started from; all that is left must be equal."""

    def run() -> None:
        program.call(kernel.symbol, words)

    program.write(program.arena, fresh)
    run()
    left = np.frombuffer(program.read(program.arena, layout.used), np.uint8)
    for slot in layout.slots:
        if not np.array_equal(left[slot.start : slot.end], layout.view(slot).view(np.uint8)):
            raise ToolError(f"{kernel.symbol}: engine and QEMU differ in {slot.tensor.name}")
    return run


def _native(kernel: Kernel, case: Case, library: Any, layout: Layout, outputs: dict[str, Any]) -> Call | None:
    """The kernel's C, or its C twin, natively; None where there is none."""
    if library is None or any(t.role == "inout" for t in tensors(kernel)):
        return None
    for symbol in (f"{kernel.symbol}_c", kernel.symbol):
        try:
            call = native_call(library, kernel, symbol, case, outputs)
        except LookupError:
            continue
        call()
        _must_agree(kernel, "native code", layout, outputs)
        return call
    return None


def _must_agree(kernel: Kernel, name: str, layout: Layout, outputs: dict[str, Any]) -> None:
    guest = layout.outputs()
    for output, array in outputs.items():
        touched = array.view(np.uint8) != 0
        if not np.array_equal(guest[output].view(np.uint8)[touched], array.view(np.uint8)[touched]):
            raise ToolError(f"{kernel.symbol}: engine and {name} differ in {output}; run emu verify")
