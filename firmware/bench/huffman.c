/* Huffman coding of bytes: weights, tree, codes, bits, and back again bit by bit. */
#include "bench.h"

#define SYMBOLS 64u
#define NODES (2 * SYMBOLS)

typedef struct {
    uint32_t weight[NODES];
    uint32_t code[SYMBOLS];
    uint8_t child[2][NODES];
    uint8_t length[SYMBOLS];
    uint8_t parent[NODES];
} tree;

/* The lightest node that has no parent yet, below `count`; it gets `parent`. */
static uint32_t take_lightest(tree *t, uint32_t count, uint32_t parent)
{
    uint32_t best = 0, least = 0xFFFFFFFFu;
    for (uint32_t i = 0; i < count; i++)
        if (t->parent[i] == 0 && t->weight[i] < least) {
            best = i;
            least = t->weight[i];
        }
    t->parent[best] = (uint8_t)parent;
    return best;
}

/* Node 2 * SYMBOLS - 2 becomes the root; every symbol has a weight, so that each has a code. */
static uint32_t grow(tree *t, const uint8_t *text, uint32_t size)
{
    for (uint32_t i = 0; i < NODES; i++) {
        t->weight[i] = i < SYMBOLS;
        t->parent[i] = 0;
    }
    for (uint32_t i = 0; i < size; i++)
        t->weight[text[i]]++;
    uint32_t next = SYMBOLS;
    for (; next < NODES - 1; next++) {
        t->child[0][next] = (uint8_t)take_lightest(t, next, next);
        t->child[1][next] = (uint8_t)take_lightest(t, next, next);
        t->weight[next] = t->weight[t->child[0][next]] + t->weight[t->child[1][next]];
    }
    return next - 1;
}

/* Codes from the leaf up: the first bit to send ends as the lowest. */
static void name_leaves(tree *t, uint32_t root)
{
    for (uint32_t symbol = 0; symbol < SYMBOLS; symbol++) {
        uint32_t code = 0, length = 0;
        for (uint32_t node = symbol; node != root; node = t->parent[node]) {
            code = code << 1 | (t->child[1][t->parent[node]] == node);
            length++;
        }
        t->code[symbol] = code;
        t->length[symbol] = (uint8_t)length;
    }
}

static uint32_t encode(const tree *t, uint8_t *bits, const uint8_t *text, uint32_t size)
{
    uint32_t waiting = 0, count = 0, total = 0;
    for (uint32_t i = 0; i < size; i++) {
        uint32_t code = t->code[text[i]];
        for (uint32_t left = t->length[text[i]]; left > 0; left--, code >>= 1) {
            waiting |= (code & 1) << count;
            if (++count == 8) {
                bits[total++] = (uint8_t)waiting;
                waiting = count = 0;
            }
        }
    }
    bits[total++] = (uint8_t)waiting;
    return total;
}

static void decode(const tree *t, uint8_t *out, const uint8_t *bits, uint32_t size, uint32_t root)
{
    uint32_t waiting = 0, count = 0;
    for (uint32_t i = 0; i < size; i++) {
        uint32_t node = root;
        while (node >= SYMBOLS) {
            if (count == 0) {
                waiting = *bits++;
                count = 8;
            }
            node = t->child[waiting & 1][node];
            waiting >>= 1;
            count--;
        }
        out[i] = (uint8_t)node;
    }
}

uint32_t bench_huffman(void *work, uint32_t size, uint32_t seed, uint32_t rounds)
{
    tree *t = work;
    uint8_t *text = (uint8_t *)(t + 1), *out = text + size, *bits = out + size;
    for (uint32_t i = 0; i < size; i++)
        text[i] = (uint8_t)(bench_next(&seed) & bench_next(&seed) & (SYMBOLS - 1));
    uint32_t hash = seed;
    for (uint32_t round = 0; round < rounds; round++) {
        uint32_t root = grow(t, text, size);
        name_leaves(t, root);
        hash = bench_mix(hash, encode(t, bits, text, size));
        decode(t, out, bits, size, root);
        for (uint32_t i = 0; i < size; i++)
            hash = bench_mix(hash, out[i]);
        for (uint32_t i = 0; i < size; i++)
            text[i] = (uint8_t)((out[i] + (hash >> (i & 31) & 1)) & (SYMBOLS - 1));
    }
    return hash;
}
