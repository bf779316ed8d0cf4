"""Function pointers that lead into Python, with the same types on both sides."""

from __future__ import annotations

from typing import Any

import numpy as np

from emu.cpu.hooks import GuestCall, Result
from emu.kernels.spec import Callback, Kernel
from emu.verify.errors import ToolError


class TypedCallback:
    """Calls the spec's function with numpy scalars of the declared dtypes, and converts what it gives."""

    def __init__(self, kernel: Kernel, callback: Callback) -> None:
        self._what = f"the callback {callback.name} of kernel {kernel.symbol}"
        self._callback = callback
        self._args = tuple(np.dtype(name) for name in callback.args)
        self._returns = np.dtype(callback.returns) if callback.returns is not None else None

    def __call__(self, *values: Any) -> Any:
        """Raises ToolError for a wrong number of arguments, and for whatever the function raises."""
        if len(values) != len(self._args):
            raise ToolError(f"{self._what} gets {len(values)} arguments, its spec says {len(self._args)}")
        typed = [_cast(dtype, value) for dtype, value in zip(self._args, values, strict=True)]
        try:
            result = self._callback.function(*typed)
        except Exception as error:
            raise ToolError(f"{self._what} raised {type(error).__name__}: {error}") from error
        if self._returns is None:
            return None
        try:
            return _cast(self._returns, result)
        except (TypeError, ValueError) as error:
            raise ToolError(f"{self._what} gave {result!r}; its spec says {self._returns.name}") from error

    def serve(self, guest: GuestCall) -> Result:
        """The same for a call by the guest."""
        values, at = [], 0
        for dtype in self._args:
            at += at % 2 if dtype.itemsize == 8 else 0
            words = guest.argument(at), guest.argument(at + 1) if dtype.itemsize == 8 else 0
            at += 2 if dtype.itemsize == 8 else 1
            values.append(_from_words(dtype, *words))
        result: Result = self(*values)
        return result


def _cast(dtype: np.dtype[Any], value: Any) -> Any:
    """A C conversion: integers wrap."""
    if dtype.kind == "f":
        return dtype.type(value)
    bits = int(value) & (1 << 8 * dtype.itemsize) - 1
    return np.array(bits, f"u{dtype.itemsize}").view(dtype)[()]


def _from_words(dtype: np.dtype[Any], low: int, high: int) -> Any:
    bits = (high << 32 | low) & (1 << 8 * dtype.itemsize) - 1
    return np.array(bits, f"u{dtype.itemsize}").view(dtype)[()]
