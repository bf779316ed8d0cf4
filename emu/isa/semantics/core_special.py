"""Special registers (rsr, wsr, xsr) and user registers (rur, wur), all from the layout in the register table.

The core has one ring, so nothing here is privileged. A register is a word of 32 bits over some states:
reading gives 0 where no state lies, writing drops those bits. What differs is listed in one place each:
places that the table leaves out, readings that are sign-extended, writes that do more than store.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

from emu.cpu.machine import Cause, Machine, Operands
from emu.cpu.values import Bits
from emu.isa.registers import BY_MNEMONIC, STATES, Part, SystemRegister
from emu.isa.semantics.core_ps import gather, spread
from emu.isa.semantics.registry import semantics
from emu.isa.table import by_key

SOFTWARE_INTERRUPTS = 0x20000080
"""Interrupts that wsr.intset can set (core header, XCHAL_INTTYPE_MASK_SOFTWARE)."""
CLEARABLE_INTERRUPTS = SOFTWARE_INTERRUPTS | 0x50400400
"""Interrupts that wsr.intclear can clear: software and edge-triggered ones
(XCHAL_INTTYPE_MASK_EXTERN_EDGE).
"""
TIMER_INTERRUPTS = {"CCOMPARE0": 6, "CCOMPARE1": 15, "CCOMPARE2": 16}
"""Interrupt number of each timer (XCHAL_TIMERn_INTERRUPT)."""

_ABSENT = frozenset({"LITBASE", "ERACCESS"})
"""Opcodes without any state in the tool tables: of options (absolute literals, rings) that the core lacks."""
_READ_ONLY = frozenset({"CONFIGID0"})
"""wsr exists as an opcode, the register keeps what the core was built with."""
_SIGNED = frozenset({"ACCHI"})
"""Registers that read sign-extended (as QEMU); every other one reads zero-extended."""


# --- the word behind a register -------------------------------------------------------------------
def parts_of(register: SystemRegister) -> tuple[Part, ...]:
    """Where the register's states lie.

    The table gives DBREAKCn 8 bits without a place: the mask is in bits 5..0, load and store enable in bits
    30 and 31. Registers without a state in the table (LITBASE, MMID, ERACCESS, the constants) are kept
    whole.
    """
    name = register.name
    if name.startswith("DBREAKC"):
        return (Part(name, 5, 0, 0), Part(name, 7, 6, 30))
    return register.parts or (Part(name, register.bits - 1, 0, 0),)


def _read(m: Machine, o: Operands, register: SystemRegister) -> Bits:
    if register.name == "BR" or (register.parts and register.parts[0].state not in STATES):
        return o.imm.zext(32)
    if register.name.startswith("EPS"):
        return spread(m.read_state(register.name))
    signed = register.name in _SIGNED or (register.name == "ACCX_1" and _accx_reads_signed(m))
    word = m.const(32, 0)
    for part in parts_of(register):
        field = m.read_state(part.state).bits(part.hi, part.lo)
        word = word | (field.sext(32) if signed else field.zext(32)).shl(part.at_lsb)
    return word


def _accx_reads_signed(m: Machine) -> bool:
    m.touch_contested("rur_accx_1", m.ACCX.bits(39, 39))
    return m.reading("rur_accx_1") == "sign_extended"


def _write(m: Machine, o: Operands, register: SystemRegister, word: Bits) -> None:
    if register.name == "BR" or (register.parts and register.parts[0].state not in STATES):
        o.imm = word.trunc(register.bits)
    elif register.name.startswith("EPS"):
        m.write_state(register.name, gather(word))
    elif register.name not in _READ_ONLY:
        for state, parts in groupby(parts_of(register), key=lambda part: part.state):
            m.write_state(state, _merged(m, state, tuple(parts), word))


def _merged(m: Machine, state: str, parts: tuple[Part, ...], word: Bits) -> Bits:
    """The state with the bits of ``parts`` (ascending) taken from the word."""
    width = STATES.get(state, 32)
    pieces: list[Bits] = []
    done = 0
    for part in parts:
        if part.lo > done:
            pieces.append(m.read_state(state).bits(part.lo - 1, done))
        pieces.append(word.bits(part.at_lsb + part.width - 1, part.at_lsb))
        done = part.hi + 1
    if done < width:
        pieces.append(m.read_state(state).bits(width - 1, done))
    value = pieces[0]
    for piece in pieces[1:]:
        value = piece.cat(value)
    return value


# --- writes that do more than store -----------------------------------------------------------------
def _set_interrupts(m: Machine, o: Operands, register: SystemRegister, word: Bits) -> None:
    m.INTERRUPT = m.INTERRUPT | word & SOFTWARE_INTERRUPTS


def _clear_interrupts(m: Machine, o: Operands, register: SystemRegister, word: Bits) -> None:
    m.INTERRUPT = m.INTERRUPT & ~(word & CLEARABLE_INTERRUPTS)


def _set_timer(m: Machine, o: Operands, register: SystemRegister, word: Bits) -> None:
    """A write to CCOMPAREn takes its interrupt back."""
    m.write_state(register.name, word)
    m.INTERRUPT = m.INTERRUPT & ~(1 << TIMER_INTERRUPTS[register.name])


_WRITES: dict[str, Callable[[Machine, Operands, SystemRegister, Bits], None]] = {
    "INTERRUPT": _set_interrupts,
    "INTCLEAR": _clear_interrupts,
    **dict.fromkeys(TIMER_INTERRUPTS, _set_timer),
}


# --- the instructions -------------------------------------------------------------------------------
def absent(m: Machine, o: Operands) -> None:
    """Access to a register that the core does not have (as QEMU for a core without the option)."""
    m.raise_always(Cause.ILLEGAL_INSTRUCTION)


def read(m: Machine, o: Operands, register: SystemRegister, to: str) -> None:
    """rsr.* and rur.*."""
    o.write(to, _read(m, o, register))


def write(m: Machine, o: Operands, register: SystemRegister) -> None:
    """wsr.* and wur.*."""
    _WRITES.get(register.name, _write)(m, o, register, o.t)


def exchange(m: Machine, o: Operands, register: SystemRegister) -> None:
    """xsr.*: both directions at once."""
    old = _read(m, o, register)
    _WRITES.get(register.name, _write)(m, o, register, o.t)
    o.t = old


def _register_all() -> None:
    for mnemonic, register in BY_MNEMONIC.items():
        if register.name in _ABSENT:
            semantics(mnemonic)(absent)
        elif mnemonic == register.read:
            to = by_key()[mnemonic].operands[0].name
            semantics(mnemonic, register=register, to=to)(read)
        else:
            semantics(mnemonic, register=register)(exchange if mnemonic == register.exchange else write)


_register_all()
