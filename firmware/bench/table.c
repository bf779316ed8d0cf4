/* The programs by name, in the place of the kernels of the other image. */
#include "../include/emu_table.h"
#include <stddef.h>
#include "bench.h"

#define PROGRAM(symbol) {#symbol, (emu_function)symbol}

const struct emu_kernel emu_kernel_table[] __attribute__((section(".emu_kernels"), used)) = {
    PROGRAM(bench_crc32),
    PROGRAM(bench_sort),
    PROGRAM(bench_matrix),
    PROGRAM(bench_fft),
    PROGRAM(bench_search),
    PROGRAM(bench_fibonacci),
    PROGRAM(bench_ackermann),
    PROGRAM(bench_random),
    PROGRAM(bench_gemm),
    PROGRAM(bench_softmax),
    PROGRAM(bench_interpreter),
    PROGRAM(bench_sha256),
    PROGRAM(bench_nbody),
    PROGRAM(bench_sieve),
    PROGRAM(bench_huffman),
    PROGRAM(bench_queens),
    PROGRAM(bench_format),
    {NULL, NULL},
};
