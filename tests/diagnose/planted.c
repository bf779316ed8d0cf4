/* Small kernels, each with one fault of a known kind; the mirrors in planted_kernels.py say what is right. */
#include <stdint.h>

void _start(void)
{
    for (;;)
        ;
}

#define EACH for (int32_t i = 0; i < n; i++)

static int8_t limited(int32_t v, int32_t low)
{
    return (int8_t)(v < low ? low : v > 127 ? 127 : v);
}

/* --- rounding: quarters to int8, right is half to even, limited to +-127 ------------------------------- */
void half_away(const int32_t *x, int8_t *y, int32_t n)
{
    EACH {
        float v = (float)x[i] * 0.25f;
        y[i] = limited((int32_t)(v < 0.0f ? v - 0.5f : v + 0.5f), -127);
    }
}

void half_up(const int32_t *x, int8_t *y, int32_t n)
{
    EACH y[i] = limited((x[i] + 2) >> 2, -127);
}

void truncating(const int32_t *x, int8_t *y, int32_t n)
{
    EACH y[i] = limited((int32_t)((float)x[i] * 0.25f), -127);
}

/* --- clamp ------------------------------------------------------------------------------------------------ */
void clamp_128(const int32_t *x, int8_t *y, int32_t n)
{
    EACH y[i] = limited(x[i], -128);
}

void clamp_127(const int32_t *x, int8_t *y, int32_t n)
{
    EACH y[i] = limited(x[i], -127);
}

/* --- requantization: right rounds twice ------------------------------------------------------------------- */
void requant_once(const int32_t *acc, int32_t mult, int32_t shift, int32_t *y, int32_t n)
{
    EACH y[i] = (int32_t)(((int64_t)acc[i] * mult + ((int64_t)1 << (30 + shift))) >> (31 + shift));
}

/* --- accumulators -------------------------------------------------------------------------------------------- */
void acc16(const int8_t *x, const int8_t *w, int32_t *y, int32_t n)
{
    int16_t sum = 0;
    EACH sum = (int16_t)(sum + x[i] * w[i]);
    y[0] = sum;
}

void sat16(const int8_t *x, const int8_t *w, int32_t *y, int32_t n)
{
    int32_t sum = 0;
    EACH {
        sum += x[i] * w[i];
        sum = sum > 32767 ? 32767 : sum < -32768 ? -32768 : sum;
    }
    y[0] = sum;
}

void low32(const int32_t *x, const int32_t *w, int32_t *y, int32_t n)
{
    EACH y[i] = (int32_t)((uint32_t)x[i] * (uint32_t)w[i]);
}

/* --- order of packed codes ----------------------------------------------------------------------------------- */
void nibbles(const int8_t *x, const uint8_t *w, int32_t *y, int32_t n)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < n; i++) {
        int32_t byte = w[i];
        sum += x[2 * i] * ((byte >> 4 ^ 8) - 8) + x[2 * i + 1] * (((byte & 15) ^ 8) - 8);
    }
    y[0] = sum;
}

void codes(const int8_t *x, const uint8_t *w, int32_t *y, int32_t n)
{
    int32_t sum = 0;
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = 0; k < 4; k++)
            sum += x[4 * i + k] * ((w[i] >> (6 - 2 * k) & 3) - 1);
    y[0] = sum;
}

/* --- where things are read ------------------------------------------------------------------------------------- */
void next_scale(const int32_t *x, const float *scale, float *y, int32_t n)
{
    EACH y[i] = (float)x[i] * scale[i + 1];
}

void stride_lost(const int8_t *x, int32_t x_stride, int32_t rows, int32_t cols, int32_t *y)
{
    (void)x_stride;
    for (int32_t r = 0; r < rows; r++) {
        y[r] = 0;
        for (int32_t c = 0; c < cols; c++)
            y[r] += (c + 1) * x[r * cols + c];
    }
}

void transposed(const int8_t *w, const int8_t *x, int32_t *y, int32_t rows, int32_t cols)
{
    for (int32_t r = 0; r < rows; r++) {
        y[r] = 0;
        for (int32_t c = 0; c < cols; c++)
            y[r] += w[c * rows + r] * x[c];
    }
}

void one_group_less(const int32_t *sums, const float *scale, float *y, int32_t rows, int32_t groups)
{
    for (int32_t r = 0; r < rows; r++) {
        float total = 0.0f;
        for (int32_t g = 0; g < groups; g++)
            total = total + (float)sums[r * groups + g] * scale[r * (groups - 1) + g];
        y[r] = total;
    }
}

/* between narrow limits most values come out the same; `work` is nobody's business */
void between_limits(const int8_t *x, const int8_t *w, int32_t n, int32_t offset, int32_t lowest, int32_t highest,
                    int32_t *work, int8_t *y)
{
    EACH {
        int32_t v = (x[i] + offset) * w[i];
        work[i] = v + 1;
        v = (v >> 3) + (v % 5 == 0);
        y[i] = v < lowest ? lowest : v > highest ? highest : v;
    }
}

/* --- memory ------------------------------------------------------------------------------------------------------ */
void reads_padding(const int8_t *x, int32_t n, int32_t *y)
{
    y[0] = 0;
    for (int32_t i = 0; i < ((n + 3) & ~3); i++)
        y[0] += x[i];
}

void reads_behind(const int8_t *x, int32_t n, int32_t *y)
{
    y[0] = 0;
    for (int32_t i = 0; i <= n; i++)
        y[0] += x[i];
}

void never_set(const int32_t *x, int32_t n, int32_t *y)
{
    volatile int32_t kept[4];
    EACH y[i] = x[i] + (kept[2] & 0xFF);
}

void misaligned(const int8_t *x, int8_t *y)
{
    __asm__ volatile("ee.vld.128.ip q0, %0, 0\n\tee.vst.128.ip q0, %1, 0" : "+r"(x), "+r"(y) : : "memory");
}

/* --- floats ------------------------------------------------------------------------------------------------------- */
void nan_lost(const float *x, float *y, int32_t n)
{
    EACH y[i] = x[i] > 0.0f ? x[i] : 0.0f;
}

void contracted(const float *a, const float *b, const float *c, float *y, int32_t n)
{
    EACH {
        float sum = c[i];
        __asm__("madd.s %0, %1, %2" : "+f"(sum) : "f"(a[i]), "f"(b[i]));
        y[i] = sum;
    }
}

/* --- faults of no known kind ---------------------------------------------------------------------------------------- */
void one_value(const int32_t *x, int8_t *y, int32_t n)
{
    EACH y[i] = (int8_t)(x[i] == 77 ? 78 : x[i]);
}

void every_seventh(const int8_t *x, const int8_t *w, int32_t *y, int32_t n)
{
    y[0] = 0;
    EACH y[0] += x[i] * w[i] + (i % 7 == 5 ? 3 : 0);
}

void wrong_constant(const float *x, float *y, int32_t n)
{
    EACH y[i] = x[i] * 0.333f;
}

void last_left_out(const int8_t *x, const int8_t *w, int32_t *y, int32_t n)
{
    y[0] = 0;
    for (int32_t i = 0; i < n - 1; i++)
        y[0] += x[i] * w[i];
}
