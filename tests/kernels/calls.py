"""Random calls of a mirror as its spec describes them, in buffers with guard bytes around each."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from emu.kernels import load_all
from emu.kernels.spec import Dims, Fault, Kernel, Scalar, Tensor
from tests.numerics.patterns import EDGES
from tests.numerics.softfloat import INF, MAGNITUDE, is_finite

Array = np.ndarray[Any, Any]
KERNELS = load_all()
GUARD = 64


@dataclass
class Buffer:
    """An array at ``offset`` modulo 16 inside random guard bytes."""

    array: Array
    raw: Array
    before: Array

    @classmethod
    def around(cls, content: Array, offset: int, rng: np.random.Generator) -> Buffer:
        raw = np.frombuffer(rng.bytes(content.nbytes + 2 * GUARD + 16), np.uint8).copy()
        start = GUARD + (offset - raw.ctypes.data) % 16
        array = np.ndarray(content.shape, content.dtype, buffer=raw.data, offset=start)
        array[:] = content
        return cls(array, raw, raw.copy())

    def untouched(self) -> bool:
        return bool((self.raw == self.before).all())

    def guards_untouched(self) -> bool:
        changed = np.flatnonzero(self.raw != self.before)
        start = self.array.ctypes.data - self.raw.ctypes.data
        return bool(((changed >= start) & (changed < start + self.array.nbytes)).all())


@dataclass
class Call:
    """One call; ``values`` holds Buffers and scalars by parameter name."""

    kernel: Kernel
    dims: dict[str, int]
    values: dict[str, Any]
    returned: Any = field(default=None)

    def array(self, name: str) -> Array:
        return self.values[name].array

    def buffers(self) -> dict[str, Buffer]:
        return {n: v for n, v in self.values.items() if isinstance(v, Buffer)}

    def run(self) -> Any:
        arguments = [v.array if isinstance(v, Buffer) else v for v in self.values.values()]
        self.returned = self.kernel.mirror(*arguments)
        for parameter in self.kernel.params:
            if isinstance(parameter, Tensor):
                buffer = self.values[parameter.name]
                whole = parameter.role == "in"
                assert buffer.untouched() if whole else buffer.guards_untouched(), parameter.name
        return self.returned


def draw_dims(kernel: Kernel, rng: np.random.Generator, fixed: Dims) -> dict[str, int]:
    dims: dict[str, int] = {}
    for dim in kernel.dims:
        if dim.special and rng.random() < 0.4:
            value = int(rng.choice(dim.special))
        else:
            value = int(rng.integers(dim.low // dim.multiple, dim.high // dim.multiple + 1)) * dim.multiple
        dims[dim.name] = fixed.get(dim.name, value)
    for name, rule in kernel.derived.items():
        dims[name] = rule(dims)
    return dims


def shape_size(tensor: Tensor, dims: Dims) -> int:
    sizes = [s if isinstance(s, int) else dims[s] if isinstance(s, str) else s(dims) for s in tensor.shape]
    return int(np.prod(sizes))


def floats(values: str, n: int, rng: np.random.Generator) -> Array:
    """Contents of a float family, a mixture of edges, any exponent and everyday sizes."""
    bits = rng.integers(0, 1 << 32, n, np.uint32)
    edges = rng.choice(np.array(EDGES, np.uint32), n)
    everyday = (rng.standard_normal(n) * 4).astype(np.float32).view(np.uint32)
    which = rng.random(n)
    bits = np.where(which < 0.2, edges, np.where(which < 0.4, bits, everyday)).astype(np.uint32)
    if values == "unit":
        bits %= 0x3F800000
    elif values == "ln_domain":
        bits = 0x00800000 + bits % (0x3F800000 - 0x00800000 + 1)
    elif values not in ("any", "bits"):
        bits[(bits & INF) == INF] &= ~np.uint32(0x40000000)
    return bits.astype(np.uint32).view(np.float32)


def content(tensor: Tensor, n: int, rng: np.random.Generator) -> Array:
    dtype = np.dtype(tensor.dtype)
    if dtype.kind == "f":
        return floats("any" if tensor.role == "out" else tensor.values, n, rng)
    array = np.frombuffer(rng.bytes(n * dtype.itemsize), dtype).copy()
    if tensor.values == "s8":
        array[array == -128] = 127
    return array


def draw(symbol: str, seed: int, fault: Fault | None = None, **fixed: int) -> Call:
    """A call of ``symbol`` with dimensions drawn from ``seed``, except the ``fixed`` ones."""
    kernel, rng = KERNELS[symbol], np.random.default_rng(seed)
    dims = draw_dims(kernel, rng, fixed)
    values: dict[str, Any] = {}
    for parameter in kernel.params:
        if isinstance(parameter, Scalar):
            values[parameter.name] = np.dtype(parameter.dtype).type(scalar(parameter, dims, rng, fault))
            continue
        array = content(parameter, shape_size(parameter, dims), rng)
        if parameter.fill is not None:
            parameter.fill(dims, rng, array)
        step = array.itemsize if parameter.natural else 1
        broken = fault is not None and parameter.name in fault.misalign
        offset = int(rng.integers(0, 16)) // step * step
        if broken:
            offset = int(rng.integers(1, 16))
        elif parameter.align > 1:
            offset = 0
        values[parameter.name] = Buffer.around(array, offset, rng)
    return Call(kernel, dims, values)


def scalar(parameter: Scalar, dims: Dims, rng: np.random.Generator, fault: Fault | None) -> Any:
    if fault is not None and parameter.name in fault.scalars:
        rule = fault.scalars[parameter.name]
        return rule(dims) if callable(rule) else rule
    if isinstance(parameter.value, str):
        return dims[parameter.value]
    if parameter.value is not None:
        return parameter.value(dims)
    if parameter.dtype == "float32" and parameter.values[0] not in "[(":
        return floats(parameter.values, 1, rng)[0]
    if parameter.dtype == "float32":
        low, high = map(float, parameter.values.strip("([])").split(","))
        return np.float32(high - rng.random() * (high - low))
    return int(rng.integers(0, 1 << 32))


def words(array: Array) -> list[int]:
    """Bit patterns of a float array."""
    return array.view(np.uint32).tolist()


def finite(patterns: list[int]) -> bool:
    return all(map(is_finite, patterns))


__all__ = ["KERNELS", "MAGNITUDE", "Buffer", "Call", "draw", "finite", "words"]
