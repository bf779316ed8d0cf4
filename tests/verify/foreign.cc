/* Functions of somebody's firmware: every kind of parameter that a spec can describe, and some that it cannot. */
#include <stddef.h>
#include <stdint.h>

#define OUTSIDE __attribute__((noipa))

class Scale {
  public:
    explicit Scale(int m) : mult(m), calls(0) {}
    virtual int apply(int x) const { return x * mult; }
    __attribute__((noinline)) void run(const int8_t *x, int16_t *y, int n)
    {
        calls++;
        for (int i = 0; i < n; i++)
            y[i] = apply(x[i]);
    }
    int mult;
    int calls;
};

Scale g_scale(3);

void touch(Scale &scale, const int8_t *x, int16_t *y, int n) { scale.run(x, y, n); }
int twice(int x) { return 2 * x; }
float twice(float x) { return 2 * x; }

extern "C" {
void *memcpy(void *, const void *, size_t);
OUTSIDE void *malloc(size_t) { __builtin_trap(); }
OUTSIDE void free(void *) { __builtin_trap(); }
OUTSIDE int sensor(int channel) { return *(volatile int *)(0x60040000 + 4 * channel); }

typedef struct {
    int32_t mult;
    int8_t shift;
} quant_t;
typedef struct {
    const int8_t *w;
    const int32_t *bias;
    quant_t q;
    int32_t acc[4];
    int (*act)(int);
} layer_t;
typedef struct {
    int16_t lo, hi;
} pair_t;
typedef struct {
    double a;
    int64_t b;
} wide_t;
typedef struct {
    int32_t v[5];
} big_t;
typedef struct {
    int8_t lane[16];
} __attribute__((aligned(16))) vector_t;

int8_t *g_table[3];
int32_t g_zero = 5;
const int32_t g_constant[2] = { 1, 2 };
int (*g_hook)(int, float);

void layer(layer_t *l, const int8_t *x, int8_t *y, int rows, int cols)
{
    for (int r = 0; r < rows; r++) {
        int32_t s = l->bias[r];
        for (int c = 0; c < cols; c++)
            s += l->w[r * cols + c] * x[c];
        s = (int32_t)(((int64_t)s * l->q.mult) >> (l->q.shift + 16));
        l->acc[r & 3] = (int32_t)((uint32_t)l->acc[r & 3] + (uint32_t)s);
        s = l->act(s);
        y[r] = s > 127 ? 127 : s < -128 ? -128 : s;
    }
}

pair_t limits(const int8_t *x, int n)
{
    pair_t p = { 127, -128 };
    for (int i = 0; i < n; i++) {
        p.lo = x[i] < p.lo ? x[i] : p.lo;
        p.hi = x[i] > p.hi ? x[i] : p.hi;
    }
    return p;
}

wide_t by_value(int k, wide_t w, quant_t q)
{
    w.a = w.a * q.mult + k;
    w.b = w.b * q.shift;
    return w;
}

int64_t later(int a, int b, int c, quant_t q, wide_t w, int8_t z)
{
    return a + 2 * b + 3 * c + q.mult + q.shift * 5 + w.b + (int64_t)w.a + z;
}

int lookup(int i, int n)
{
    int s = g_constant[0] - 1;
    for (int k = 0; k < n; k++)
        s += g_table[1][k] * (k + i);
    g_zero += s;
    return g_hook(s, 0.5f) + g_zero;
}

void inplace(int8_t *x, int8_t *y, int n, int16_t *tmp)
{
    for (int i = 0; i < n; i++)
        tmp[i] = x[i] * 2;
    for (int i = 0; i < n; i++)
        y[i] = tmp[n - 1 - i];
}

int heapy(const int8_t *x, int n, int leak)
{
    int8_t *p = (int8_t *)malloc(n);
    int s = 0;
    memcpy(p, x, n);
    for (int i = 0; i < n; i++)
        s += p[i];
    if (!leak)
        free(p);
    return s;
}

double poly(double x, double y, int64_t k) { return x * y + (double)k; }
int first_lane(const vector_t *v) { return v->lane[0] + (int)((uintptr_t)v & 15); }
int measure(int n) { return sensor(n) + 1; }

int any_number(int n, ...)
{
    __builtin_va_list list;
    __builtin_va_start(list, n);
    int s = __builtin_va_arg(list, int);
    __builtin_va_end(list);
    return s + n;
}

big_t big(int x) { return { { x, x, x, x, x } }; }
}
