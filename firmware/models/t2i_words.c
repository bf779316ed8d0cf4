/* Prompt to tokens. models.md section 1, tokenizer. */
#include "emu_models.h"

#define LETTERS 5
#define WORD_BYTES 16

/* A word while it is read: the UTF-8 of its first letters, zero-padded. */
struct word {
    uint8_t text[WORD_BYTES];
    int32_t bytes;
    int32_t letters;
};

static void start_word(struct word *word)
{
    *word = (struct word){.bytes = 0, .letters = 0};
}

/* code: a lower-case letter below U+0800. */
static void add_letter(struct word *word, uint32_t code)
{
    if (word->letters++ >= LETTERS)
        return;
    if (code >= 0x80)
        word->text[word->bytes++] = (uint8_t)(0xC0 | code >> 6);
    word->text[word->bytes++] = (uint8_t)(code < 0x80 ? code : 0x80 | (code & 0x3F));
}

static int32_t look_up(const uint8_t *words, const struct word *word)
{
    for (int32_t id = 0; id < T2I_VOCABULARY; id++, words += WORD_BYTES) {
        int32_t i = 0;
        while (i < WORD_BYTES && words[i] == word->text[i])
            i++;
        if (i == WORD_BYTES)
            return id;
    }
    return -1;
}

/* The letter that the bytes at text begin with, lowered, and how many bytes it takes; 0 and one byte for anything
 * else: all letters have one or two bytes, and no byte of a longer or damaged sequence is one. */
static uint32_t letter_at(const uint8_t *text, uint32_t left, uint32_t *bytes)
{
    uint32_t first = text[0];
    *bytes = 1;
    if (first - 'A' < 26)
        return first + 32;
    if (first - 'a' < 26)
        return first;
    if ((first != 0xD0 && first != 0xD1) || left < 2 || (text[1] & 0xC0) != 0x80)
        return 0;
    *bytes = 2;
    uint32_t code = (first & 0x1F) << 6 | (text[1] & 0x3F);
    if (code == 0x401 || code == 0x451)
        return 0x435;
    if (code - 0x410 < 32)
        return code + 32;
    return code - 0x430 < 32 ? code : 0;
}

int32_t t2i_tokenize(const uint8_t *words, const uint8_t *text, uint32_t bytes, int32_t *tokens)
{
    struct word word;
    int32_t count = 0;
    start_word(&word);
    for (uint32_t at = 0, size = 1; at <= bytes && count < T2I_MAX_TOKENS; at += size) {
        uint32_t letter = at < bytes ? letter_at(text + at, bytes - at, &size) : 0;
        if (letter != 0) {
            add_letter(&word, letter);
        } else if (word.letters != 0) {
            int32_t id = look_up(words, &word);
            if (id >= 0)
                tokens[count++] = id;
            start_word(&word);
        }
    }
    return count;
}
