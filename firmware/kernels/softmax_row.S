/* softmax_row: see softmax_row.h. numerics.md sections 2, 3 and 10; twin: softmax_row_c.c.
 *
 * exp_f32 without branches: l - max is never positive nor NaN, so of its three tests only the lower end is left. The
 * bits of t + 1.5 * 2^23 end with the integer that t rounds to; shifted left by 23 nothing else is left of them.
 */
#include "function.inc"

#define row a2
#define scores a3
#define count a4
#define o a5
#define sk a6
#define top a7
#define word a8
#define other a9
#define padding a10

#define f_x f0
#define f_t f1
#define f_n f2
#define f_p f3
#define f_max f4
#define f_low f5
#define f_log2e f6
#define f_magic f7
#define f_c3 f8
#define f_c2 f9
#define f_c1 f10
#define f_one f11
#define f_127 f12
#define f_zero f13
#define f_sum f14

    .macro constant register, bits
    movi    word, \bits
    wfr     \register, word
    .endm

/* Logits in place of the scores, the largest, and twice the largest magnitude. */
    .macro logits
    lsi     f_c1, row, 20       /* sq */
    lsi     f_c2, row, 24       /* 1/sqrt(dh) */
    constant f_max, 0xFF800000
    movi.n  top, 0
    loop    count, .Llogits_end
    lsip    f_x, sk, 4
    l32i.n  word, scores, 0
    mul.s   f_x, f_c1, f_x
    float.s f_t, word, 0
    mul.s   f_x, f_x, f_c2
    mul.s   f_t, f_t, f_x
    rfr     word, f_t
    ssip    f_t, scores, 4
    olt.s   b0, f_max, f_t
    movt.s  f_max, f_t, b0
    slli    word, word, 1
    maxu    top, top, word
.Llogits_end:
    .endm

    .macro constants
    constant f_low, 0xC2AE0000      /* -87 */
    constant f_log2e, 0x3FB8AA3B
    constant f_magic, 0x4B400000    /* 1.5 * 2^23 */
    constant f_c3, 0x3D61512E
    constant f_c2, 0x3E780627
    constant f_c1, 0x3F317AFD
    constant f_one, 0x3F800000
    constant f_127, 0x42FE0000
    constant f_zero, 0
    wfr     f_sum, word
    .endm

    .macro exponential
    lsip    f_x, scores, 4
    sub.s   f_x, f_x, f_max
    olt.s   b0, f_x, f_low
    mul.s   f_t, f_x, f_log2e
    add.s   f_n, f_t, f_magic
    rfr     word, f_n
    sub.s   f_n, f_n, f_magic
    slli    word, word, 23
    sub.s   f_t, f_t, f_n
    mul.s   f_p, f_c3, f_t
    add.s   f_p, f_p, f_c2
    mul.s   f_p, f_p, f_t
    add.s   f_p, f_p, f_c1
    mul.s   f_p, f_p, f_t
    add.s   f_p, f_p, f_one
    rfr     other, f_p
    add.n   word, word, other
    wfr     f_p, word
    movt.s  f_p, f_zero, b0
    .endm

    function softmax_row, 32
    l32i.n  scores, row, 0
    l32i.n  count, row, 4
    l32i.n  o, row, 12
    l32i.n  sk, row, 16
    logits
    movi    word, 0xFF000000
    bgeu    top, word, .Lnot_finite
    constants
    l32i.n  scores, row, 0
    loop    count, .Lexponentials_end
    exponential
    add.s   f_sum, f_sum, f_p
    mul.s   f_p, f_p, f_127
    add.s   f_p, f_p, f_magic
    rfr     other, f_p
    s8i     other, o, 0
    addi.n  o, o, 1
.Lexponentials_end:
    ssi     f_sum, row, 28
    l32i.n  padding, row, 8
    movi.n  word, 0
    sub     padding, padding, count
    loopnez padding, .Lpadding_end
    s8i     word, o, 0
    addi.n  o, o, 1
.Lpadding_end:
    return_status 0
.Lnot_finite:
    return_status 4
    end_function softmax_row
