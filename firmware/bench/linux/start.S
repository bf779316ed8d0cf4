/* A program of Linux without a C library: start, and system calls. */

    .section .text._start, "ax", @progbits
    .balign 4
    .global _start
    .type   _start, @function
_start:
    movi.n  a0, 0
    call4   serve
    .size   _start, . - _start

/* int32_t linux_call(number, a, b, c): number in a2, arguments in a6, a3, a4, result in a2. */
    .section .text.linux_call, "ax", @progbits
    .balign 4
    .global linux_call
    .type   linux_call, @function
linux_call:
    entry   a1, 32
    mov.n   a6, a3
    mov.n   a3, a4
    mov.n   a4, a5
    syscall
    retw.n
    .size   linux_call, . - linux_call
