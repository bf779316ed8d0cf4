/* linear_row_q8: see linear_row.h. numerics.md sections 9 and 10; twin: linear_row_c.c.
 *
 * Six vectors of weights at a time stay in q0..q5 for all rows, the rows pass through q6 and q7. Each
 * multiply-accumulate fetches the vector that takes the place of its own one, across the end of a row too, so a row
 * costs one cycle per 16 columns. Between two sixes the 40-bit sums wait in memory. The last panel
 * weaves the conversion of one row into the sum of the next: an FPU result is not used at once. No vector beyond the
 * last row is fetched: read are 16 * blocks bytes of each row and of w.
 */
#include "function.inc"

#define sums_in a2          /* first the argument */
#define x a3
#define x_stride a4
#define sx_next a5
#define rows a6
#define w a7
#define blocks a8           /* not yet done */
#define y_next a9
#define y_step a10          /* bytes */
#define sums a11
#define x_next a12
#define step a13            /* from the last vector of a row to the next row */
#define sum a14
#define sums_out a15
#define FRAME 32
#define PANEL 6

#define f_product f0
#define f_scale f1
#define f_y f2
#define f_sw f3
#define f_b f4

    .macro load_weights vectors
    .irp    i, 0, 1, 2, 3, 4, 5
    .if \i < \vectors
    ee.vld.128.ip q\i, w, 16
    .endif
    .endr
    .endm

/* With an odd number of vectors the two registers change places from row to row: the next row's vector 1 is fetched
 * before its vector 0. */
    .macro start_rows vectors
    .if (\vectors == 3) || (\vectors == 5)
    addi    step, x_stride, -16 * (\vectors - 2)
    .else
    addi    step, x_stride, -16 * (\vectors - 1)
    .endif
    mov.n   x_next, x
    .if \vectors == 1
    ee.vld.128.xp q6, x_next, step
    .else
    ee.vld.128.ip q6, x_next, 16
    .if \vectors == 2
    ee.vld.128.xp q7, x_next, step
    .else
    ee.vld.128.ip q7, x_next, 16
    .endif
    .endif
    .endm

    .macro mac q_x, q_w, vectors, i, prefetch
    .if ((\i + 2) == (\vectors - 1)) || (\prefetch && ((\vectors == 1) || ((\vectors == 2) && (\i == 1))))
    ee.vmulas.s8.accx.ld.xp \q_x, x_next, step, \q_x, \q_w
    .elseif ((\i + 2) < \vectors) || (\prefetch && ((\vectors & 1) == 0))
    ee.vmulas.s8.accx.ld.ip \q_x, x_next, 16, \q_x, \q_w
    .elseif \prefetch && (\i == (\vectors - 2))
    ee.vmulas.s8.accx.ld.ip \q_x, x_next, -16, \q_x, \q_w
    .elseif \prefetch
    ee.vmulas.s8.accx.ld.ip \q_x, x_next, 32, \q_x, \q_w
    .else
    ee.vmulas.s8.accx \q_x, \q_w
    .endif
    .endm

    .macro if_emit emit, instruction:vararg
    .if \emit
    \instruction
    .endif
    .endm

/* The sum of one row to ACCX; emit: meanwhile the result of the row before, whose dot product is in `sum`. */
    .macro row vectors, more, prefetch, emit, add
    .if \more
    ee.ld.accx.ip sums_in, 8
    .else
    ee.zero.accx
    .endif
    if_emit \emit, float.s f_product, sum, 0
    mac     q6, q0, \vectors, 0, \prefetch
    if_emit \emit, lsip f_scale, sx_next, 4
    .if \vectors > 1
    mac     q7, q1, \vectors, 1, \prefetch
    .endif
    .if \emit && \add
    lsi     f_y, y_next, 0
    .endif
    .if \vectors > 2
    mac     q6, q2, \vectors, 2, \prefetch
    .endif
    if_emit \emit, mul.s f_scale, f_scale, f_sw
    .if \vectors > 3
    mac     q7, q3, \vectors, 3, \prefetch
    .endif
    .if \vectors > 4
    mac     q6, q4, \vectors, 4, \prefetch
    .endif
    if_emit \emit, mul.s f_product, f_product, f_scale
    .if \vectors > 5
    mac     q7, q5, \vectors, 5, \prefetch
    .endif
    .endm

    .macro finish_emit add
    .if \add
    add.s   f_product, f_y, f_product
    .else
    add.s   f_product, f_product, f_b
    .endif
    ssxp    f_product, y_next, y_step
    .endm

    .macro take_sum emit, add
    rur.accx_0 sum
    .if \emit
    finish_emit \add
    .endif
    .endm

