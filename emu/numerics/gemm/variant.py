"""Which matrix product runs: the best one that the processor has, or the one that EMU_GEMM names."""

from __future__ import annotations

import functools
import os
from typing import Final

import llvmlite.binding as llvm

VARIABLE: Final = "EMU_GEMM"
NEEDS: Final = {"vnni": ("avx512f", "avx512bw", "avx512vnni"), "avx2": ("avx2",), "plain": ()}
"""Features of the processor that each variant needs, the fastest variant first."""


class VariantError(RuntimeError):
    """EMU_GEMM names a variant that does not exist or that this processor cannot run."""


def available() -> tuple[str, ...]:
    """The variants that this processor can run, the fastest first."""
    features = llvm.get_host_cpu_features()
    return tuple(name for name, needs in NEEDS.items() if all(features.get(n) for n in needs))


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
        raise VariantError(
            f"{VARIABLE}={wanted}: this processor lacks {', '.join(NEEDS[wanted])}; it can run "
            f"{', '.join(names)}"
        )
    return wanted
