/* Window handlers and exception vectors, at the offsets from VECBASE that the core expects.
 *
 * The six window handlers follow the windowed ABI: a0..a3 of a frame are saved below the stack pointer of the
 * function it called, further registers below the frame of its caller.
 */
    .section .vectors, "ax", @progbits

    .macro vector offset
    .org    \offset
    .endm

    .macro unexpected number
    wsr.excsave1 a0
    movi.n  a0, \number
    j       _fault
    .endm

    vector  0x00                /* overflow of a frame that used call4 */
    s32e    a0, a5, -16
    s32e    a1, a5, -12
    s32e    a2, a5, -8
    s32e    a3, a5, -4
    rfwo

    vector  0x40                /* underflow, call4 */
    l32e    a0, a5, -16
    l32e    a1, a5, -12
    l32e    a2, a5, -8
    l32e    a3, a5, -4
    rfwu

    vector  0x80                /* overflow, call8 */
    s32e    a0, a9, -16
    l32e    a0, a1, -12
    s32e    a1, a9, -12
    s32e    a2, a9, -8
    s32e    a3, a9, -4
    s32e    a4, a0, -32
    s32e    a5, a0, -28
    s32e    a6, a0, -24
    s32e    a7, a0, -20
    rfwo

    vector  0xC0                /* underflow, call8 */
    l32e    a0, a9, -16
    l32e    a1, a9, -12
    l32e    a2, a9, -8
    l32e    a7, a1, -12
    l32e    a3, a9, -4
    l32e    a4, a7, -32
    l32e    a5, a7, -28
    l32e    a6, a7, -24
    l32e    a7, a7, -20
    rfwu

    vector  0x100               /* overflow, call12 */
    s32e    a0, a13, -16
    l32e    a0, a1, -12
    s32e    a1, a13, -12
    s32e    a2, a13, -8
    s32e    a3, a13, -4
    s32e    a4, a0, -48
    s32e    a5, a0, -44
    s32e    a6, a0, -40
    s32e    a7, a0, -36
    s32e    a8, a0, -32
    s32e    a9, a0, -28
    s32e    a10, a0, -24
    s32e    a11, a0, -20
    rfwo

    vector  0x140               /* underflow, call12 */
    l32e    a0, a13, -16
    l32e    a1, a13, -12
    l32e    a2, a13, -8
    l32e    a11, a1, -12
    l32e    a3, a13, -4
    l32e    a4, a11, -48
    l32e    a5, a11, -44
    l32e    a6, a11, -40
    l32e    a7, a11, -36
    l32e    a8, a11, -32
    l32e    a9, a11, -28
    l32e    a10, a11, -24
    l32e    a11, a11, -20
    rfwu

    vector  0x180
    unexpected 2
    vector  0x1C0
    unexpected 3
    vector  0x200
    unexpected 4
    vector  0x240
    unexpected 5
    vector  0x280
    unexpected 6                /* debug */
    vector  0x2C0
    unexpected 7                /* NMI */
    vector  0x300
    unexpected 1                /* kernel mode exception, level-1 interrupt */
    vector  0x340
    unexpected 1                /* user mode exception, level-1 interrupt */
    vector  0x3C0
    unexpected 8                /* double exception */
    vector  0x400
