"""Decorators for the native code of the board: as emu.numerics.jit, with a cache that knows the layout."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from llvmlite import ir
from numba.core.ccallback import CFunc
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])

_SOURCES = ("words.py", "native.py", "compiled.py")
DIRECT = numba.types.int64(
    numba.types.CPointer(numba.types.int64), numba.types.uint32, numba.types.uint32, numba.types.int64
)
"""Signature of Memory.set_direct."""


def native(function: F) -> F:
    """Compile with numba at the first call, without the GIL, kept on disk."""
    dispatcher = numba.njit(nogil=True)(function)
    dispatcher.enable_caching()
    _stamp(dispatcher._cache)
    return cast(F, dispatcher)


def direct(function: Callable[[Any, Any, Any, Any], Any]) -> int:
    """Compile for Memory.set_direct; the host address of the machine code, which stays."""
    made: Any = CFunc(function, (DIRECT.args, DIRECT.return_type), {}, {"nopython": True})
    made.enable_caching()
    _stamp(made._cache)
    made.compile()
    _KEPT.append(made)
    return int(made.address)


@intrinsic  # type: ignore[untyped-decorator]
def add_to_word(context: Any, address: Any, value: Any) -> Any:
    """Add to the 32-bit word at a host address, modulo 2**32; for native code only."""

    def codegen(_context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        word = ir.IntType(32)
        place = builder.inttoptr(arguments[0], word.as_pointer())
        total = builder.add(builder.load(place), builder.trunc(arguments[1], word))
        builder.store(total, place)
        return total

    return numba.types.uint32(numba.types.int64, numba.types.int64), codegen


_KEPT: list[Any] = []


def _stamp(kept: Any) -> None:
    file = kept._cache_file
    file._source_stamp = (file._source_stamp, _digest())


@cache
def _digest() -> str:
    """Constants of other files are part of the code, which numba does not see."""
    folder = Path(__file__).parent
    return hashlib.sha256(b"\0".join((folder / name).read_bytes() for name in _SOURCES)).hexdigest()
