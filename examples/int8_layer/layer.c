#include "layer.h"

#include "esp.h"

static const char *TAG = "dense";

/* The high half of 2 * a * b, rounded to nearest; the one product that does not fit is saturated. */
static int32_t doubling_high_mul(int32_t a, int32_t b)
{
    if (a == INT32_MIN && b == INT32_MIN)
        return INT32_MAX;
    int64_t product = (int64_t)a * b;
    int64_t nudge = product >= 0 ? 1 << 30 : 1 - (1 << 30);
    return (int32_t)((product + nudge) / (1LL << 31));
}

/* x / 2^exponent, rounded to nearest, halves away from zero. */
static int32_t rounding_shift(int32_t x, int exponent)
{
    int32_t mask = (int32_t)((1LL << exponent) - 1);
    int32_t rest = x & mask;
    int32_t half = (mask >> 1) + (x < 0);
    return (x >> exponent) + (rest > half);
}

__attribute__((noinline)) int32_t requantize(int32_t sum, int32_t multiplier, int shift)
{
    int left = shift > 0 ? shift : 0;
    int right = shift > 0 ? 0 : -shift;
    return rounding_shift(doubling_high_mul((int32_t)((uint32_t)sum << left), multiplier), right);
}

static IRAM_ATTR __attribute__((noinline)) void add_products(const int8_t *row, const int8_t *input, int32_t offset,
                                                             int cols, int32_t *sum)
{
    for (int c = 0; c < cols; c++)
        *sum += row[c] * (input[c] + offset);
}

int dense_s8(const int8_t *input, const int8_t *weights, const int32_t *bias, const requant_t *requant, int rows, int cols,
             int8_t *output)
{
    int32_t *sums = heap_caps_malloc(rows * sizeof(*sums), MALLOC_CAP_INTERNAL | MALLOC_CAP_8BIT);
    if (sums == NULL)
        return -1;
    memcpy(sums, bias, rows * sizeof(*sums));
    for (int r = 0; r < rows; r++)
        add_products(weights + r * cols, input, requant->input_offset, cols, &sums[r]);
    for (int r = 0; r < rows; r++) {
        int32_t v = requantize(sums[r], requant->multiplier[r], requant->shift[r]) + requant->output_offset;
        v = v < requant->lowest ? requant->lowest : v;
        output[r] = (int8_t)(v > requant->highest ? requant->highest : v);
    }
    heap_caps_free(sums);
    ESP_LOGI(TAG, "%d outputs", rows);
    return 0;
}
