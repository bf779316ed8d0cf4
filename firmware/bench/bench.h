/* The benchmark set: small programs of the usual kinds, for comparing engines.
 *
 * Each fills `work` (16-byte boundary, bytes as stated beside it) from `seed` (not 0), works `rounds` times and
 * returns a checksum. Everything it computes stays in `work`, so that a digest of the memory says more than the
 * checksum does. No high multiplication (muluh, mulsh) and nothing wider than 32 bits: other cores lack it.
 */
#ifndef EMU_BENCH_H
#define EMU_BENCH_H

#include <stdint.h>

typedef uint32_t bench_program(void *work, uint32_t size, uint32_t seed, uint32_t rounds);

bench_program bench_crc32;       /* size bytes;            1024 + size */
bench_program bench_sort;        /* size words;            8 * size */
bench_program bench_matrix;      /* size rows and columns; 12 * size * size */
bench_program bench_fft;         /* size points, 2^n >= 2; 12 * size */
bench_program bench_search;      /* size bytes, >= 16;     1024 + size + 16 */
bench_program bench_fibonacci;   /* the size-th number;    4 */
bench_program bench_ackermann;   /* A(2, size);            4 */
bench_program bench_random;      /* size words;            1024 + 4 * size */
bench_program bench_gemm;        /* size columns;          48 * size + 2048 */
bench_program bench_softmax;     /* size floats;           8 * size */
bench_program bench_interpreter; /* counts from size;      128 */
bench_program bench_sha256;      /* size bytes;            416 + size */
bench_program bench_nbody;       /* size bodies;           28 * size */
bench_program bench_sieve;       /* numbers below size >= 16; size */
bench_program bench_huffman;     /* size bytes;            1344 + 3 * size */
bench_program bench_queens;      /* size <= 16 columns;    4 */
bench_program bench_format;      /* size lines;            96 * size + 4 */

static inline uint32_t bench_next(uint32_t *state)
{
    uint32_t x = *state;
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    *state = x;
    return x;
}

static inline uint32_t bench_mix(uint32_t hash, uint32_t value)
{
    hash = (hash ^ value) * 0x85EBCA6Bu;
    return hash ^ (hash >> 13);
}

#endif
