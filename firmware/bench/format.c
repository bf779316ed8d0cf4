/* Text from a pattern and numbers, as printf makes it, and numbers from that text again. */
#include "bench.h"

static const char PATTERN[] = "id %08x, count %u, level %d, mode %o; %s\n";
static const char *const NAMES[] = {"idle", "running", "waiting for the network", "stopped"};

static char *put_number(char *out, uint32_t value, uint32_t base, uint32_t width, char pad)
{
    char digits[16];
    uint32_t count = 0;
    do {
        uint32_t digit = value % base;
        digits[count++] = (char)(digit < 10 ? '0' + digit : 'a' + digit - 10);
        value /= base;
    } while (value != 0);
    for (; width > count; width--)
        *out++ = pad;
    while (count > 0)
        *out++ = digits[--count];
    return out;
}

/* The base that a letter stands for. */
static uint32_t base_of(char letter)
{
    return letter == 'x' ? 16 : letter == 'o' ? 8 : 10;
}

static char *put(char *out, const char *pattern, const uint32_t *values)
{
    for (; *pattern != 0; pattern++) {
        if (*pattern != '%') {
            *out++ = *pattern;
            continue;
        }
        uint32_t width = 0;
        char pad = pattern[1] == '0' ? '0' : ' ';
        while (*++pattern >= '0' && *pattern <= '9')
            width = width * 10 + (uint32_t)(*pattern - '0');
        uint32_t value = *values++;
        if (*pattern == 's') {
            for (const char *name = NAMES[value & 3]; *name != 0; name++)
                *out++ = *name;
            continue;
        }
        if (*pattern == 'd' && (int32_t)value < 0) {
            *out++ = '-';
            value = 0u - value;
        }
        out = put_number(out, value, base_of(*pattern), width, pad);
    }
    return out;
}

/* Decimal numbers of a text, wherever they stand. */
static uint32_t scan(const char *text, const char *end, uint32_t hash)
{
    while (text < end) {
        uint32_t value = 0;
        while (text < end && *text >= '0' && *text <= '9')
            value = value * 10 + (uint32_t)(*text++ - '0');
        hash = bench_mix(hash, value + (uint8_t)*text++);
    }
    return hash;
}

/* `size` lines of at most 96 characters. */
uint32_t bench_format(void *work, uint32_t size, uint32_t seed, uint32_t rounds)
{
    char *text = work;
    uint32_t hash = seed;
    for (uint32_t round = 0; round < rounds; round++) {
        char *end = text;
        for (uint32_t i = 0; i < size; i++) {
            uint32_t values[5];
            for (int k = 0; k < 5; k++)
                values[k] = bench_next(&seed) >> (hash & 15);
            end = put(end, PATTERN, values);
        }
        hash = scan(text, end, hash);
    }
    return hash;
}
