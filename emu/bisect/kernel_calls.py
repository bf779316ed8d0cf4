"""A call of a kernel as it happens inside a model: arguments, and copies of what they point to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from emu.bisect.sizes import Sizes, sizes_of
from emu.cpu.hooks import GuestCall
from emu.cpu.memory import MemoryFault
from emu.kernels.spec import Kernel, Scalar, Tensor
from emu.verify.case import Case
from emu.verify.errors import UsageProblem
from emu.verify.families import Array
from emu.verify.shapes import shape_of, tensors


@dataclass
class KernelCall:
    """One call. ``number``: of calls before it in the run; ``caller``: where it returns to; ``stack``: the
    caller's stack pointer. ``case`` is None when its memory could not be read, for the reason ``trouble``.
    ``is_exact``, ``free``: see Sizes.
    """

    kernel: Kernel
    number: int
    caller: int
    stack: int
    scalars: dict[str, Any]
    pointers: dict[str, int]
    case: Case | None = None
    is_exact: bool = False
    free: tuple[str, ...] = ()
    trouble: str = ""

    @property
    def symbol(self) -> str:
        """The kernel's name."""
        return self.kernel.symbol


@dataclass
class CallReader:
    """Reads calls of kernels; sizes that were worked out are kept."""

    _sizes: dict[tuple[str, tuple[Any, ...]], Sizes] = field(default_factory=dict)

    def read(self, kernel: Kernel, call: GuestCall, number: int) -> KernelCall:
        """The call that is about to run."""
        found = KernelCall(kernel, number, call.caller, call.register(1), {}, {})
        try:
            scalars, pointers = found.scalars, found.pointers = _arguments(kernel, call)
            sizes = self._sizes_of(kernel, scalars)
            arrays = _arrays(kernel, sizes.dims, call, pointers)
        except (MemoryFault, UsageProblem) as error:
            found.trouble = str(error).splitlines()[0]
            return found
        offsets = {name: address % 16 for name, address in pointers.items()}
        found.is_exact, found.free = sizes.is_exact, sizes.free
        found.case = Case(
            kernel.symbol, dict(sizes.dims), arrays, offsets, scalars, 0, origin={"recorded call": number}
        )
        return found

    def _sizes_of(self, kernel: Kernel, scalars: Mapping[str, Any]) -> Sizes:
        whole = {n: int(v) for n, v in scalars.items() if isinstance(v, np.integer)}
        key = kernel.symbol, tuple(whole.items())
        if key not in self._sizes:
            self._sizes[key] = sizes_of(kernel, whole)
        return self._sizes[key]


def _arguments(kernel: Kernel, call: GuestCall) -> tuple[dict[str, Any], dict[str, int]]:
    """Scalars with their dtypes, and pointers, by name; 64-bit values begin at an even word."""
    scalars: dict[str, Any] = {}
    pointers: dict[str, int] = {}
    word = 0
    for param in kernel.params:
        if isinstance(param, Tensor):
            pointers[param.name] = call.argument(word)
            word += 1
            continue
        if not isinstance(param, Scalar):
            raise UsageProblem(f"{kernel.symbol}: parameter {param.name} is no plain pointer or number")
        wide = np.dtype(param.dtype).itemsize == 8
        word += word % 2 if wide else 0
        bits = call.argument(word) | (call.argument(word + 1) << 32 if wide else 0)
        scalars[param.name] = _scalar(param, bits)
        word += 2 if wide else 1
    return scalars, pointers


def _scalar(param: Scalar, bits: int) -> Any:
    dtype = np.dtype(param.dtype)
    return np.array(bits & ((1 << 8 * dtype.itemsize) - 1), f"u{dtype.itemsize}").view(dtype)[()]


def _arrays(
    kernel: Kernel, dims: Mapping[str, int], call: GuestCall, pointers: Mapping[str, int]
) -> dict[str, Array]:
    found: dict[str, Array] = {}
    for tensor in tensors(kernel):
        if tensor.role == "out":
            continue
        dtype = np.dtype(tensor.dtype)
        size = prod(shape_of(kernel, tensor, dims)) * dtype.itemsize
        data = call.data(pointers[tensor.name], size) if size else b""
        found[tensor.name] = np.frombuffer(bytearray(data), dtype)
    return found
