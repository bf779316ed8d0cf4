"""`emu bench kernels`: the vector product, instruction by instruction, and others, against host code."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np

from emu.bench import qemu
from emu.bench.build import LINUX_KERNELS, find_image
from emu.bench.kernel_subjects import SIZES, Others, Subjects, subjects
from emu.bench.measure import Values, Work, enough_repeats, geometric_mean, interleaved, seconds_of
from emu.bench.naive import naive_product
from emu.bench.peers import Call, native_library
from emu.bench.qemu import QemuProgram
from emu.bench.report import Absent, Bound, Cell, Report, Table
from emu.bench.settings import Settings
from emu.kernels import load_all
from emu.toolchain import ToolchainError
from emu.verify.errors import ToolError
from emu.verify.image_target import ImageTarget
from emu.verify.options import Options
from emu.verify.reference import reference_elf
from emu.verify.selection import choose
from emu.verify.words import number

ROWS, OUTS = 64, 576
COLUMNS = {192: 1.0, 1152: 2.0}
"""Columns of the measured products, and how many times as fast as plain loops they have to be."""
ABOUT = """`gemm_s8` of the reference image (vector code, every instruction executed) on the engine, as
products of 64 x K by K x 576 int8. Beside it the same product as plain loops under numba (three loops, one
thread; sums of 32 bits, and of 64 bits as numba makes them by itself), and the kernel's mirror. Below,
other kernels of the image: engine, mirror, the same C compiled by `gcc -O2` (kernels that write to buffers
of their own), and the same objects under QEMU (kernels without vector code and high products; the time of a
request through a pipe included). One thread; whole calls from Python. Results are compared before anything
is timed."""


def run(settings: Settings) -> Report:
    """Measure; see ABOUT."""
    report = Report("kernels", settings.command("kernels"), ABOUT)
    elf = settings.elf or reference_elf()
    target = ImageTarget(elf, Options(elf=elf, bounds=False, budget=1 << 40))
    products = {cols: _product(target, settings, cols) for cols in COLUMNS}
    report.tables += _product_tables(products)
    report.bounds += _bounds(products)
    with ExitStack() as stack:
        others = Others(_native(report), _qemu(report, stack))
        report.tables += _kernel_tables(target, settings, report, others)
    return report


def rate(call: Call, amount: float, seconds: float) -> Work:
    """A measurement of ``amount`` units of work a call, in units a second; a call has been made already."""
    repeats = enough_repeats(lambda n: _repeat(call, n), seconds)
    return lambda: amount * repeats / seconds_of(lambda: _repeat(call, repeats))


def _repeat(call: Call, times: int) -> None:
    for _ in range(times):
        call()


def _product(target: ImageTarget, settings: Settings, cols: int) -> dict[str, Values]:
    settings.tell(f"kernels: gemm_s8 with {cols} columns")
    sizes = {"rows": ROWS, "outs": OUTS, "cols": cols}
    found = subjects(target, load_all()["gemm_s8"], sizes, Others())
    rng = np.random.default_rng(cols)
    x, w = (rng.integers(-128, 128, (n, cols), np.int8) for n in (ROWS, OUTS))
    calls: dict[str, Call] = dict(found.calls)
    for bits, kind in ((32, np.int32), (64, np.int64)):
        acc = np.zeros((ROWS, OUTS), kind)
        calls[f"loops{bits}"] = naive_product(x, w, acc)
        if not np.array_equal(acc, x.astype(np.int64) @ w.T.astype(np.int64)):
            raise ToolError("the plain loops are wrong")
    works = {name: rate(call, found.amount, settings.seconds) for name, call in calls.items()}
    values = interleaved(works, settings.rounds)
    per_mac = found.instructions / found.amount
    return {**values, "instructions": Values(tuple(v * per_mac for v in values["engine"].each))}


def _scaled(values: Values, scale: float) -> Cell:
    return Cell(Values(tuple(v * scale for v in values.each)))


_BESIDE = {"loops32": "numba loops, int32", "loops64": "numba loops, int64", "mirror": "mirror"}


def _product_tables(products: dict[int, dict[str, Values]]) -> Iterator[Table]:
    speeds = Table("64 x K x 576, GMAC/s", ("engine", "guest MIPS", *_BESIDE.values()))
    ratios = Table("64 x K x 576, ratios", tuple(f"engine / {name}" for name in _BESIDE.values()))
    for cols, v in products.items():
        first = _scaled(v["engine"], 1e-9), _scaled(v["instructions"], 1e-6)
        speeds.add(f"K = {cols}", *first, *(_scaled(v[name], 1e-9) for name in _BESIDE))
        ratios.add(f"K = {cols}", *(Cell(v["engine"].over(v[name])) for name in _BESIDE))
    yield speeds
    yield ratios


def _bounds(products: dict[int, dict[str, Values]]) -> Iterator[Bound]:
    for cols, values in products.items():
        for loops in ("loops32", "loops64"):
            ratio = values["engine"].over(values[loops]).median
            yield Bound(f"K = {cols}, engine / {_BESIDE[loops]}", ratio, "at least", COLUMNS[cols])


_PEERS = ("mirror", "native", "qemu")


def _kernel_tables(
    target: ImageTarget, settings: Settings, report: Report, others: Others
) -> tuple[Table, Table]:
    """Speeds, and the engine's ratios; adds the geometric mean over the kernels that QEMU runs."""
    speeds = Table(
        "Kernels, million multiply-adds (MAC) or elements a second",
        ("guest MIPS", "engine", *_PEERS),
    )
    ratios = Table("Kernels, ratios", tuple(f"engine / {name}" for name in _PEERS))
    against_qemu = []
    chosen = {kernel.symbol for kernel in choose(load_all(), settings.kernels)}
    for symbol, sizes in SIZES.items():
        if symbol not in chosen:
            continue
        if symbol not in target.image.symbols:
            report.notes.append(f"{symbol} is not in this image")
            continue
        settings.tell(f"kernels: {symbol}")
        found = subjects(target, load_all()[symbol], sizes, others)
        works = {name: rate(call, found.amount, settings.seconds) for name, call in found.calls.items()}
        values = interleaved(works, settings.rounds)
        speeds.add(f"{symbol}, {found.unit}", *_speeds(found, values))
        ratios.add(symbol, *(_ratio(values, name) for name in _PEERS))
        against_qemu += [values["engine"].over(values["qemu"]).median] if "qemu" in values else []
    if against_qemu:
        mean = number(geometric_mean(against_qemu))
        lowest = number(min(against_qemu))
        report.notes.append(
            f"engine / qemu, {len(against_qemu)} kernels: geometric mean {mean}, lowest {lowest}"
        )
    return speeds, ratios


def _speeds(found: Subjects, values: dict[str, Values]) -> Iterator[Cell | Absent]:
    yield _scaled(values["engine"], 1e-6 * found.instructions / found.amount)
    for name in ("engine", *_PEERS):
        yield _scaled(values[name], 1e-6) if name in values else Absent("none")


def _ratio(values: dict[str, Values], name: str) -> Cell | Absent:
    return Cell(values["engine"].over(values[name])) if name in values else Absent("none")


def _native(report: Report) -> Any:
    try:
        return native_library()
    except LookupError as error:
        report.missing["gcc -O2, native"] = str(error)
        return None


def _qemu(report: Report, stack: ExitStack) -> QemuProgram | None:
    why = qemu.why_not()
    if not why:
        try:
            return stack.enter_context(QemuProgram(find_image(LINUX_KERNELS)))
        except ToolchainError as error:
            why = f"its program must be compiled: {error}"
    report.missing["qemu"] = why
    return None
