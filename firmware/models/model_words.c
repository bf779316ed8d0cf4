/* Checks of the word lists in model files. See model_words.h. */
#include "model_words.h"
#include "emu_models.h"

#define SINGLE_BYTES 256
#define LONGEST_WORD 32

int32_t bad_word(const uint8_t *words, uint32_t count, uint32_t width)
{
    for (uint32_t i = 0; i < count; i++, words += width) {
        uint32_t length = 0;
        while (length < width && words[length] != 0)
            length++;
        if (length == 0)
            return (int32_t)i;
        for (uint32_t at = length; at < width; at++)
            if (words[at] != 0)
                return (int32_t)i;
    }
    return -1;
}

int32_t bad_start(const int32_t *start, uint32_t total)
{
    uint32_t end = 0;
    for (int32_t i = 0; i <= TINYLM_VOCABULARY; i++) {
        uint32_t at = (uint32_t)start[i], length = at - end, longest = i <= SINGLE_BYTES ? 1 : LONGEST_WORD;
        if (i == 0 ? at != 0 : length - 1 >= longest)
            return i == 0 ? 0 : i - 1;
        end = at;
    }
    return end != total ? TINYLM_VOCABULARY - 1 : -1;
}

int32_t bad_single_bytes(const uint8_t *text)
{
    for (int32_t i = 0; i < SINGLE_BYTES; i++)
        if (text[i] != i)
            return i;
    return -1;
}
