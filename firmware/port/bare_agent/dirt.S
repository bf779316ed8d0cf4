/* void dirt_registers(const uint32_t *from): vector, float and special registers that a called function must not rely on.
 * from: 16-byte aligned, 8 * 16 + 16 * 4 + 16 + 16 bytes. */
    .section .text.dirt_registers, "ax", @progbits
    .balign 4
    .global dirt_registers
    .type   dirt_registers, @function
dirt_registers:
    entry   a1, 16
    ee.vld.128.ip q0, a2, 16
    ee.vld.128.ip q1, a2, 16
    ee.vld.128.ip q2, a2, 16
    ee.vld.128.ip q3, a2, 16
    ee.vld.128.ip q4, a2, 16
    ee.vld.128.ip q5, a2, 16
    ee.vld.128.ip q6, a2, 16
    ee.vld.128.ip q7, a2, 16
    ee.ldqa.s8.128.ip a2, 16
    lsi     f0, a2, 0
    lsi     f1, a2, 4
    lsi     f2, a2, 8
    lsi     f3, a2, 12
    lsi     f4, a2, 16
    lsi     f5, a2, 20
    lsi     f6, a2, 24
    lsi     f7, a2, 28
    lsi     f8, a2, 32
    lsi     f9, a2, 36
    lsi     f10, a2, 40
    lsi     f11, a2, 44
    lsi     f12, a2, 48
    lsi     f13, a2, 52
    lsi     f14, a2, 56
    lsi     f15, a2, 60
    addi    a2, a2, 64
    l32i    a3, a2, 0
    ssr     a3
    l32i    a3, a2, 4
    wur.accx_0 a3
    extui   a3, a3, 16, 8
    wur.accx_1 a3
    l32i    a3, a2, 8
    extui   a3, a3, 0, 4
    wur.sar_byte a3
    l32i    a3, a2, 12
    wsr.lbeg a3
    wsr.lend a3
    rsync
    retw.n
    .size   dirt_registers, . - dirt_registers
