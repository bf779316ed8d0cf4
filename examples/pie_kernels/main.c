#include "esp.h"

extern int32_t dot_s8(const int8_t *x, const int8_t *w, int n, int shift);
extern void add_relu_s8(const int8_t *a, const int8_t *b, int8_t *y, int n);

static DRAM_ATTR int8_t a[32] __attribute__((aligned(16))) = { 1, -2, 3 };
static int8_t y[32] __attribute__((aligned(16)));

void app_main(void)
{
    add_relu_s8(a, a, y, 32);
    ESP_LOGI("pie", "%d", (int)dot_s8(a, y, 32, 0));
}
