/* Text to tokens of tinylm: the longest known byte string from the left. models.md section 3. */
#include "model_tensors.h"

/* The word that text begins with: the longest, among equals the lowest id. Single bytes always match. */
static int32_t longest_word(const int32_t *start, const uint8_t *words, const uint8_t *text, uint32_t left)
{
    int32_t best = text[0];
    uint32_t longest = 1;
    for (int32_t id = 0; id < TINYLM_VOCABULARY; id++) {
        uint32_t length = (uint32_t)(start[id + 1] - start[id]), i = 0;
        if (length <= longest || length > left)
            continue;
        const uint8_t *word = words + start[id];
        while (i < length && word[i] == text[i])
            i++;
        if (i == length) {
            best = id;
            longest = length;
        }
    }
    return best;
}

int32_t tinylm_tokenize(const struct emu_model *model, const uint8_t *text, uint32_t bytes, int32_t *tokens,
                        int32_t capacity)
{
    const int32_t *start = model->data[TINYLM_START];
    int32_t count = 0;
    for (uint32_t at = 0; at < bytes; count++) {
        int32_t id = longest_word(start, model->data[TINYLM_BYTES], text + at, bytes - at);
        if (count < capacity)
            tokens[count] = id;
        at += (uint32_t)(start[id + 1] - start[id]);
    }
    return count;
}
