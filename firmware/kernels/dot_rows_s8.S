/* dot_rows_s8: one weight row against many activation rows. numerics.md section 9; twin: dot_s8_c.c.
 *
 * int32_t dot_rows_s8(const int8_t *x, int32_t x_stride, int32_t rows, const int8_t *w, int32_t cols,
 *                     int32_t *acc, int32_t acc_stride)
 *
 * Up to 64 columns the weights stay in registers (resident.inc). With more columns the first three or four vectors
 * of weights stay in registers and the others stream beside the activations, two vectors in flight on each side so
 * that no load is used by the instruction after it. Read: 16 * ceil(cols / 16) bytes of each row and of w, no more.
 */
#include "dot_checks.inc"
#include "function.inc"
#include "resident.inc"

#define x a2
#define x_stride a3
#define rows a4
#define w a5
#define blocks a6           /* first cols, then vectors of 16 columns in a row */
#define acc a7
#define acc_step a8         /* bytes */
#define x_next a9
#define w_next a10
#define x_gap a11           /* from the end of a row to the next */
#define acc_next a12
#define sum a13
#define pairs a14
#define w_streamed a15
#define FRAME 32

/* (blocks - kept) / 2 - 1 times: two vectors of the row and of the weights, fetching those two further on. */
    .macro stream_pairs
    loopnez pairs, .Lpair_end\@
    ee.vmulas.s8.accx.ld.ip q0, x_next, 16, q0, q1
    ee.vld.128.ip q1, w_next, 16
    ee.vmulas.s8.accx.ld.ip q2, x_next, 16, q2, q3
    ee.vld.128.ip q3, w_next, 16
.Lpair_end\@:
    ee.vmulas.s8.accx q0, q1
    ee.vmulas.s8.accx q2, q3
    .endm

    .macro next_row again
    rur.accx_0 sum
    s32i.n  sum, acc_next, 0
    add.n   acc_next, acc_next, acc_step
    add.n   x_next, x_next, x_gap
    addi.n  rows, rows, -1
    bnez    rows, \again
    .endm

    function dot_rows_s8, FRAME
    l32i    acc_step, a1, FRAME
    check_rows x, x_stride, rows, w, blocks, acc_step
    beqz    rows, .Ldone
    slli    acc_step, acc_step, 2
    addi    blocks, blocks, 15
    srli    blocks, blocks, 4
    mov.n   x_next, x
    mov.n   acc_next, acc
    slli    x_gap, blocks, 4
    sub     x_gap, x_stride, x_gap
    blti    blocks, 5, .Lresident

    ee.vld.128.ip q4, w, 16
    ee.vld.128.ip q5, w, 16
    ee.vld.128.ip q6, w, 16
    srli    pairs, blocks, 1
    addi    pairs, pairs, -3
    bbci    blocks, 0, .Lkeep_four
    addi    pairs, pairs, 1
    mov.n   w_streamed, w
.Lkeep_three_row:
    mov.n   w_next, w_streamed
    ee.vld.128.ip q2, x_next, 16
    ee.vld.128.ip q0, x_next, 16
    ee.zero.accx
    ee.vmulas.s8.accx.ld.ip q2, x_next, 16, q2, q4
    ee.vmulas.s8.accx.ld.ip q0, x_next, 16, q0, q5
    ee.vmulas.s8.accx.ld.ip q2, x_next, 16, q2, q6
    ee.vld.128.ip q1, w_next, 16
    ee.vld.128.ip q3, w_next, 16
    stream_pairs
    next_row .Lkeep_three_row
    return_status 0

.Lkeep_four:
    ee.vld.128.ip q7, w, 16
    mov.n   w_streamed, w
.Lkeep_four_row:
    mov.n   w_next, w_streamed
    ee.vld.128.ip q0, x_next, 16
    ee.vld.128.ip q2, x_next, 16
    ee.zero.accx
    ee.vmulas.s8.accx.ld.ip q0, x_next, 16, q0, q4
    ee.vmulas.s8.accx.ld.ip q2, x_next, 16, q2, q5
    ee.vmulas.s8.accx.ld.ip q0, x_next, 16, q0, q6
    ee.vmulas.s8.accx.ld.ip q2, x_next, 16, q2, q7
    ee.vld.128.ip q1, w_next, 16
    ee.vld.128.ip q3, w_next, 16
    stream_pairs
    next_row .Lkeep_four_row
.Ldone:
    return_status 0

.Lresident:
    beqz    blocks, .Lno_columns
    addi    x_gap, x_gap, 16
    ee.vld.128.ip q0, w, 16
    beqi    blocks, 1, .Lone
    ee.vld.128.ip q1, w, 16
    beqi    blocks, 2, .Ltwo
    ee.vld.128.ip q2, w, 16
    beqi    blocks, 3, .Lthree
    ee.vld.128.ip q3, w, 16
    resident_rows 4, 0
    return_status 0
.Lthree:
    resident_rows 3, 0
    return_status 0
.Ltwo:
    resident_rows 2, 0
    return_status 0
.Lone:
    resident_rows 1, 0
    return_status 0

.Lno_columns:
    movi.n  sum, 0
    loop    rows, .Lno_columns_end
    s32i.n  sum, acc_next, 0
    add.n   acc_next, acc_next, acc_step
.Lno_columns_end:
    return_status 0

.Lbad_argument:
    return_status 1
.Ltoo_many_columns:
    return_status 2
.Lmisaligned:
    return_status 3
    end_function dot_rows_s8
