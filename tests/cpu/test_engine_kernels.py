"""Every kernel of the reference image on the stepper, dirty and with exact bounds, against its mirror.

The large campaigns are ``emu verify``'s; here the reference tier itself is held against the mirrors.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from emu.cpu.engine import Engine
from emu.cpu.options import EngineOptions
from emu.cpu.shadow import READ, WRITE
from emu.image import load_image
from emu.kernels.spec import Tensor
from tests.kernels.calls import KERNELS, Buffer, Call, draw

GOLDEN = Path(__file__).parents[2] / "golden" / "firmware" / "esp32s3-bare.elf"
LARGEST = 64
"""Dimensions are cut to this where the spec allows more: the stepper runs 100,000 instructions a second."""


@pytest.fixture(scope="module")
def engine() -> Engine:
    return Engine(load_image(GOLDEN), EngineOptions(tier="stepper", bounds=True))


def small(symbol: str, seed: int) -> Call:
    limits = {}
    for dim in KERNELS[symbol].dims:
        if dim.high > LARGEST:
            top = max(dim.low, LARGEST // dim.multiple * dim.multiple)
            limits[dim.name] = dim.low + seed * 7 % (top - dim.low + 1) // dim.multiple * dim.multiple
    return draw(symbol, seed, **limits)


def run_on(engine: Engine, call: Call, seed: int) -> tuple[int, dict[str, bytes]]:
    """The function's a2 and the bytes of every tensor afterwards."""
    position, arguments, places = engine.arena.start, [], {}
    engine.memory.shadow.deny(engine.arena.start, 1 << 20)
    for parameter in call.kernel.params:
        value = call.values[parameter.name]
        if not isinstance(value, Buffer):
            arguments.append(value)
            continue
        start = position + 64 + value.array.ctypes.data % 16
        engine.memory.write(start, value.array.tobytes())
        role = parameter.role if isinstance(parameter, Tensor) else "in"
        engine.memory.shadow.allow(start, value.array.nbytes, READ | (WRITE if role != "in" else 0))
        arguments.append(start)
        places[parameter.name] = (start, value.array.nbytes)
        position = (start + value.array.nbytes + 127) // 16 * 16
    out = engine.call(call.kernel.symbol, arguments, dirty=seed, budget=5_000_000)
    return out.a2, {name: engine.memory.read(*place) for name, place in places.items()}


def comparable(array: np.ndarray) -> np.ndarray:
    """Bits, with one NaN for all: the host's NaNs are negative, the chip's positive."""
    if array.dtype.kind != "f":
        return array
    bits = array.view(np.uint32).copy()
    bits[np.isnan(array)] = 0x7FC00000
    return bits


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("symbol", sorted(KERNELS))
def test_kernel(engine: Engine, symbol: str, seed: int) -> None:
    call = small(symbol, seed)
    returned, found = run_on(engine, call, seed)
    call.run()
    valid = {p.name: p.valid for p in call.kernel.params if isinstance(p, Tensor)}
    for name, buffer in call.buffers().items():
        counts = valid[name](call.dims) if valid[name] else ...
        want = comparable(buffer.array)[counts]
        got = comparable(np.frombuffer(found[name], buffer.array.dtype).reshape(buffer.array.shape))[counts]
        assert np.array_equal(want, got), (
            f"{name}: first difference at element {np.flatnonzero(want != got)[0]}"
        )
    if call.kernel.returns is not None:
        assert returned == int(np.dtype(call.kernel.returns).type(call.returned)) & 0xFFFFFFFF
