/* Fast Fourier transform of complex floats, radix 2, in place; forward and back again. */
#include "../numerics/sincos.h"
#include "bench.h"

typedef struct {
    float re;
    float im;
} complex;

static void reverse_bits(complex *x, uint32_t n)
{
    for (uint32_t i = 1, j = 0; i < n; i++) {
        uint32_t bit = n >> 1;
        for (; j & bit; bit >>= 1)
            j ^= bit;
        j ^= bit;
        if (i < j) {
            complex kept = x[i];
            x[i] = x[j];
            x[j] = kept;
        }
    }
}

static void transform(complex *x, const complex *roots, uint32_t n)
{
    reverse_bits(x, n);
    for (uint32_t half = 1, step = n >> 1; half < n; half <<= 1, step >>= 1)
        for (uint32_t start = 0; start < n; start += 2 * half)
            for (uint32_t k = 0; k < half; k++) {
                complex w = roots[k * step], a = x[start + k], b = x[start + k + half];
                complex t = {b.re * w.re - b.im * w.im, b.re * w.im + b.im * w.re};
                x[start + k] = (complex){a.re + t.re, a.im + t.im};
                x[start + k + half] = (complex){a.re - t.re, a.im - t.im};
            }
}

/* Swapping the parts before and after makes the forward transform the inverse one. */
static void swap_parts(complex *x, uint32_t n, float scale)
{
    for (uint32_t i = 0; i < n; i++)
        x[i] = (complex){x[i].im * scale, x[i].re * scale};
}

static void fill(complex *x, complex *roots, uint32_t n, float one_nth, uint32_t seed)
{
    for (uint32_t i = 0; i < n; i++) {
        x[i].re = (float)(int32_t)bench_next(&seed);
        x[i].im = (float)(int32_t)bench_next(&seed);
    }
    for (uint32_t i = 0; i < n / 2; i++) {
        sincos_f32 angle = sincos_turn((float)i * one_nth);
        roots[i] = (complex){angle.cos, -angle.sin};
    }
}

uint32_t bench_fft(void *work, uint32_t size, uint32_t seed, uint32_t rounds)
{
    complex *x = work, *roots = x + size;
    float one_nth = 1.0f;
    for (uint32_t n = size; n > 1; n >>= 1)
        one_nth *= 0.5f;
    fill(x, roots, size, one_nth, seed);
    for (uint32_t round = 0; round < rounds; round++) {
        transform(x, roots, size);
        swap_parts(x, size, one_nth);
        transform(x, roots, size);
        swap_parts(x, size, 1.0f);
    }
    uint32_t hash = seed;
    for (uint32_t i = 0; i < size; i++)
        hash = bench_mix(bench_mix(hash, f32_bits(x[i].re)), f32_bits(x[i].im));
    return hash;
}
