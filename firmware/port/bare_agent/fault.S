/* From an exception back to the start. */

#define PS_INTLEVEL_ALL 0xF
#define PS_UM (1 << 5)
#define PS_WOE (1 << 18)

/* a0: number of the vector (5: the limit of a call ran out); the program's a0 is in EXCSAVE1. Records what happened, then goes on
 * in C on a fresh stack. */
    .section .text._fault, "ax", @progbits
    .balign 4
    .global _fault
    .type   _fault, @function
_fault:
    wsr.excsave2 a2
    movi    a2, agent_crash
    s32i    a0, a2, 4
    s32i    a1, a2, 28
    s32i    a3, a2, 36
    s32i    a4, a2, 40
    s32i    a5, a2, 44
    s32i    a6, a2, 48
    s32i    a7, a2, 52
    s32i    a8, a2, 56
    s32i    a9, a2, 60
    s32i    a10, a2, 64
    s32i    a11, a2, 68
    s32i    a12, a2, 72
    s32i    a13, a2, 76
    s32i    a14, a2, 80
    s32i    a15, a2, 84
    rsr.excsave1 a3
    s32i    a3, a2, 24
    rsr.excsave2 a3
    s32i    a3, a2, 32
    rsr.exccause a3
    s32i    a3, a2, 8
    rsr.excvaddr a3
    s32i    a3, a2, 16
    beqi    a0, 5, .Llimit
    rsr.epc1 a3
    rsr.ps  a4
    beqi    a0, 1, .Lrecorded
    beqi    a0, 8, .Ldouble
    j       .Lrecorded
.Ldouble:
    rsr.depc a3
    j       .Lrecorded
.Llimit:
    rsr.epc5 a3
    rsr.eps5 a4
.Lrecorded:
    s32i    a3, a2, 12
    s32i    a4, a2, 20
    movi    a3, 0x48535243      /* "CRSH" */
    s32i    a3, a2, 0
    movi    a3, PS_INTLEVEL_ALL
    wsr.ps  a3
    rsync
    movi.n  a3, 0
    wsr.windowbase a3
    rsync
    movi.n  a3, 1
    wsr.windowstart a3
    rsync
    movi    a1, _stack_top
    movi    a2, PS_WOE | PS_UM | PS_INTLEVEL_ALL
    wsr.ps  a2
    rsync
    movi.n  a0, 0
    call4   agent_panic
    .global agent_restart
    .type   agent_restart, @function
agent_restart:
    movi.n  a0, 0               /* a loop that was left half-way does not go on in what starts again */
    wsr.lcount a0
    rsync
    j       _start
    .size   _fault, . - _fault

/* uint32_t agent_enable(uint32_t mask): INTENABLE = mask, PS.INTLEVEL = 0 when there is something, else 15. */
    .section .text.agent_enable, "ax", @progbits
    .balign 4
    .global agent_enable
    .type   agent_enable, @function
agent_enable:
    entry   a1, 16
    wsr.intenable a2
    rsync
    beqz    a2, .Lnone
    rsil    a2, 0
    retw.n
.Lnone:
    rsil    a2, 15
    retw.n
    .size   agent_enable, . - agent_enable
