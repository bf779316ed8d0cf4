/* Kernels of the first part: numerics, quantizers, digests and integer dot products.
 *
 * Every function here is a *kernel* in the sense of docs/architecture.md: its mirror in
 * emu/kernels has the same name and the same parameters in the same order.
 * Strides count elements of the pointed-to type. Sizes are int32_t and may be 0 unless said otherwise.
 * Sections (8), (9) ... refer to docs/numerics.md.
 */
#ifndef EMU_KERNELS_H
#define EMU_KERNELS_H

#include <stdint.h>

enum emu_status {
    EMU_OK = 0,
    EMU_BAD_ARGUMENT = 1,
    EMU_TOO_MANY_COLUMNS = 2,
    EMU_MISALIGNED = 3,
    EMU_NOT_FINITE = 4,
    EMU_BAD_MODEL = 5,
    EMU_OUT_OF_MEMORY = 6,
};

#define EMU_MAX_COLUMNS 133144 /* (9): largest K whose int8 dot product fits int32 */

/* --- elementwise numerics: y[i] = f(x[i]), i in 0..n-1; no alignment rule, no status ------------- */
void rne_array(const float *x, int32_t *y, int32_t n);                          /* (2) */
void exp_array(const float *x, float *y, int32_t n);                            /* (3) */
void ln_array(const float *x, float *y, int32_t n);                             /* (4) x in (0,1], normal */
void sincos_turn_array(const float *u, float *sin_u, float *cos_u, int32_t n);  /* (5) u in [0,1) */
void turns_array(const float *p, float f, float *sin_u, float *cos_u, int32_t n); /* (5) 0 <= p*f < 2^23 */
void gelu_array(const float *x, float *y, int32_t n, const float *value, const float *slope); /* (7) tables [1024] */
void silu_array(const float *x, float *y, int32_t n);                           /* (7) */
void div_array(const float *a, const float *b, float *y, int32_t n);            /* (1) correctly rounded */
void sqrt_array(const float *x, float *y, int32_t n);                           /* (1) correctly rounded, sqrt(-0) = -0 */

/* --- random numbers (6) ------------------------------------------------------------------------- */
void fmix32_array(const uint32_t *x, uint32_t *y, int32_t n);
/* state[0] is read and left at the last state; a zero state is replaced first */
void xorshift32_array(uint32_t *state, uint32_t *y, int32_t n);
void normal_array(uint32_t *state, float *y, int32_t n);

/* --- digests (11) and CRC-32 (zlib polynomial, as zlib.crc32) ------------------------------------- */
/* Adds sum of mix(first + i, w_i) to *acc, wrapping: one rectangular piece of a stage. */
void digest_f32(const float *x, int32_t n, uint32_t first, uint64_t *acc);
void digest_s8(const int8_t *x, int32_t n, uint32_t first, uint64_t *acc);
void digest_u8(const uint8_t *x, int32_t n, uint32_t first, uint64_t *acc);
void digest_s32(const int32_t *x, int32_t n, uint32_t first, uint64_t *acc);
/* Adds mix(n, type): closes a stage of n elements. type 0 float32, 1 int8, 2 uint8, 3 int32. */
void digest_end(uint32_t n, uint32_t type, uint64_t *acc);
uint32_t crc32_bytes(uint32_t crc, const uint8_t *data, int32_t n); /* start with crc = 0 */

/* --- quantizers (8) ------------------------------------------------------------------------------- */
/* x [rows][x_stride], q [rows][q_stride], scale [rows]; cols >= 1. A row that is not finite: status 4,
 * *bad_row = its index, nothing is written for that row nor for later ones. */
int32_t quantize_row_s8(const float *x, int32_t x_stride, int8_t *q, int32_t q_stride, float *scale,
                        int32_t rows, int32_t cols, int32_t *bad_row);
void quantize_static_s8(const float *x, int8_t *q, int32_t n, float s);
/* BitLinear activations: one scale over the whole tensor; *a_scale = 127 / max(max|x|, 1e-5).
 * Not finite: status 4, nothing written. n >= 1. */
int32_t quantize_ternary_s8(const float *x, int8_t *q, int32_t n, float *a_scale);

/* --- integer dot products (9) ---------------------------------------------------------------------- */
/* acc[r * acc_stride] = sum over c of x[r * x_stride + c] * w[c], r in 0..rows-1.
 * x rows and w are zero-padded to a multiple of 16 columns; x, w 16-byte aligned, x_stride a multiple of 16
 * and >= cols: else status 3 (misaligned) or 1 (bad argument). cols > EMU_MAX_COLUMNS: status 2.
 * Order of checks: negative sizes or short strides (1), too many columns (2), alignment (3). */
int32_t dot_rows_s8(const int8_t *x, int32_t x_stride, int32_t rows, const int8_t *w, int32_t cols,
                    int32_t *acc, int32_t acc_stride);
int32_t dot_rows_s8_c(const int8_t *x, int32_t x_stride, int32_t rows, const int8_t *w, int32_t cols,
                      int32_t *acc, int32_t acc_stride);
/* acc[r * acc_stride + o] = dot(x row r, w row o), o in 0..outs-1. Same rules; w_stride as x_stride;
 * acc_stride >= outs. */
int32_t gemm_s8(const int8_t *x, int32_t x_stride, int32_t rows, const int8_t *w, int32_t w_stride,
                int32_t outs, int32_t cols, int32_t *acc, int32_t acc_stride);
int32_t gemm_s8_c(const int8_t *x, int32_t x_stride, int32_t rows, const int8_t *w, int32_t w_stride,
                  int32_t outs, int32_t cols, int32_t *acc, int32_t acc_stride);
/* Ternary (8): w is one packed row, 4 codes a byte, first in the low bits, code 0 1 2 = -1 0 +1, padded with
 * 01 to a multiple of 16 bytes (64 weights). acc[r * acc_stride] = sum of (code - 1) * x. x rows zero-padded to a
 * multiple of 16 columns. dot_rows_ternary (PIE): x, w 16-byte aligned and x_stride a multiple of 16, else status 3.
 * dot_rows_ternary_c takes any alignment and reads no padding. */
int32_t dot_rows_ternary(const int8_t *x, int32_t x_stride, int32_t rows, const uint8_t *w, int32_t cols,
                         int32_t *acc, int32_t acc_stride);
int32_t dot_rows_ternary_c(const int8_t *x, int32_t x_stride, int32_t rows, const uint8_t *w, int32_t cols,
                           int32_t *acc, int32_t acc_stride);
/* int4 (8): w is one packed row, two codes a byte, even column in the low nibble, two's complement, zero-padded to
 * a multiple of 16 bytes. group: a multiple of 16 (else status 1). acc[g] = sum over the columns of group g,
 * g in 0..ceil(cols/group)-1, the last group may be short. x zero-padded to a multiple of 16 columns.
 * dot_groups_int4 (PIE): x, w 16-byte aligned, else status 3. The _c twin takes any alignment, reads no padding. */
int32_t dot_groups_int4(const int8_t *x, const uint8_t *w, int32_t cols, int32_t group, int32_t *acc);
int32_t dot_groups_int4_c(const int8_t *x, const uint8_t *w, int32_t cols, int32_t group, int32_t *acc);

#endif
