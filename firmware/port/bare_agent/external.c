/* Flash and PSRAM by the ROM's own functions (names, addresses and prototypes: ESP-IDF, components/esp_rom/esp32s3). An image that
 * was loaded into RAM finds the caches and the flash's pins as the ROM's loader left them: both are set up first, in this
 * order, as ESP-IDF does for its RAM applications. */
#include "external.h"
#include "chip.h"

#define PAGE 0x10000u
#define PAGE_KIB 64u
#define WINDOW 0x3C000000u
#define ON_FLASH 0u
#define ON_PSRAM (1u << 15)

void ROM_Boot_Cache_Init(void); /* caches on, every page invalid */
void spi_flash_attach(uint32_t pins, uint32_t legacy); /* pins 0: as the eFuses say */
uint32_t Cache_Suspend_DCache(void);
void Cache_Resume_DCache(uint32_t autoload);
int Cache_Dbus_MMU_Set(uint32_t target, uint32_t address, uint32_t physical, uint32_t page_kib, uint32_t pages,
                       uint32_t fixed);
int Cache_Invalidate_Addr(uint32_t address, uint32_t size);

static int show(uint32_t target, uint32_t address, uint32_t physical, uint32_t size)
{
    return size == 0 || Cache_Dbus_MMU_Set(target, address, physical, PAGE_KIB, size / PAGE, 0) == 0;
}

int external_map(uint32_t flash_offset, uint32_t flash_bytes, uint32_t psram_bytes, uint8_t **flash, uint8_t **psram)
{
    ROM_Boot_Cache_Init();
    spi_flash_attach(0, 0);
    uint32_t autoload = Cache_Suspend_DCache();
    int shown = show(ON_FLASH, WINDOW, flash_offset, flash_bytes) &&
                show(ON_PSRAM, WINDOW + flash_bytes, 0, psram_bytes);
    DCACHE_CTRL1 &= ~DCACHE_SHUT_CORE0;
    Cache_Resume_DCache(autoload);
    Cache_Invalidate_Addr(WINDOW, flash_bytes + psram_bytes);
    *flash = (uint8_t *)WINDOW;
    *psram = (uint8_t *)WINDOW + flash_bytes;
    return shown;
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
