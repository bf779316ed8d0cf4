/* From the ROM to main, and the end of the road for exceptions. */

#define PS_INTLEVEL_ALL 0xF
#define PS_UM (1 << 5)
#define PS_WOE (1 << 18)
#define CP_FPU (1 << 0)
#define CP_PIE (1 << 3)

    .section .text._start, "ax", @progbits
    .balign 4
    .global _start
    .type   _start, @function
_start:
    movi    a0, PS_INTLEVEL_ALL
    wsr.ps  a0
    rsync
    movi.n  a0, 0
    wsr.intenable a0
    wsr.windowbase a0
    rsync
    movi.n  a0, 1               /* our frame is the only live one: the ROM's are given up */
    wsr.windowstart a0
    movi    a0, _vectors
    wsr.vecbase a0
    movi    a0, CP_FPU | CP_PIE
    wsr.cpenable a0
    rsync

    movi    a2, _bss_start
    movi    a3, _bss_end
    sub     a3, a3, a2
    srli    a3, a3, 2
    movi.n  a4, 0
    loopnez a3, .Lbss_end
    s32i.n  a4, a2, 0
    addi.n  a2, a2, 4
.Lbss_end:
    movi    a1, _stack_top
    movi    a2, PS_WOE | PS_UM | PS_INTLEVEL_ALL
    wsr.ps  a2
    rsync
    movi.n  a0, 0               /* a debugger's walk up the stack ends here */
    call4   main                /* call4: spilling this frame needs no frame above it */
.Lhalt:
    waiti   15
    j       .Lhalt
    .size   _start, . - _start
#ifndef OWN_FAULT
/* a0: number of the vector; the program's a0 is in EXCSAVE1. Records what happened and stops. */
    .section .text._fault, "ax", @progbits
    .balign 4
    .global _fault
    .type   _fault, @function
_fault:
    wsr.excsave2 a2
    movi    a2, emu_fault
    s32i.n  a0, a2, 0
    rsr.exccause a0
    s32i.n  a0, a2, 4
    rsr.epc1 a0
    s32i.n  a0, a2, 8
    rsr.excvaddr a0
    s32i.n  a0, a2, 12
    rsr.ps  a0
    s32i.n  a0, a2, 16
.Lfault_loop:
    waiti   15
    j       .Lfault_loop
    .size   _fault, . - _fault

/* vector, EXCCAUSE, EPC1, EXCVADDR, PS of the fault that stopped the image; vector 0: none */
    .section .bss.emu_fault, "aw", @nobits
    .balign 4
    .global emu_fault
    .type   emu_fault, @object
emu_fault:
    .space  20
    .size   emu_fault, 20
#endif
