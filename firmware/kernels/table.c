/* emu_kernel_table: every function of emu_kernels.h, in its order. */
#include "emu_table.h"
#include <stddef.h>
#include "emu_kernels.h"

#define KERNEL(symbol) {#symbol, (emu_function)symbol}

const struct emu_kernel emu_kernel_table[] __attribute__((section(".emu_kernels"), used)) = {
    KERNEL(rne_array),
    KERNEL(exp_array),
    KERNEL(ln_array),
    KERNEL(sincos_turn_array),
    KERNEL(turns_array),
    KERNEL(gelu_array),
    KERNEL(silu_array),
    KERNEL(div_array),
    KERNEL(sqrt_array),
    KERNEL(fmix32_array),
    KERNEL(xorshift32_array),
    KERNEL(normal_array),
    KERNEL(digest_f32),
    KERNEL(digest_s8),
    KERNEL(digest_u8),
    KERNEL(digest_s32),
    KERNEL(digest_end),
    KERNEL(crc32_bytes),
    KERNEL(quantize_row_s8),
    KERNEL(quantize_static_s8),
    KERNEL(quantize_ternary_s8),
    KERNEL(dot_rows_s8),
    KERNEL(dot_rows_s8_c),
    KERNEL(gemm_s8),
    KERNEL(gemm_s8_c),
    KERNEL(dot_rows_ternary),
    KERNEL(dot_rows_ternary_c),
    KERNEL(dot_groups_int4),
    KERNEL(dot_groups_int4_c),
    {NULL, NULL},
};