/* A full panel whose sums go to memory. */
    .macro raw_panel more
    load_weights PANEL
    start_rows PANEL
    mov.n   sums_in, sums
    mov.n   sums_out, sums
    addi.n  sum, rows, -1
    loopnez sum, .Lraw_end\@
    row     PANEL, \more, 1, 0, 0
    ee.st.accx.ip sums_out, 8
.Lraw_end\@:
    row     PANEL, \more, 0, 0, 0
    ee.st.accx.ip sums_out, 8
    .endm

/* The last panel. */
    .macro last_panel vectors, more, add, tail
    load_weights \vectors
    start_rows \vectors
    mov.n   sums_in, sums
    beqi    rows, 1, .Lonly_row\@
    row     \vectors, \more, 1, 0, 0
    take_sum 0, 0
    addi.n  sums_out, rows, -2
    loopnez sums_out, .Llast_end\@
    row     \vectors, \more, 1, 1, \add
    take_sum 1, \add
.Llast_end\@:
    row     \vectors, \more, 0, 1, \add
    take_sum 1, \add
    j       \tail
.Lonly_row\@:
    row     \vectors, \more, 0, 0, 0
    take_sum 0, 0
    j       \tail
    .endm

    .macro last_panels more, add, tail
    beqi    blocks, 6, .Lsix\@
    beqi    blocks, 4, .Lfour\@
    beqi    blocks, 3, .Lthree\@
    beqi    blocks, 2, .Ltwo\@
    beqi    blocks, 1, .Lone\@
    last_panel 5, \more, \add, \tail
.Lsix\@:
    last_panel 6, \more, \add, \tail
.Lfour\@:
    last_panel 4, \more, \add, \tail
.Lthree\@:
    last_panel 3, \more, \add, \tail
.Ltwo\@:
    last_panel 2, \more, \add, \tail
.Lone\@:
    last_panel 1, \more, \add, \tail
    .endm

    .macro emit_row add
    float.s f_product, sum, 0
    lsip    f_scale, sx_next, 4
    .if \add
    lsi     f_y, y_next, 0
    .endif
    mul.s   f_scale, f_scale, f_sw
    mul.s   f_product, f_product, f_scale
    finish_emit \add
    .endm

    function linear_row_q8, FRAME
    l32i    x, a2, 0
    l32i    x_stride, a2, 4
    l32i    sx_next, a2, 8
    l32i    rows, a2, 12
    l32i    w, a2, 16
    l32i    blocks, a2, 20
    lsi     f_sw, a2, 24
    lsi     f_b, a2, 28
    l32i    y_next, a2, 32
    l32i    y_step, a2, 36
    l32i    sums, a2, 40
    l32i    a12, a2, 44
    slli    y_step, y_step, 2
    beqz    blocks, .Lno_columns
    bnez    a12, .Ladd
    blti    blocks, 7, .Lset_first
    raw_panel 0
.Lset_more:
    addi    x, x, 16 * PANEL
    addi    blocks, blocks, -PANEL
    blti    blocks, 7, .Lset_last
    raw_panel 1
    j       .Lset_more
.Lset_last:
    last_panels 1, 0, .Lset_tail
.Lset_first:
    last_panels 0, 0, .Lset_tail
.Lset_tail:
    emit_row 0
    retw.n

.Ladd:
    blti    blocks, 7, .Ladd_first
    raw_panel 0
.Ladd_more:
    addi    x, x, 16 * PANEL
    addi    blocks, blocks, -PANEL
    blti    blocks, 7, .Ladd_last
    raw_panel 1
    j       .Ladd_more
.Ladd_last:
    last_panels 1, 1, .Ladd_tail
.Ladd_first:
    last_panels 0, 1, .Ladd_tail
.Ladd_tail:
    emit_row 1
    retw.n

.Lno_columns:
    movi.n  sum, 0
    bnez    a12, .Lno_columns_add
    loop    rows, .Lno_columns_end
    emit_row 0
.Lno_columns_end:
    retw.n
.Lno_columns_add:
    loop    rows, .Lno_columns_add_end
    emit_row 1
.Lno_columns_add_end:
    retw.n
    end_function linear_row_q8
