"""Exceptions, interrupt levels, debug, TLB and external registers (ISA manual, Exception, Interrupt, Debug
options).

The core has one ring: no instruction is privileged. What waits, talks to a device or to a debugger belongs to
the engine and is asked for by :meth:`Machine.service`.
"""

from __future__ import annotations

from emu.cpu.machine import Cause, Machine, Operands
from emu.isa.semantics.core_ps import packed_ps, spread, write_packed_ps
from emu.isa.semantics.registry import semantics

DEBUG_LEVEL = 6
"""Interrupt level of debug exceptions (core header)."""
HIGHEST_LEVEL = 7
"""Level of the non-maskable interrupt, the highest that rfi knows."""


# --- exceptions ---------------------------------------------------------------------------------
@semantics("ill", "ill.n", cause=Cause.ILLEGAL_INSTRUCTION)
@semantics("syscall", cause=Cause.SYSCALL)
def raise_cause(m: Machine, o: Operands, cause: Cause) -> None:
    """An exception and nothing else."""
    m.raise_always(cause)


@semantics("rfe")
def return_from_exception(m: Machine, o: Operands) -> None:
    """PS.EXCM = 0, go to EPC1."""
    m.PSEXCM = m.const(1, 0)
    m.jump(m.EPC1)


@semantics("rfde")
def return_from_double_exception(m: Machine, o: Operands) -> None:
    """Go to DEPC; PS.EXCM stays set, the first exception is still being handled."""
    m.jump(m.DEPC)


@semantics("rfi")
def return_from_interrupt(m: Machine, o: Operands) -> None:
    """PS = EPSn, go to EPCn, n = 2..7. The manual leaves other levels undefined: illegal here."""
    level = o.index("level")
    if not 2 <= level <= HIGHEST_LEVEL:
        m.raise_always(Cause.ILLEGAL_INSTRUCTION)
        return
    write_packed_ps(m, m.read_state(f"EPS{level}"))
    m.jump(m.read_state(f"EPC{level}"))


# --- interrupt levels ---------------------------------------------------------------------------
@semantics("rsil")
def read_and_set_level(m: Machine, o: Operands) -> None:
    """``at`` = PS as it was; PS.INTLEVEL = level."""
    o.t = spread(packed_ps(m))
    m.PSINTLEVEL = m.const(4, o.index("level"))


@semantics("waiti")
def wait_for_interrupt(m: Machine, o: Operands) -> None:
    """PS.INTLEVEL = level, then wait; execution goes on behind the instruction."""
    m.PSINTLEVEL = m.const(4, o.index("level"))
    m.service("waiti", o.index("level"))


# --- simulator and debugger -----------------------------------------------------------------------
@semantics("simcall")
def simulator_call(m: Machine, o: Operands) -> None:
    """A request to the simulator: number in a2, arguments in a3.. (a no-op on a chip)."""
    m.service("simcall")


@semantics("break", "break.n")
def breakpoint(m: Machine, o: Operands) -> None:
    """Debug exception while PS.INTLEVEL is below the debug level, else nothing."""
    m.raise_if(m.PSINTLEVEL.ult(DEBUG_LEVEL), Cause.DEBUG_BREAK)


@semantics("rfdo")
def return_from_debug(m: Machine, o: Operands) -> None:
    """Leave OCD mode: PS = EPS6, go to EPC6; illegal outside OCD mode, which only a debugger enters."""
    m.raise_if(~m.InOCDMode, Cause.ILLEGAL_INSTRUCTION)
    m.InOCDMode = m.const(1, 0)
    write_packed_ps(m, m.EPS6)
    m.jump(m.EPC6)


@semantics("rfdd")
def return_from_debug_dispatch(m: Machine, o: Operands) -> None:
    """Illegal outside OCD mode; inside, the debugger's next instruction follows."""
    m.raise_if(~m.InOCDMode, Cause.ILLEGAL_INSTRUCTION)
    m.service("rfdd")


@semantics("lddr32.p")
def load_debug_data(m: Machine, o: Operands) -> None:
    """DDR = mem[as], as += 4; illegal outside OCD mode."""
    m.raise_if(~m.InOCDMode, Cause.ILLEGAL_INSTRUCTION)
    m.DDR = m.load(32, o.s)
    o.s = o.s + 4


@semantics("sddr32.p")
def store_debug_data(m: Machine, o: Operands) -> None:
    """mem[as] = DDR, as += 4; illegal outside OCD mode."""
    m.raise_if(~m.InOCDMode, Cause.ILLEGAL_INSTRUCTION)
    m.store(32, o.s, m.DDR)
    o.s = o.s + 4


# --- region protection and external registers ------------------------------------------------------
@semantics("iitlb", name="iitlb")
@semantics("idtlb", name="idtlb")
def invalidate_translation(m: Machine, o: Operands, name: str) -> None:
    """Drop the entry that ``as`` addresses."""
    m.service(name, o.s)


@semantics("witlb", name="witlb")
@semantics("wdtlb", name="wdtlb")
def write_translation(m: Machine, o: Operands, name: str) -> None:
    """Attribute ``at`` for the region that ``as`` addresses."""
    m.service(name, o.t, o.s)


@semantics("ritlb0", name="ritlb0")
@semantics("ritlb1", name="ritlb1")
@semantics("rdtlb0", name="rdtlb0")
@semantics("rdtlb1", name="rdtlb1")
@semantics("pitlb", name="pitlb")
@semantics("pdtlb", name="pdtlb")
def read_translation(m: Machine, o: Operands, name: str) -> None:
    """``at`` = what the table says about the address in ``as``."""
    o.t = m.service(name, o.s)


@semantics("rer")
def read_external(m: Machine, o: Operands) -> None:
    """``at`` = the external register that ``as`` addresses."""
    o.t = m.service("rer", o.s)


@semantics("wer")
def write_external(m: Machine, o: Operands) -> None:
    """The external register that ``as`` addresses = ``at``."""
    m.service("wer", o.s, o.t)
