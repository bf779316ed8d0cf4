/* Stands for the parts of ESP-IDF that need a booted system. Nothing here works before start-up code has run, and
 * none is run: emu serves these functions by their names.
 */
#include "esp.h"

struct heap { uint8_t *free, *end; };
struct heap *registered; /* set by heap_caps_init() at boot */
void (*print)(const char *text); /* set by the console driver at boot */

__attribute__((noipa)) void *heap_caps_malloc(size_t size, uint32_t caps)
{
    uint8_t *block = registered->free;
    (void)caps;
    registered->free += (size + 3) & ~3;
    return registered->free <= registered->end ? block : NULL;
}

__attribute__((noipa)) void heap_caps_free(void *block) { registered->free = block; }

__attribute__((noipa)) void esp_log_write(esp_log_level_t level, const char *tag, const char *format, ...)
{
    (void)level, (void)tag;
    print(format);
}

__attribute__((noipa)) uint32_t esp_log_timestamp(void) { return *(volatile uint32_t *)0x60023044; }

/* the description that esptool and the OTA code look for at the start of the constants */
__attribute__((section(".rodata_desc"), used)) static const struct {
    uint32_t magic, secure_version, reserved[2];
    char version[32], project[32], time[16], date[16], idf[32];
    uint8_t sha256[32];
    uint32_t more[20];
} description = { .magic = 0xABCD5432, .version = "1", .project = "example", .idf = "v5" };

extern void app_main(void);

__attribute__((noreturn)) void call_start_cpu0(void)
{
    for (;;)
        app_main();
}
