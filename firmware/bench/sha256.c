/* SHA-256 (FIPS 180-4) of bytes; each digest goes into the next message. */
#include "bench.h"

#define BLOCK 64u

static const uint32_t ROUND[64] = {
    0x428A2F98, 0x71374491, 0xB5C0FBCF, 0xE9B5DBA5, 0x3956C25B, 0x59F111F1, 0x923F82A4, 0xAB1C5ED5,
    0xD807AA98, 0x12835B01, 0x243185BE, 0x550C7DC3, 0x72BE5D74, 0x80DEB1FE, 0x9BDC06A7, 0xC19BF174,
    0xE49B69C1, 0xEFBE4786, 0x0FC19DC6, 0x240CA1CC, 0x2DE92C6F, 0x4A7484AA, 0x5CB0A9DC, 0x76F988DA,
    0x983E5152, 0xA831C66D, 0xB00327C8, 0xBF597FC7, 0xC6E00BF3, 0xD5A79147, 0x06CA6351, 0x14292967,
    0x27B70A85, 0x2E1B2138, 0x4D2C6DFC, 0x53380D13, 0x650A7354, 0x766A0ABB, 0x81C2C92E, 0x92722C85,
    0xA2BFE8A1, 0xA81A664B, 0xC24B8B70, 0xC76C51A3, 0xD192E819, 0xD6990624, 0xF40E3585, 0x106AA070,
    0x19A4C116, 0x1E376C08, 0x2748774C, 0x34B0BCB5, 0x391C0CB3, 0x4ED8AA4A, 0x5B9CCA4F, 0x682E6FF3,
    0x748F82EE, 0x78A5636F, 0x84C87814, 0x8CC70208, 0x90BEFFFA, 0xA4506CEB, 0xBEF9A3F7, 0xC67178F2,
};

static const uint32_t START[8] = {
    0x6A09E667, 0xBB67AE85, 0x3C6EF372, 0xA54FF53A, 0x510E527F, 0x9B05688C, 0x1F83D9AB, 0x5BE0CD19,
};

static inline uint32_t turned(uint32_t x, int by)
{
    return x >> by | x << (32 - by);
}

static void spread(uint32_t *w, const uint8_t *block)
{
    for (int i = 0; i < 16; i++, block += 4)
        w[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 | (uint32_t)block[2] << 8 | block[3];
    for (int i = 16; i < 64; i++) {
        uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + w[i - 7] + (turned(a, 7) ^ turned(a, 18) ^ a >> 3) +
               (turned(b, 17) ^ turned(b, 19) ^ b >> 10);
    }
}

static void compress(uint32_t *state, uint32_t *w, const uint8_t *block)
{
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    spread(w, block);
    for (int i = 0; i < 64; i++) {
        uint32_t first = h + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g)) + ROUND[i] + w[i];
        uint32_t second = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        h = g, g = f, f = e, e = d + first;
        d = c, c = b, b = a, a = first + second;
    }
    state[0] += a, state[1] += b, state[2] += c, state[3] += d;
    state[4] += e, state[5] += f, state[6] += g, state[7] += h;
}

/* The last bytes, a one bit, zeros, the length in bits: one block or two. */
static uint32_t fill_tail(uint8_t *tail, const uint8_t *rest, uint32_t size)
{
    uint32_t left = size % BLOCK, end = left < 56 ? BLOCK : 2 * BLOCK;
    for (uint32_t i = 0; i < left; i++)
        tail[i] = rest[i];
    tail[left] = 0x80;
    for (uint32_t i = left + 1; i < end - 4; i++)
        tail[i] = 0;
    for (uint32_t i = 0; i < 4; i++)
        tail[end - 1 - i] = (uint8_t)(size << 3 >> 8 * i);
    return end;
}

static void digest(uint32_t *state, uint32_t *w, uint8_t *tail, const uint8_t *message, uint32_t size)
{
    uint32_t whole = size - size % BLOCK, end = fill_tail(tail, message + whole, size);
    for (int i = 0; i < 8; i++)
        state[i] = START[i];
    for (uint32_t at = 0; at < whole; at += BLOCK)
        compress(state, w, message + at);
    for (uint32_t at = 0; at < end; at += BLOCK)
        compress(state, w, tail + at);
}

uint32_t bench_sha256(void *work, uint32_t size, uint32_t seed, uint32_t rounds)
{
    uint32_t *state = work, *w = state + 8;
    uint8_t *tail = (uint8_t *)(w + 64), *message = tail + 2 * BLOCK;
    for (uint32_t i = 0; i < size; i++)
        message[i] = (uint8_t)bench_next(&seed);
    uint32_t hash = seed;
    for (uint32_t round = 0; round < rounds; round++) {
        digest(state, w, tail, message, size);
        for (uint32_t i = 0; i < 8; i++) {
            hash = bench_mix(hash, state[i]);
            if (4 * i < size)
                message[4 * i] ^= (uint8_t)state[i];
        }
    }
    return hash;
}
