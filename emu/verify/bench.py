"""``emu bench kernels``: engine, mirrors and native code on the same arrays, and cases a second.

One thread. Every subject of a kernel runs in every round, so that a slow moment of the machine hits all of
them; figures are medians over the rounds. Before anything is timed, all subjects must give the same bits.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from emu.kernels import load_all
from emu.kernels.spec import Kernel, Tensor
from emu.verify.bench_peers import Call, native_call, native_library, onnx_product, torch_product
from emu.verify.case import Case, Plan, materialise
from emu.verify.errors import ToolError
from emu.verify.image_target import ImageTarget
from emu.verify.layout import Layout
from emu.verify.options import Options
from emu.verify.records import write_whole
from emu.verify.report import short
from emu.verify.runner import Runner
from emu.verify.shapes import shape_of, tensors
from emu.verify.strategies import cases
from emu.verify.target import MirrorTarget

_LEAST_SECONDS = 0.05
_SIZES: dict[str, dict[str, int]] = {
    "gemm_s8": {"rows": 64, "outs": 192, "cols": 576},
    "gemm_s8_c": {"rows": 64, "outs": 192, "cols": 576},
    "dot_rows_s8": {"rows": 64, "cols": 576},
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
_MACS = ("rows", "outs", "cols")


@dataclass
class Row:
    """Figures of one kernel: work (multiply-adds or elements) a second, guest instructions a second."""

    kernel: str
    work: str
    amount: int
    instructions: int
    engine: float = 0.0
    mirror: float = 0.0
    native: float | None = None

    @property
    def mips(self) -> float:
        """Guest instructions a second, in millions."""
        return self.engine / self.amount * self.instructions / 1e6


def run(elf: Path, rounds: int, json_file: Path | None) -> int:
    """Measure and print; returns 0."""
    console = Console()
    missing: list[str] = []
    target = ImageTarget(elf, Options(elf=elf, bounds=False))
    library = _peer("gcc -O2, native", native_library, missing)
    kernels = load_all()
    rows = [_measure(target, kernels[s], library, rounds) for s in _SIZES if s in target.image.symbols]
    products = _products(rounds, missing)
    rate = _cases_a_second(elf)
    _print(console, rows, products, rate, missing)
    if json_file is not None:
        figures: dict[str, Any] = {"kernels": [asdict(r) | {"mips": r.mips} for r in rows], "gemm": products}
        figures |= {"cases_per_second": rate, "missing": missing}
        write_whole(json_file, json.dumps(figures, indent=1).encode())
    return 0


def _peer(name: str, make: Any, missing: list[str], *arguments: Any) -> Any:
    try:
        return make(*arguments)
    except LookupError as error:
        missing.append(f"{name}: {error}")
        return None


def bench_case(kernel: Kernel) -> Case:
    """The fixed case of a kernel: everyday contents, aligned pointers."""
    sizes = {d.name: _SIZES[kernel.symbol].get(d.name, d.low) for d in kernel.dims}
    count = len(tensors(kernel))
    return materialise(kernel, Plan(sizes, ("small",) * count, (0,) * count, 1, 0))


def _measure(target: ImageTarget, kernel: Kernel, library: Any, rounds: int) -> Row:
    case = bench_case(kernel)
    macs = "cols" in case.dims and "quantize" not in kernel.symbol
    sizes = [case.dims[n] for n in (_MACS if macs else ("rows", "cols", "n")) if n in case.dims]
    subjects, instructions = _subjects(target, kernel, case, library)
    row = Row(kernel.symbol, "MAC" if macs else "element", int(np.prod(sizes)), instructions)
    seconds = interleaved(list(subjects.values()), rounds)
    for name, value in zip(subjects, seconds, strict=True):
        setattr(row, name, row.amount / value)
    return row


def _subjects(target: ImageTarget, kernel: Kernel, case: Case, library: Any) -> tuple[dict[str, Call], int]:
    """Calls to time by name, checked for equal results first."""
    machine = target.machine(False)
    layout = Layout(kernel, case, machine.arena)
    places = {s.tensor.name: machine.engine.arena.start + s.start for s in layout.slots}
    words = [places[p.name] if isinstance(p, Tensor) else case.scalars[p.name] for p in kernel.params]
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
    native = _native(kernel, case, library, layout, outputs)
    return found | ({"native": native} if native else {}), first.instructions


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


def interleaved(calls: Sequence[Call], rounds: int) -> list[float]:
    """Median seconds of each call, measured in turns, each turn at least 0.05 s long."""
    repeats = []
    for call in calls:
        call()
        started = time.perf_counter()
        call()
        once = max(time.perf_counter() - started, 1e-7)
        repeats.append(max(1, int(_LEAST_SECONDS / once)))
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, repeat, found in zip(calls, repeats, times, strict=True):
            started = time.perf_counter()
            for _ in range(repeat):
                call()
            found.append((time.perf_counter() - started) / repeat)
    return [statistics.median(found) for found in times]


def _products(rounds: int, missing: list[str]) -> dict[str, float]:
    """int8 matrix product 64 x 576 times 576 x 192 of others, multiply-adds a second."""
    rng = np.random.default_rng(1)
    a = rng.integers(0, 127, (64, 576), np.uint8)
    b = rng.integers(-127, 127, (576, 192), np.int8)
    found = {
        "onnxruntime MatMulInteger": _peer("onnxruntime", onnx_product, missing, a, b),
        "torch _int_mm": _peer("torch", torch_product, missing, a, b),
    }
    calls = {name: call for name, call in found.items() if call is not None}
    seconds = interleaved(list(calls.values()), rounds)
    return {name: 64 * 576 * 192 / s for name, s in zip(calls, seconds, strict=True)}


def _cases_a_second(elf: Path) -> float:
    """Generated, run on both targets and compared: 200 warm cases of four kernels, one process."""
    runner = Runner(MirrorTarget(), ImageTarget(elf, Options(elf=elf)), Options(elf=elf))
    kernels = [load_all()[s] for s in ("dot_rows_s8", "gemm_s8", "exp_array", "quantize_row_s8")]
    elapsed = 0.0
    for warm in (False, True):
        started = time.perf_counter()
        for kernel in kernels:
            runner.run(kernel, 0, cases(kernel, 0, 0, 200))
        elapsed = time.perf_counter() - started if warm else 0.0
    return 200 * len(kernels) / elapsed


def _print(
    console: Console, rows: list[Row], products: dict[str, float], rate: float, missing: list[str]
) -> None:
    table = Table(
        box=None, pad_edge=False, header_style="bold", title="work a second, one thread", title_justify="left"
    )
    table.add_column("kernel", no_wrap=True)
    table.add_column("unit")
    for title in ("guest MIPS", "engine", "mirror", "native", "of mirror", "of native"):
        table.add_column(title, justify="right", no_wrap=True)
    for r in rows:
        native = (short(r.native), f"{r.engine / r.native:.2f}") if r.native else ("-", "-")
        ratio = f"{r.engine / r.mirror:.2f}"
        table.add_row(
            r.kernel, r.work, f"{r.mips:,.0f}", short(r.engine), short(r.mirror), native[0], ratio, native[1]
        )
    console.print(table)
    for name, value in products.items():
        console.print(f"{name}: {short(value)} MAC/s (int8, 64 x 576 x 192)")
    console.print(f"cases a second (generate, run on engine and mirror, compare; one process): {rate:,.0f}")
    for text in missing:
        console.print(f"not measured: {text}", markup=False)
    console.print("against QEMU: emu bench engine, where this version has it")
