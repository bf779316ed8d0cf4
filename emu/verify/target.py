"""The one interface through which this room sees whatever can run a kernel, and the mirror behind it.

``MirrorTarget`` runs the Python mirror on host memory; :class:`emu.verify.image_target.ImageTarget` runs a
function of a firmware image on the CPU engine. A board will be a third.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from emu.kernels.spec import Kernel
from emu.verify.case import Case
from emu.verify.errors import TargetFault, ToolError
from emu.verify.families import Array
from emu.verify.layout import Damage, Layout
from emu.verify.mirror_arguments import mirror_arguments
from emu.verify.watchdog import watched

__all__ = ["CallResult", "MirrorTarget", "Target", "TargetFault", "ToolError", "return_bits"]

ARENA_BYTES = 8 << 20


@dataclass
class CallResult:
    """What a call left behind.

    ``outputs``: copies of the written tensors, flat, by parameter name; ``returned``: bits of the return
    value (None for void); ``instructions``: guest instructions, None where nobody counts; ``damage``: bytes
    changed outside.
    """

    outputs: dict[str, Array]
    returned: int | None
    instructions: int | None = None
    damage: tuple[Damage, ...] = ()
    leaks: tuple[str, ...] = ()
    """Blocks of the heap that the function has left allocated."""
    log: tuple[str, ...] = ()
    """The last lines that the function has printed."""


class Target(Protocol):
    """Something that runs kernels."""

    name: str

    def call(self, kernel: Kernel, case: Case) -> CallResult:
        """Run ``case``. Raises TargetFault when the code under test traps, ToolError for our own trouble."""

    def close(self) -> None:
        """Release what the target holds."""


def return_bits(kernel: Kernel, value: Any) -> int | None:
    """Bit pattern of a return value in the dtype that the spec names, or None for a void function.

    Integers wrap as in C. Raises ToolError for what is no single number of that kind: 0.75 is not 0.
    """
    if kernel.returns is None:
        return None
    dtype = np.dtype(kernel.returns, align=True)
    if dtype.names is not None:
        return _struct_bits(kernel, dtype, value)
    wanted = (bool, int, np.bool_, np.integer, *((float, np.floating) if dtype.kind == "f" else ()))
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if not isinstance(value, wanted):
        text = f"{' '.join(repr(value).split())[:60]} ({type(value).__name__})"
        text = "nothing" if value is None else text
        raise ToolError(f"the mirror of {kernel.symbol} returned {text}; its spec says {kernel.returns}")
    if dtype.kind == "f":
        return int(np.array(value, dtype).view(f"u{dtype.itemsize}"))
    return int(value) & ((1 << 8 * dtype.itemsize) - 1)


@lru_cache(maxsize=64)
def return_mask(returns: str) -> int:
    """The bits of a result that count: all but the padding of a struct."""
    dtype = np.dtype(returns, align=True)
    if dtype.names is None:
        return int((1 << 8 * dtype.itemsize) - 1)
    fields: Any = dtype.fields
    parts = [((1 << 8 * part[0].itemsize) - 1) << 8 * part[1] for part in fields.values()]
    return sum(parts)


def _struct_bits(kernel: Kernel, dtype: np.dtype[Any], value: Any) -> int:
    """A small struct that is returned by value, as its bytes; the mirror gives a tuple of the members."""
    names = dtype.names or ()
    if not isinstance(value, tuple) or len(value) != len(names):
        raise ToolError(f"the mirror of {kernel.symbol} returned {value!r}; its spec says {kernel.returns}")
    members: list[Any] = []
    for name, part in zip(names, value, strict=True):
        kind = dtype[name]
        is_whole = kind.kind in "iu" and isinstance(part, int | np.integer)
        bits = int(part) & (1 << 8 * kind.itemsize) - 1 if is_whole else 0
        members.append(np.array(bits, f"u{kind.itemsize}").view(kind)[()] if is_whole else part)
    whole = np.zeros(1, dtype)
    try:
        whole[0] = tuple(members)
    except (TypeError, ValueError) as error:
        raise ToolError(f"the mirror of {kernel.symbol} returned {value!r}: {error}") from error
    return int.from_bytes(whole.tobytes(), "little")


def host_arena(size: int = ARENA_BYTES) -> Array:
    """A host buffer whose first byte is 4096-aligned."""
    raw = np.zeros(size + 4096, np.uint8)
    start = -raw.ctypes.data % 4096
    return raw[start : start + size]


class MirrorTarget:
    """Runs the Python mirror on buffers placed exactly as they are placed in guest memory."""

    name = "mirror"

    def __init__(self, arena_bytes: int = ARENA_BYTES) -> None:
        self._arena = host_arena(arena_bytes)

    def call(self, kernel: Kernel, case: Case) -> CallResult:
        """Run the mirror. Whatever it raises, or writes outside its arrays, is a ToolError."""
        layout = Layout(kernel, case, self._arena)
        views = {slot.tensor.name: layout.view(slot) for slot in layout.slots}
        arguments = mirror_arguments(kernel, case, views)
        try:
            with watched(case.origin.get("example", -1)):
                value = kernel.mirror(*arguments)
        except ToolError:
            raise
        except (Exception, SystemExit) as error:
            raise ToolError(_mirror_message(kernel, error)) from error
        damage = layout.damage()
        if damage:
            raise ToolError(f"the mirror of {kernel.symbol} wrote outside its arrays: {damage[0]}")
        return CallResult(layout.outputs(), return_bits(kernel, value))

    def close(self) -> None:
        """Nothing to release."""


def _mirror_message(kernel: Kernel, error: BaseException) -> str:
    """One line that names the mirror's own file and line, not ours."""
    frames = traceback.extract_tb(error.__traceback__)[1:]
    where = f" ({Path(frames[-1].filename).name}:{frames[-1].lineno})" if frames else ""
    text = str(error).strip().splitlines()
    reason = f": {text[0]}" if text else ""
    return f"the mirror of {kernel.symbol} raised {type(error).__name__}{where}{reason}"
