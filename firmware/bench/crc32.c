/* CRC-32 of bytes by a table of 256 words. */
#include "bench.h"

static void make_table(uint32_t *table)
{
    for (uint32_t i = 0; i < 256; i++) {
        uint32_t rest = i;
        for (int bit = 0; bit < 8; bit++)
            rest = (rest >> 1) ^ ((rest & 1) ? 0xEDB88320u : 0);
        table[i] = rest;
    }
}

uint32_t bench_crc32(void *work, uint32_t size, uint32_t seed, uint32_t rounds)
{
    uint32_t *table = work;
    uint8_t *bytes = (uint8_t *)(table + 256);
    make_table(table);
    for (uint32_t i = 0; i < size; i++)
        bytes[i] = (uint8_t)bench_next(&seed);
    uint32_t rest = 0xFFFFFFFFu;
    for (uint32_t round = 0; round < rounds; round++)
        for (uint32_t i = 0; i < size; i++)
            rest = table[(rest ^ bytes[i]) & 255] ^ (rest >> 8);
    return ~rest;
}
