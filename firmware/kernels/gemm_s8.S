/* gemm_s8: every weight row against every activation row. numerics.md section 9; twin: dot_s8_c.c.
 *
 * int32_t gemm_s8(const int8_t *x, int32_t x_stride, int32_t rows, const int8_t *w, int32_t w_stride,
 *                 int32_t outs, int32_t cols, int32_t *acc, int32_t acc_stride)
 *
 * Weight rows are the outer loop: each comes from flash once and meets all activation rows in dot_rows_s8. With one
 * activation row the two sides change places (the sums are the same), so that the one row stays in registers.
 */
#include "function.inc"

#define x a2
#define x_stride a3
#define rows a4
#define w a5
#define w_stride a6
#define outs a7
#define cols a8             /* a8.. are the arguments a2.. of a function called by call8: kept on the stack */
#define acc a9
#define acc_stride a10
#define FRAME 64            /* outgoing argument, three words of locals, save areas */
#define ARGUMENT_ACC_STRIDE 0
#define LOCAL_COLS 16
#define LOCAL_ACC 20

    .macro check_arguments
    or      a11, rows, outs
    or      a11, a11, cols
    bltz    a11, .Lbad_argument
    blt     x_stride, cols, .Lbad_argument
    blt     w_stride, cols, .Lbad_argument
    blt     acc_stride, outs, .Lbad_argument
    movi    a11, 133144
    blt     a11, cols, .Ltoo_many_columns
    or      a11, x, w
    or      a11, a11, x_stride
    or      a11, a11, w_stride
    extui   a11, a11, 0, 4
    bnez    a11, .Lmisaligned
    .endm

    function gemm_s8, FRAME
    l32i    cols, a1, FRAME
    l32i    acc, a1, FRAME + 4
    l32i    acc_stride, a1, FRAME + 8
    check_arguments
    beqz    rows, .Ldone
    beqz    outs, .Ldone
    beqi    rows, 1, .Lone_row
    s32i    acc_stride, a1, ARGUMENT_ACC_STRIDE
    s32i    cols, a1, LOCAL_COLS
    s32i    acc, a1, LOCAL_ACC
.Lweight_row:
    l32i    a14, a1, LOCAL_COLS
    l32i    a15, a1, LOCAL_ACC
    mov.n   a10, x
    mov.n   a11, x_stride
    mov.n   a12, rows
    mov.n   a13, w
    call8   dot_rows_s8
    bnez    a10, .Lrefused
    l32i    a15, a1, LOCAL_ACC
    add.n   w, w, w_stride
    addi    a15, a15, 4
    s32i    a15, a1, LOCAL_ACC
    addi    outs, outs, -1
    bnez    outs, .Lweight_row
.Ldone:
    return_status 0

.Lone_row:
    mov.n   a15, acc
    mov.n   a14, cols
    mov.n   a13, x
    mov.n   a12, outs
    mov.n   a11, w_stride
    mov.n   a10, w
    movi.n  a8, 1
    s32i    a8, a1, ARGUMENT_ACC_STRIDE
    call8   dot_rows_s8
.Lrefused:
    mov.n   a2, a10
    retw.n

.Lbad_argument:
    return_status 1
.Ltoo_many_columns:
    return_status 2
.Lmisaligned:
    return_status 3
    end_function gemm_s8
