/* The word lists of model files. models.md sections 1 and 3. */
#ifndef EMU_MODEL_WORDS_H
#define EMU_MODEL_WORDS_H

#include <stdint.h>

/* Each: the first word that is wrong, -1 when all are right. */
int32_t bad_word(const uint8_t *words, uint32_t count, uint32_t width);
/* start [4097] ascending from 0 to total, words of 1 to 32 bytes, the first 256 of one byte. */
int32_t bad_start(const int32_t *start, uint32_t total);
/* Words 0..255 are the single bytes. */
int32_t bad_single_bytes(const uint8_t *text);

#endif
