/* The least that C code needs: a stack, and window handlers (those of the ROM). */
    .section .text._start, "ax", @progbits
    .balign 4
    .global _start
    .type   _start, @function
_start:
    entry   a1, 32
    movi    a9, stack_top
    movsp   a1, a9
    call8   main
1:  j       1b
    .size   _start, . - _start
