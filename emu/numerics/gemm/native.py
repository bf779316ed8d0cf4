"""The variants as native functions, each compiled once, and the symbol by which compiled mirrors call one.

``void product(int8 *x, int64 x_stride, int64 rows, uint8 *w, int64 w_stride, int64 blocks, int64 steps,
int32 *init, int32 *acc, int64 acc_stride)``: see :func:`emu.numerics.gemm.multiply.multiply`. Mirrors call it
by name instead of containing it: the tiles are large, and numba would optimize them anew in every caller.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import llvmlite.binding as llvm
from numba import types
from numba.core.ccallback import CFunc

from emu.numerics.gemm.amx import multiply_amx
from emu.numerics.gemm.avx2 import multiply_avx2
from emu.numerics.gemm.plain import multiply_plain
from emu.numerics.gemm.variant import chosen
from emu.numerics.gemm.vnni import multiply_vnni
from emu.numerics.jit import enable_cache

SYMBOL: Final = "emu_gemm_multiply"

_SOURCES: Final[dict[str, Callable[..., None]]] = {
    "amx": multiply_amx,
    "vnni": multiply_vnni,
    "avx2": multiply_avx2,
    "plain": multiply_plain,
}
_N, _S8, _U8, _S32 = (types.int64, *map(types.CPointer, (types.int8, types.uint8, types.int32)))
_SIGNATURE: Final = types.void(_S8, _N, _N, _U8, _N, _N, _N, _S32, _S32, _N)


@functools.cache
def native(variant: str) -> Any:
    """The compiled function of a variant: ``.address``, ``.ctypes``. Kept on disk like a mirror."""
    function = CFunc(
        _SOURCES[variant], (_SIGNATURE.args, _SIGNATURE.return_type), {}, {"error_model": "numpy"}
    )
    enable_cache(function, _SOURCES[variant].__module__)
    function.compile()
    return function


def bind() -> None:
    """Let :data:`SYMBOL` mean the chosen variant in this process; must come before any mirror is loaded."""
    llvm.add_symbol(SYMBOL, native(chosen()).address)
