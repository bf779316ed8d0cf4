/* Flash and PSRAM behind the caches. */
#ifndef EMU_PORT_EXTERNAL_H
#define EMU_PORT_EXTERNAL_H

#include <stdint.h>

/* Shows pieces of the chips in the data window, one behind the other, and nothing else; sizes are multiples of 65,536, 16 MiB
 * at most together. 0: the ROM refuses. A PSRAM chip must have been initialised by somebody. */
int external_map(uint32_t flash_offset, uint32_t flash_bytes, uint32_t psram_bytes, uint8_t **flash, uint8_t **psram);
/* Reads both ends of the flash; writes and reads PSRAM at every 64 KiB. 0: something else came back. */
int external_answers(const uint8_t *flash, uint32_t flash_bytes, uint8_t *psram, uint32_t psram_bytes);

#endif
