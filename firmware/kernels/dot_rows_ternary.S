/* dot_rows_ternary: a packed ternary row against many activation rows. numerics.md section 8; twin: dot_ternary_c.c.
 *
 * int32_t dot_rows_ternary(const int8_t *x, int32_t x_stride, int32_t rows, const uint8_t *w, int32_t cols,
 *                          int32_t *acc, int32_t acc_stride)
 *
 * 64 weights at a time: unpacked once to four vectors of -1, 0, 1, then used for all rows (resident.inc), the sums
 * growing in acc. Read: 16 * ceil(cols / 16) bytes of each row, 16 * ceil(cols / 64) bytes of w, no more.
 */
#include "dot_checks.inc"
#include "function.inc"
#include "resident.inc"

#define x a2
#define x_stride a3
#define rows a4
#define w a5
#define blocks a6           /* first cols, then vectors of 16 columns not yet done */
#define acc a7
#define acc_step a8         /* bytes */
#define x_next a9
#define constants a10
#define x_gap a11
#define acc_next a12
#define sum a13
#define FRAME 32

/* The 16 bytes at w to q0..q3 in the order of the columns. Changes q6, q7; SAR must be 2. */
    .macro unpack_64_weights
    ee.vld.128.ip q0, w, 16
    ee.vldbc.8.ip q7, constants, 1
    ee.vldbc.8 q6, constants
    addi    constants, constants, -1
    ee.vsr.32 q1, q0        /* the bits that cross a byte border fall to the mask */
    ee.vsr.32 q2, q1
    ee.vsr.32 q3, q2
    ee.andq q0, q0, q7      /* codes of columns 0, 4, 8, ... */
    ee.andq q1, q1, q7      /* 1, 5, 9, ... */
    ee.andq q2, q2, q7      /* 2, 6, 10, ... */
    ee.andq q3, q3, q7      /* 3, 7, 11, ... */
    ee.vsubs.s8 q0, q0, q6
    ee.vsubs.s8 q1, q1, q6
    ee.vsubs.s8 q2, q2, q6
    ee.vsubs.s8 q3, q3, q6
    ee.vzip.8 q0, q2        /* 0, 2, 4, ... */
    ee.vzip.8 q1, q3        /* 1, 3, 5, ... */
    ee.vzip.8 q0, q1        /* 0..15, 16..31 */
    ee.vzip.8 q2, q3        /* 32..47, 48..63 */
    .endm

    .macro start_panel used
    addi    x_gap, x_stride, -16 * (\used - 1)
    .endm

    .section .rodata.dot_rows_ternary, "a", @progbits
.Lmask_and_bias:
    .byte   3, 1

    function dot_rows_ternary, FRAME
    l32i    acc_step, a1, FRAME
    check_rows x, x_stride, rows, w, blocks, acc_step
    beqz    rows, .Ldone
    slli    acc_step, acc_step, 2
    addi    blocks, blocks, 15
    srli    blocks, blocks, 4
    movi    constants, .Lmask_and_bias
    movi.n  sum, 0
    mov.n   acc_next, acc
    loop    rows, .Lzeros_end
    s32i.n  sum, acc_next, 0
    add.n   acc_next, acc_next, acc_step
.Lzeros_end:
    beqz    blocks, .Ldone
    ssai    2

.Lpanel:
    unpack_64_weights
    mov.n   x_next, x
    mov.n   acc_next, acc
    blti    blocks, 4, .Lnarrow_panel
    start_panel 4
    resident_rows 4, 1
    addi    x, x, 64
    addi    blocks, blocks, -4
    bnez    blocks, .Lpanel
.Ldone:
    return_status 0

.Lnarrow_panel:
    beqi    blocks, 1, .Lone
    beqi    blocks, 2, .Ltwo
    start_panel 3
    resident_rows 3, 1
    return_status 0
.Ltwo:
    start_panel 2
    resident_rows 2, 1
    return_status 0
.Lone:
    start_panel 1
    resident_rows 1, 1
    return_status 0

.Lbad_argument:
    return_status 1
.Ltoo_many_columns:
    return_status 2
.Lmisaligned:
    return_status 3
    end_function dot_rows_ternary
