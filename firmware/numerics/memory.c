/* The four memory functions that a freestanding compiler may call.
 *
 * Built with -fno-tree-loop-distribute-patterns: otherwise GCC recognises the loops and turns each function
 * into a call of itself.
 */
#include <stddef.h>
#include <stdint.h>

void *memcpy(void *restrict to, const void *restrict from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int value, size_t size);
int memcmp(const void *a, const void *b, size_t size);

void *memcpy(void *restrict to, const void *restrict from, size_t size)
{
    uint8_t *out = to;
    const uint8_t *in = from;
    for (; size != 0; size--)
        *out++ = *in++;
    return to;
}

void *memmove(void *to, const void *from, size_t size)
{
    uint8_t *out = to;
    const uint8_t *in = from;
    if ((uintptr_t)out - (uintptr_t)in >= size)
        return memcpy(to, from, size);
    while (size-- != 0)
        out[size] = in[size];
    return to;
}

void *memset(void *to, int value, size_t size)
{
    uint8_t *out = to;
    for (; size != 0; size--)
        *out++ = (uint8_t)value;
    return to;
}

int memcmp(const void *a, const void *b, size_t size)
{
    const uint8_t *left = a, *right = b;
    for (; size != 0; size--, left++, right++)
        if (*left != *right)
            return *left - *right;
    return 0;
}
