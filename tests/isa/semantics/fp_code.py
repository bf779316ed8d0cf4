"""The compilers' sequences for division and square root, as instructions (public: libgcc, QEMU's tests)."""

from __future__ import annotations

DIVISION = """
div0.s f10, f2 | nexp01.s f12, f2 | const.s f13, 1 | maddn.s f13, f12, f10 | mov.s f9, f10 | mov.s f14, f2
nexp01.s f11, f1 | maddn.s f9, f13, f10 | const.s f13, 1 | const.s f0, 0 | neg.s f8, f11
maddn.s f13, f12, f9
maddn.s f0, f8, f10 | mkdadj.s f14, f1 | maddn.s f9, f13, f9 | maddn.s f8, f12, f0 | const.s f13, 1
maddn.s f13, f12, f9 | maddn.s f0, f8, f9 | neg.s f8, f11 | maddn.s f9, f13, f9 | maddn.s f8, f12, f0
addexpm.s f0, f14 | addexp.s f9, f14 | divn.s f0, f8, f9
"""
"""f0 = f1 / f2."""

ROOT = """
sqrt0.s f12, f1 | const.s f13, 0 | maddn.s f13, f12, f12 | nexp01.s f10, f1 | const.s f0, 3 | addexp.s f10, f0
maddn.s f0, f13, f10 | nexp01.s f13, f1 | neg.s f11, f13 | maddn.s f12, f0, f12 | const.s f0, 0
const.s f14, 0
const.s f15, 0 | maddn.s f0, f11, f12 | maddn.s f14, f12, f10 | const.s f10, 3 | maddn.s f15, f10, f12
maddn.s f13, f0, f0 | maddn.s f10, f14, f12 | neg.s f12, f15 | maddn.s f0, f13, f12 | maddn.s f15, f10, f15
mksadj.s f12, f1 | nexp01.s f1, f1 | maddn.s f1, f0, f0 | neg.s f13, f15 | addexpm.s f0, f12
addexp.s f13, f12
divn.s f0, f1, f13
"""
"""f0 = sqrt(f1); f1 is used up."""


def instructions(sequence: str) -> list[str]:
    """One text an instruction."""
    return [part.strip() for line in sequence.strip().splitlines() for part in line.split("|")]
