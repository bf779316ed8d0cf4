/* Calls of ROM and system functions, for test_rom_system.py */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
void *memset(void *, int, size_t); size_t strlen(const char *); char *strtok_r(char *, const char *, char **);
long strtol(const char *, char **, int); int atoi(const char *); char *itoa(int, char *, int);
void qsort(void *, size_t, size_t, int (*)(const void *, const void *));
uint32_t esp_rom_crc32_le(uint32_t, const uint8_t *, uint32_t); uint32_t crc16_be(uint32_t, const uint8_t *, uint32_t);
int ets_printf(const char *, ...); void ets_delay_us(uint32_t);
/* what the application brings and an operating system would run */
#define OWN __attribute__((noinline, noclone))
OWN void *malloc(size_t n) { __asm__ volatile("ill"); return (void *)n; }
OWN void free(void *p) { __asm__ volatile("ill"); (void)p; }
OWN void *heap_caps_aligned_alloc(size_t a, size_t n, uint32_t c)
{
    __asm__ volatile("ill");
    return (void *)(a + n + c);
}
OWN void esp_log_writev(int level, const char *tag, const char *f, va_list l)
{
    __asm__ volatile("ill");
}
OWN void esp_log_write(int level, const char *tag, const char *f, ...) { __asm__ volatile("ill"); }
OWN int xQueueSemaphoreTake(void *q, uint32_t t) { __asm__ volatile("ill"); return 0; }
OWN int xTaskCreatePinnedToCore(void *q) { __asm__ volatile("ill"); return 0; }
OWN void abort(void) { __asm__ volatile("ill"); for (;;); }
OWN void __assert_func(const char *a, int b, const char *c, const char *d)
{
    __asm__ volatile("ill");
    for (;;);
}
OWN void forward(const char *f, ...)
{
    va_list l;
    va_start(l, f);
    esp_log_writev(1, "t", f, l);
    va_end(l);
}
OWN int *__errno(void) { __asm__ volatile("ill"); return 0; }

int error(int n) { *__errno() += n; *__errno() += n; return *__errno(); }
int sums(int n)
{
    uint8_t *p = malloc(n);
    int s = 0;
    for (int i = 0; i < n; i++) p[i] = i;
    for (int i = 0; i < n; i++) s += p[i];
    free(p);
    return s;
}
void *keep(int n) { return malloc(n); }
void *line(int a, int n) { return heap_caps_aligned_alloc(a, n, 0); }
void over(int n) { uint8_t *p = malloc(n); p[n + 2] ^= 1; free(p); }
void twice(void) { void *p = malloc(4); free(p); free(p); }
void wild(void) { free((void *)0x3FC98000); }
int after(void) { int *p = malloc(4); free(p); *p = 7; return 1; }
void prints(int a, int64_t b, double c)
{
    ets_printf("a %d b %lld c %.3f %s\n", a, b, c, "end");
    ets_printf("no newline");
}
void logs(int a, double b)
{
    esp_log_write(3, "tag", "I (%u) %s: %d\n", 5, "tag", a);
    forward("%d %d %d %d %d %d %.2f %d\n", 1, 2, 3, 4, 5, 6, b, a);
}
int locked(void) { ets_delay_us(10); return xQueueSemaphoreTake(0, 100); }
int tasks(void) { return xTaskCreatePinnedToCore(0); }
void give_up(void) { abort(); }
void asserts(void) { __assert_func("dense.c", 12, "dense", "n > 0"); }
static int by_value(const void *a, const void *b)
{
    return *(const int16_t *)a - *(const int16_t *)b;
}
void sort(int16_t *x, int n) { qsort(x, n, 2, by_value); }
uint32_t crc(const uint8_t *p, int n) { return esp_rom_crc32_le(0, p, n); }
uint32_t ccitt(const uint8_t *p, int n) { return crc16_be(0, p, n); }
int tokens(char *text, int *out)
{
    char *at, *t;
    int n = 0;
    for (t = strtok_r(text, ", ", &at); t; t = strtok_r(0, ", ", &at)) out[n++] = strtol(t, 0, 0);
    return n;
}
int digits(char *buffer, int v)
{
    itoa(v, buffer, 10);
    return atoi(buffer) == v ? (int)strlen(buffer) : -1;
}
