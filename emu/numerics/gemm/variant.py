"""Which matrix product runs: the best one that the processor has, or the one that EMU_GEMM names."""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import sys
from typing import Final

import llvmlite.binding as llvm

VARIABLE: Final = "EMU_GEMM"
NEEDS: Final = {
    "amx": ("amx-tile", "amx-int8"),
    "vnni": ("avx512f", "avx512bw", "avx512vnni"),
    "avx2": ("avx2",),
    "plain": (),
}
"""Features of the processor that each variant needs. The order is that of choice: most products in one
instruction first.

AMX has 16,384, VNNI 64, AVX2 16. AMX has not been timed: no processor with it was at hand.
"""
_TILES_REQUEST: Final = (158, 0x1023, 18)
"""Linux on x86-64: arch_prctl, ARCH_REQ_XCOMP_PERM, the number of the tiles among a processor's states."""


class VariantError(RuntimeError):
    """EMU_GEMM names a variant that does not exist or that this processor cannot run."""


@functools.cache
def _tiles_granted() -> bool:
    """Whether Linux grants this process, on request, the tile registers; a thread may use them only then."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return False
    return bool(ctypes.CDLL(None).syscall(*map(ctypes.c_long, _TILES_REQUEST)) == 0)


def _obstacle(name: str) -> str:
    """Why this process cannot run a variant; "" if it can."""
    features = llvm.get_host_cpu_features()
    missing = [need for need in NEEDS[name] if not features.get(need)]
    if missing:
        return f"this processor lacks {', '.join(missing)}"
    if name == "amx" and not _tiles_granted():
        return "the operating system does not grant this process the tile registers"
    return ""


def available() -> tuple[str, ...]:
    """The variants that this process can run, in the order of choice."""
    return tuple(name for name in NEEDS if not _obstacle(name))


@functools.cache
def chosen() -> str:
    """The variant that runs in this process. Raises VariantError."""
    wanted = os.environ.get(VARIABLE, "")
    names = available()
    if not wanted:
        return names[0]
    if wanted not in NEEDS:
        raise VariantError(f"{VARIABLE}={wanted}: the variants are {', '.join(NEEDS)}")
    if wanted not in names:
        raise VariantError(f"{VARIABLE}={wanted}: {_obstacle(wanted)}; it can run {', '.join(names)}")
    return wanted
