/* linear_int4_rows: see int4_rows_job.h. numerics.md sections 8 and 10; its plain C twin is linear_int4_c.c.
 *
 * 32 codes at a time become two vectors (code ^ 8 - 8 is the sign extension of a nibble). A binary16 scale becomes
 * binary32 by moving its bits into place and multiplying with 2^112, which is exact and right for subnormals too;
 * infinities and NaN take a branch.
 */
#include "function.inc"

#define job a2              /* first the argument, then rows of w left */
#define outs a2
#define x a3
#define w_row a4
#define w_stride a5
#define scale a6
#define vectors a7
#define group_vectors a8
#define y a9
#define x_next a10
#define w_next a11
#define left a12            /* vectors of this row */
#define used a13            /* vectors of this group */
#define word a14
#define mask a15

#define f_sum f0
#define f_dot f1
#define f_scale f2
#define f_widen f3
#define f_sx f4
#define f_zero f5

    .section .rodata.linear_int4_rows, "a", @progbits
.Lconstants:
    .byte   0x88, 0x0F, 8

/* The codes at w_next to q0, columns 0..15, and q1, 16..31, as code ^ 8. SAR must be 4. */
    .macro unpack_pair
    ee.vld.128.ip q0, w_next, 16
    ee.xorq q0, q0, q7
    ee.vsr.32 q1, q0        /* the bits that cross a byte border fall to the mask */
    ee.andq q0, q0, q6
    ee.andq q1, q1, q6
    ee.vzip.8 q0, q1
    .endm

    .macro load_constants
    movi    word, .Lconstants
    ee.vldbc.8.ip q7, word, 1
    ee.vldbc.8.ip q6, word, 1
    ee.vldbc.8.ip q5, word, 1
    ssai    4
    movi    word, 0x77800000    /* 2^112 */
    wfr     f_widen, word
    movi.n  word, 0
    wfr     f_zero, word
    movi    mask, 0x8FFFE000    /* sign, exponent and fraction of a half, moved up by 13 */
    .endm

    .macro add_group
    l16si   word, scale, 0
    addi.n  scale, scale, 2
    slli    word, word, 13
    and     word, word, mask
    wfr     f_scale, word
    extui   word, word, 23, 5
    mul.s   f_scale, f_scale, f_widen
    addi.n  word, word, 1
    bbsi    word, 5, .Lnot_finite
.Lscaled:
    rur.accx_0 word
    float.s f_dot, word, 0
    mul.s   f_dot, f_dot, f_scale
    add.s   f_sum, f_sum, f_dot
    .endm

    function linear_int4_rows, 32
    l32i.n  x, job, 0
    l32i.n  w_row, job, 4
    l32i.n  w_stride, job, 8
    l32i.n  scale, job, 12
    l32i.n  vectors, job, 16
    l32i.n  group_vectors, job, 20
    lsi     f_sx, job, 28
    l32i.n  y, job, 32
    l32i.n  outs, job, 24
    load_constants

.Lrow:
    mov.n   x_next, x
    mov.n   w_next, w_row
    mov.n   left, vectors
    mov.s   f_sum, f_zero
.Lgroup:
    min     used, left, group_vectors
    srli    word, used, 1
    ee.zero.accx
    loopnez word, .Lpair_end
    unpack_pair
    ee.vsubs.s8.ld.incp q2, x_next, q0, q0, q5
    ee.vsubs.s8.ld.incp q3, x_next, q1, q1, q5
    ee.vmulas.s8.accx q2, q0
    ee.vmulas.s8.accx q3, q1
.Lpair_end:
    bbci    used, 0, .Lwhole_pairs
    unpack_pair
    ee.vsubs.s8.ld.incp q2, x_next, q0, q0, q5
    ee.vmulas.s8.accx q2, q0
.Lwhole_pairs:
    add_group
    sub     left, left, used
    bnez    left, .Lgroup
    mul.s   f_sum, f_sum, f_sx
    ssip    f_sum, y, 4
    add.n   w_row, w_row, w_stride
    addi.n  outs, outs, -1
    bnez    outs, .Lrow
    retw.n

/* Infinity or NaN: the largest exponent in place of the one that the multiplication gave. */
.Lnot_finite:
    rfr     word, f_scale
    movi    used, 0x7F800000
    or      word, word, used
    wfr     f_scale, word
    min     used, left, group_vectors
    j       .Lscaled
    end_function linear_int4_rows
