/* dot_groups_int4: a packed int4 row against one activation row, a sum per group. numerics.md section 8; twin:
 * dot_int4_c.c.
 *
 * int32_t dot_groups_int4(const int8_t *x, const uint8_t *w, int32_t cols, int32_t group, int32_t *acc)
 *
 * 16 columns are 8 bytes of codes, so a group of an odd number of vectors starts in the middle of 16 bytes: codes are
 * loaded by halves, two halves at a time while the group lasts. code ^ 8 - 8 is the sign extension of a nibble.
 * Read: 16 * ceil(cols / 16) bytes of x, 8 * ceil(cols / 16) bytes of w, no more.
 */
#include "function.inc"

#define x a2
#define w a3
#define blocks a4           /* first cols, then vectors of 16 columns not yet done */
#define group a5            /* first columns, then vectors in a group */
#define acc a6
#define used a7             /* vectors in this group */
#define pairs a8
#define sum a9
#define FRAME 32

    .section .rodata.dot_groups_int4, "a", @progbits
.Lconstants:
    .byte   0x88, 0x0F, 8

    .macro check_arguments
    bltz    blocks, .Lbad_argument
    blti    group, 1, .Lbad_argument
    extui   a7, group, 0, 4
    bnez    a7, .Lbad_argument
    movi    a7, 133144
    blt     a7, blocks, .Ltoo_many_columns
    or      a7, x, w
    extui   a7, a7, 0, 4
    bnez    a7, .Lmisaligned
    .endm

/* Codes in q0 to weights: columns 0..15 in q0, 16..31 in q1. SAR must be 4. */
    .macro unpack_nibbles
    ee.xorq q0, q0, q7
    ee.vsr.32 q1, q0        /* the bits that cross a byte border fall to the mask */
    ee.andq q0, q0, q6
    ee.andq q1, q1, q6
    ee.vzip.8 q0, q1        /* even columns from low nibbles, odd from high */
    .endm

    function dot_groups_int4, FRAME
    check_arguments
    addi    blocks, blocks, 15
    srli    blocks, blocks, 4
    srli    group, group, 4
    beqz    blocks, .Ldone
    movi    a8, .Lconstants
    ee.vldbc.8.ip q7, a8, 1
    ee.vldbc.8.ip q6, a8, 1
    ee.vldbc.8.ip q5, a8, 1
    ee.zero.q q0
    ssai    4

.Lgroup:
    min     used, blocks, group
    srli    pairs, used, 1
    ee.zero.accx
    loopnez pairs, .Lpair_end
    ee.vld.l.64.ip q0, w, 8
    ee.vld.h.64.ip q0, w, 8
    unpack_nibbles
    ee.vsubs.s8.ld.incp q2, x, q0, q0, q5
    ee.vsubs.s8.ld.incp q3, x, q1, q1, q5
    ee.vmulas.s8.accx q2, q0
    ee.vmulas.s8.accx q3, q1
.Lpair_end:
    bbci    used, 0, .Lgroup_end
    ee.vld.l.64.ip q0, w, 8
    unpack_nibbles
    ee.vsubs.s8.ld.incp q2, x, q0, q0, q5
    ee.vmulas.s8.accx q2, q0
.Lgroup_end:
    rur.accx_0 sum
    s32i.n  sum, acc, 0
    addi    acc, acc, 4
    sub     blocks, blocks, used
    bnez    blocks, .Lgroup
.Ldone:
    return_status 0

.Lbad_argument:
    return_status 1
.Ltoo_many_columns:
    return_status 2
.Lmisaligned:
    return_status 3
    end_function dot_groups_int4
