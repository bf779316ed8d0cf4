/* Quicksort with a comparison function and heap sort of the same words; they must agree. */
#include "bench.h"

typedef int compare(int32_t a, int32_t b);

static int upwards(int32_t a, int32_t b)
{
    return (a > b) - (a < b);
}

static int by_low_half(int32_t a, int32_t b)
{
    int first = upwards((int16_t)a, (int16_t)b);
    return first ? first : upwards(a, b);
}

static void swap(int32_t *a, int32_t *b)
{
    int32_t kept = *a;
    *a = *b;
    *b = kept;
}

static void quicksort(int32_t *words, int32_t low, int32_t high, compare *order)
{
    while (low < high) {
        int32_t pivot = words[low + (high - low) / 2], i = low - 1, j = high + 1;
        for (;;) {
            do
                i++;
            while (order(words[i], pivot) < 0);
            do
                j--;
            while (order(words[j], pivot) > 0);
            if (i >= j)
                break;
            swap(&words[i], &words[j]);
        }
        quicksort(words, low, j, order);
        low = j + 1;
    }
}

static void sift_down(int32_t *words, uint32_t root, uint32_t size, compare *order)
{
    for (uint32_t child = 2 * root + 1; child < size; root = child, child = 2 * root + 1) {
        if (child + 1 < size && order(words[child], words[child + 1]) < 0)
            child++;
        if (order(words[root], words[child]) >= 0)
            return;
        swap(&words[root], &words[child]);
    }
}

static void heapsort(int32_t *words, uint32_t size, compare *order)
{
    for (uint32_t root = size / 2; root-- > 0;)
        sift_down(words, root, size, order);
    for (uint32_t end = size; end > 1;) {
        swap(&words[0], &words[--end]);
        sift_down(words, 0, end, order);
    }
}

uint32_t bench_sort(void *work, uint32_t size, uint32_t seed, uint32_t rounds)
{
    int32_t *quick = work, *heap = quick + size;
    uint32_t hash = seed;
    for (uint32_t round = 0; round < rounds; round++) {
        for (uint32_t i = 0; i < size; i++)
            quick[i] = heap[i] = (int32_t)bench_next(&seed);
        compare *order = (round & 1) ? by_low_half : upwards;
        quicksort(quick, 0, (int32_t)size - 1, order);
        heapsort(heap, size, order);
        for (uint32_t i = 0; i < size; i++)
            hash = bench_mix(hash, (uint32_t)quick[i] + (uint32_t)(quick[i] != heap[i]));
    }
    return hash;
}
