"""A small kernel in assembler: two tasks that share the coprocessors, switched by a timer.

A task control block (TCB) holds a0..a15, EPC1, the core's states, and what the coprocessors hold. The tick
switches tasks and disables both coprocessors; the first instruction that needs one raises cause 32 or 35, and
the handler saves the registers of the owner and loads those of the task (as FreeRTOS does for the chip).
"""

from __future__ import annotations

from emu.cpu.engine import RETURN_ADDRESS, Engine
from emu.cpu.exceptions import setting
from tests.cpu.lab import CODE, DATA, assemble

BASE = CODE + 0x8000
KERNEL = BASE + 0x400
CURRENT, OWNERS, TCBS = DATA + 0x2000, DATA + 0x2010, DATA + 0x2400
SIZE = 0x400
NEXT, FLOATS, VECTORS = 88, 96, 176
CORE_STATES = (("sar", 68), ("lbeg", 72), ("lend", 76), ("lcount", 80), ("br", 84))

SAVE_FLOATS = "\n".join(
    [f"ssi f{i}, {{to}}, {FLOATS + 4 * i}" for i in range(16)]
    + [f"rur.{n} a5\n s32i a5, {{to}}, {160 + 4 * i}" for i, n in enumerate(("fcr", "fsr"))]
)
LOAD_FLOATS = "\n".join(
    [f"lsi f{i}, {{to}}, {FLOATS + 4 * i}" for i in range(16)]
    + [f"l32i a5, {{to}}, {160 + 4 * i}\n wur.{n} a5" for i, n in enumerate(("fcr", "fsr"))]
)
SAVE_VECTORS = "\n".join(
    [f"addi a6, {{to}}, {VECTORS // 2}\n addi a6, a6, {VECTORS // 2}"]
    + [f"ee.vst.128.ip q{i}, a6, 16" for i in range(8)]
    + ["ee.st.qacc_l.l.128.ip a6, 16", "ee.st.qacc_l.h.32.ip a6, 16"]
    + ["ee.st.qacc_h.l.128.ip a6, 16", "ee.st.qacc_h.h.32.ip a6, 16", "ee.st.ua_state.ip a6, 16"]
    + ["rur.sar_byte a5\n s32i a5, a6, 0", "rur.fft_bit_width a5\n s32i a5, a6, 4"]
    + ["rur.accx_0 a5\n s32i a5, a6, 8", "rur.accx_1 a5\n s32i a5, a6, 12"]
)
LOAD_VECTORS = "\n".join(
    [f"addi a6, {{to}}, {VECTORS // 2}\n addi a6, a6, {VECTORS // 2}"]
    + [f"ee.vld.128.ip q{i}, a6, 16" for i in range(8)]
    + ["ee.ld.qacc_l.l.128.ip a6, 16", "ee.ld.qacc_l.h.32.ip a6, 16"]
    + ["ee.ld.qacc_h.l.128.ip a6, 16", "ee.ld.qacc_h.h.32.ip a6, 16", "ee.ld.ua_state.ip a6, 16"]
    + ["l32i a5, a6, 0\n wur.sar_byte a5", "l32i a5, a6, 4\n wur.fft_bit_width a5"]
    + ["l32i a5, a6, 8\n wur.accx_0 a5", "l32i a5, a6, 12\n wur.accx_1 a5"]
)

_OWNER = """
    {name}: rsr.cpenable a5
       movi a6, {bit}
       or a5, a5, a6
       wsr.cpenable a5
       l32r a3, _owners
       l32i a4, a3, {slot}
       bne a4, a0, {name}_changes
       j _restore
    {name}_changes: s32i a0, a3, {slot}
       beqz a4, {name}_load
       {save}
    {name}_load: {load}
       j _restore
"""

_KERNEL = """
    _current: .word {current}
    _owners: .word {owners}
    _ticks: .word {period}
    handler: wsr.excsave1 a0
       l32r a0, _current
       l32i a0, a0, 0
       {save_a}
       rsr.excsave1 a1
       s32i a1, a0, 0
       rsr.epc1 a1
       s32i a1, a0, 64
       {save_states}
       rsr.exccause a1
       beqi a1, 4, _tick
       beqi a1, 32, _to_fpu
       j _pie
    _to_fpu: j _fpu
    _tick: rsr.ccount a1
       l32r a2, _ticks
       add a1, a1, a2
       wsr.ccompare0 a1
       l32i a0, a0, {next}
       l32r a3, _current
       s32i a0, a3, 0
       movi a4, {off}
       wsr.cpenable a4
       j _restore
    {fpu}
    {pie}
    _restore: l32i a1, a0, 64
       wsr.epc1 a1
       {load_states}
       {load_a}
       l32i a0, a0, 0
       rfe
"""


def kernel(period: int, *, is_broken: bool = False) -> str:
    """Text of the kernel. ``is_broken``: a switch leaves the coprocessors on, so that registers leak."""

    def owner(name: str, bit: int, slot: int, save: str, load: str) -> str:
        made = _OWNER.format(
            name=name, bit=bit, slot=slot, save=save.format(to="a4"), load=load.format(to="a0")
        )
        return made

    fpu = owner("_fpu", 1, 0, SAVE_FLOATS, LOAD_FLOATS)
    pie = owner("_pie", 8, 4, SAVE_VECTORS, LOAD_VECTORS)
    return _KERNEL.format(
        current=CURRENT,
        owners=OWNERS,
        period=period,
        next=NEXT,
        off=0xFF if is_broken else 0,
        fpu=fpu,
        pie=pie,
        save_a="\n".join(f"s32i a{i}, a0, {4 * i}" for i in range(1, 16)),
        load_a="\n".join(f"l32i a{i}, a0, {4 * i}" for i in range(1, 16)),
        save_states="\n".join(f"rsr.{n} a1\n s32i a1, a0, {at}" for n, at in CORE_STATES),
        load_states="\n".join(f"l32i a1, a0, {at}\n wsr.{n} a1" for n, at in CORE_STATES),
    )


def install(engine: Engine, tasks: list[int], period: int, *, is_broken: bool = False) -> None:
    """The kernel at BASE, a TCB for the entry point of each task, the first one running."""
    made = assemble(kernel(period, is_broken=is_broken), KERNEL)
    memory, state = engine.memory, engine.state
    memory.write(KERNEL, made.data)
    for name in ("XCHAL_KERNEL_VECOFS", "XCHAL_USER_VECOFS"):
        vector = BASE + setting(name)
        memory.write(vector, assemble("j handler", vector, handler=made.labels["handler"]).data)
    memory.write(OWNERS, bytes(8))
    memory.write(CURRENT, TCBS.to_bytes(4, "little"))
    for i, entry in enumerate(tasks):
        tcb = TCBS + SIZE * i
        following = TCBS + SIZE * ((i + 1) % len(tasks))
        memory.write(tcb, bytes(SIZE))
        memory.write(tcb, RETURN_ADDRESS.to_bytes(4, "little"))
        memory.write(tcb + 64, entry.to_bytes(4, "little"))
        memory.write(tcb + NEXT, following.to_bytes(4, "little"))
    state.VECBASE = BASE >> 10
    state.PC = tasks[0]
    state.PSINTLEVEL, state.PSEXCM, state.PSUM = 0, 0, 1
    state.INTENABLE, state.CPENABLE = 1 << 6, 0
    state.CCOMPARE0 = (state.CCOUNT + state.instructions + period) & 0xFFFFFFFF
    engine.interrupts.changed()
