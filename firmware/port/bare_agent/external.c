/* Chip reference manual, "System and Memory" (external memory); one table of 512 entries of 64 KiB, bit 15: PSRAM. */
#include "external.h"
#include "chip.h"

#define PAGE 0x10000u
#define WINDOW 0x3C000000u
#define MMU_ENTRY(n) REG(0x600C5000u + 4u * (n))
#define MMU_PSRAM (1u << 15)
#define DCACHE_CTRL REG(0x600C4000u)
#define DCACHE_CTRL1 REG(0x600C4004u)
#define DCACHE_SYNC_CTRL REG(0x600C4028u)
#define DCACHE_SYNC_ADDR REG(0x600C402Cu)
#define DCACHE_SYNC_SIZE REG(0x600C4030u)
#define SYNC_INVALIDATE 1u
#define SYNC_DONE (1u << 3)

static void forget(uint32_t address, uint32_t size)
{
    DCACHE_SYNC_ADDR = address;
    DCACHE_SYNC_SIZE = size;
    DCACHE_SYNC_CTRL = SYNC_INVALIDATE;
    while ((DCACHE_SYNC_CTRL & SYNC_DONE) == 0)
        ;
}

void external_map(uint32_t flash_offset, uint32_t flash_bytes, uint32_t psram_bytes, uint8_t **flash, uint8_t **psram)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < flash_bytes / PAGE; i++)
        MMU_ENTRY(n++) = flash_offset / PAGE + i;
    for (uint32_t i = 0; i < psram_bytes / PAGE; i++)
        MMU_ENTRY(n++) = MMU_PSRAM | i;
    DCACHE_CTRL |= 1u;
    DCACHE_CTRL1 &= ~3u;
    forget(WINDOW, n * PAGE);
    *flash = (uint8_t *)WINDOW;
    *psram = (uint8_t *)WINDOW + flash_bytes;
}

int external_answers(const uint8_t *flash, uint32_t flash_bytes, uint8_t *psram, uint32_t psram_bytes)
{
    volatile const uint8_t *rom = flash;
    volatile uint32_t *word = (volatile uint32_t *)(void *)psram;
    if (flash_bytes != 0)
        (void)rom[0], (void)rom[flash_bytes - 1];
    for (uint32_t i = 0; i < psram_bytes / 4; i += PAGE / 4)
        word[i] = 0x5A5A0000u | i;
    for (uint32_t i = 0; i < psram_bytes / 4; i += PAGE / 4)
        if (word[i] != (0x5A5A0000u | i))
            return 0;
    return 1;
}
