"""The processor status word: how its states lie in PS, and in the 13 bits that EPS2..EPS7 keep of it.

The states EPSn of the register table are 13 bits wide although PS reaches to bit 18: they keep only the bits
that exist. Here, and for whoever fills EPSn on an interrupt, those bits stand without gaps in PS order:
INTLEVEL 0-3, EXCM 4, UM 5, OWB 6-9, CALLINC 10-11, WOE 12. PS.RING does not exist: the core has one ring.
"""

from __future__ import annotations

from emu.cpu.machine import Machine
from emu.cpu.values import Bits

PS_PARTS = (
    ("PSINTLEVEL", 4, 0),
    ("PSEXCM", 1, 4),
    ("PSUM", 1, 5),
    ("PSOWB", 4, 8),
    ("PSCALLINC", 2, 16),
    ("PSWOE", 1, 18),
)
"""(state, width, lowest bit in PS), from bit 0 upwards."""


def packed_ps(m: Machine) -> Bits:
    """The PS states as 13 bits, the form of EPSn."""
    states = [m.read_state(name) for name, _, _ in PS_PARTS]
    value = states[0]
    for state in states[1:]:
        value = state.cat(value)
    return value


def write_packed_ps(m: Machine, value: Bits) -> None:
    """Set the PS states from 13 bits."""
    low = 0
    for name, width, _ in PS_PARTS:
        m.write_state(name, value.bits(low + width - 1, low))
        low += width


def spread(value: Bits) -> Bits:
    """13 bits to the 32 bits that software reads, every field at its place in PS."""
    word = value.bits(3, 0).zext(32)
    low = 0
    for _, width, at in PS_PARTS:
        word = word | value.bits(low + width - 1, low).zext(32).shl(at)
        low += width
    return word


def gather(word: Bits) -> Bits:
    """32 bits as software writes them to the 13 bits that exist."""
    value = word.bits(3, 0)
    for _, width, at in PS_PARTS[1:]:
        value = word.bits(at + width - 1, at).cat(value)
    return value
