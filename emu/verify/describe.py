"""Plain-text description of a failure: what differs, in what case, and how to see it again."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np

from emu.kernels.spec import Kernel
from emu.verify.case import Case
from emu.verify.compare import Difference, Mismatch, decimal, hexadecimal
from emu.verify.families import Array
from emu.verify.reduce import free_tensors, nonneutral
from emu.verify.results import Failure
from emu.verify.verdict import Verdict

_SHOWN = 8
_OBVIOUS = 1000
"""Signed integers below this need no hexadecimal."""


def failure_lines(kernel: Kernel, failure: Failure, selection: str = "") -> list[tuple[str, str]]:
    """(label, text) pairs. ``selection``: options of the command line that chose the image and spec."""
    lines = [("example", _example(failure)), ("shrunk to", _shrunk(kernel, failure))]
    if failure.outcome.fault is not None:
        lines += _fault_lines(failure)
    elif failure.outcome.mismatch is not None:
        lines += mismatch_lines(failure.outcome.mismatch)
        lines += [("printed", line) for line in failure.outcome.log]
    if failure.shrink_calls and failure.drawn_outcome.mismatch is not None:
        lines += [("as drawn", count_text(d)) for d in failure.drawn_outcome.mismatch.differences]
    lines += [("input", text) for text in input_lines(kernel, failure.case)]
    lines.append(("pointers", placement(failure.case)))
    lines += [("cause", text) for text in failure.explanation]
    lines.append(("replay", replay_command(failure, selection)))
    if is_drawn(failure):
        lines.append(("", drawn_command(kernel.symbol, failure, selection)))
    return lines


def headline(kernel: Kernel, failure: Failure) -> str:
    """One line: verdict, kernel and the first difference."""
    if failure.outcome.fault is not None:
        return f"{Verdict.BOARD_FAULT}: {kernel.symbol}: {failure.outcome.fault.message.splitlines()[0]}"
    mismatch = failure.outcome.mismatch
    assert mismatch is not None
    first = mismatch_lines(mismatch)[0]
    return f"{Verdict.MISMATCH}: {kernel.symbol}: {first[1]}"


def mismatch_lines(mismatch: Mismatch) -> list[tuple[str, str]]:
    """Status, then each differing output, then damage outside."""
    lines = []
    if mismatch.returned is not None:
        dtype = str(mismatch.returns)
        a, b = (f"{decimal(v, dtype)} ({hexadecimal(v, dtype)})" for v in mismatch.returned)
        lines.append(("returned", f"expected {a}, got {b}"))
    for found in mismatch.differences:
        lines += [("first", first_text(found)), ("count", count_text(found))]
    lines += [("outside", str(damage)) for damage in mismatch.damage]
    return lines


def first_text(found: Difference) -> str:
    """The first differing element, both values in decimal and hexadecimal, and their distance."""
    index = ", ".join(map(str, found.index))
    a, b = (
        f"{decimal(v, found.dtype)} ({hexadecimal(v, found.dtype)})"
        for v in (found.expected_bits, found.actual_bits)
    )
    return f"{found.output}[{index}]: expected {a}, got {b}{distance_text(found.distance, found.dtype)}"


def distance_text(distance: int | None, dtype: str) -> str:
    """``, difference +1`` or ``, 3 ULP above``; empty where a NaN is involved."""
    if distance is None:
        return ""
    if np.dtype(dtype).kind != "f":
        return f", difference {distance:+,}"
    if distance == 0:
        return ", only the sign of zero"
    return f", {abs(distance):,} ULP {'above' if distance > 0 else 'below'}"


def count_text(found: Difference) -> str:
    """How many elements differ and which."""
    largest = ""
    if found.count > 1 and found.largest is not None and found.largest != found.distance:
        unit = " ULP" if np.dtype(found.dtype).kind == "f" else ""
        largest = f"; largest difference {found.largest:+,}{unit}"
    return f"{found.count:,} of {found.total:,} elements of {found.output}: {found.pattern}{largest}"


def _fault_lines(failure: Failure) -> list[tuple[str, str]]:
    fault = failure.outcome.fault
    assert fault is not None
    first, *rest = fault.message.splitlines()
    return [("fault", first), *(("", line.strip()) for line in rest)]


def _example(failure: Failure) -> str:
    if failure.known:
        return f"from {failure.known}"
    if not is_drawn(failure):
        return f"block {failure.number} of the exhaustive run"
    return f"{failure.number} of seed {failure.seed}"


def is_drawn(failure: Failure) -> bool:
    """True for an example of a campaign, which has a number to draw it again."""
    return not failure.known and "example" in failure.drawn.origin


def _shrunk(kernel: Kernel, failure: Failure) -> str:
    shape = (
        ", ".join(f"{name}={failure.case.dims[name]}" for name in (d.name for d in kernel.dims)) or "no sizes"
    )
    plural = "" if failure.weight == 1 else "s"
    refused = f"; refused call: {failure.case.fault}" if failure.case.fault else ""
    calls = f" ({failure.shrink_calls} calls)" if failure.shrink_calls else ""
    return f"{shape}; {failure.weight} non-zero input element{plural}{calls}{refused}"


def input_lines(kernel: Kernel, case: Case) -> list[str]:
    """Scalars and the elements of each editable input that are not neutral, a few of them."""
    values = ", ".join(f"{name} = {_value(value)}" for name, value in case.scalars.items())
    lines = [values] if values else []
    for name in free_tensors(kernel, case):
        where = nonneutral(kernel, case, name)
        shown = ", ".join(f"[{i}] = {_value(case.arrays[name][i])}" for i in where[:_SHOWN])
        more = f", ... {where.size - _SHOWN} more" if where.size > _SHOWN else ""
        lines.append(f"{name}: {shown or 'all zero'}{more} of {case.arrays[name].size}")
    return lines


def _value(value: Any) -> str:
    array: Array = np.array(value)
    bits = int(array.view(f"u{array.itemsize}"))
    if array.dtype.kind == "i" and abs(int(value)) < _OBVIOUS:
        return decimal(bits, array.dtype.name)
    return f"{decimal(bits, array.dtype.name)} ({hexadecimal(bits, array.dtype.name)})"


def placement(case: Case) -> str:
    """Pointer offsets and whether registers and stack were dirty."""
    offsets = ", ".join(f"{name} at 16k+{offset}" for name, offset in case.offsets.items())
    return f"{offsets or 'none'}; registers and stack " + (
        f"dirtied from {case.dirty:#x}" if case.dirty else "plain"
    )


def replay_command(failure: Failure, selection: str) -> str:
    """Command that runs the shrunk case again."""
    where = shlex.quote(failure.file) if failure.file else "(no case file written)"
    return f"emu verify{selection} --replay {where}"


def drawn_command(symbol: str, failure: Failure, selection: str) -> str:
    """Command that runs the case as it was drawn."""
    return f"emu verify{selection} --kernel {symbol} --seed {failure.seed} --example {failure.number}"


def selection_text(elf: Path | None, spec: Path | None, target: str, extra: str = "") -> str:
    """The options that chose the image, spec and target, for replay commands."""
    text = f" --elf {shlex.quote(str(elf))}" if elf is not None else ""
    text += f" --spec {shlex.quote(str(spec))}" if spec is not None else ""
    return text + (f" --target {target}" if target != "image" else "") + extra
