/* Memory, time, resets of a board under ESP-IDF. */
#include <string.h>
#include "esp_app_desc.h"
#include "esp_cpu.h"
#include "esp_heap_caps.h"
#include "esp_mac.h"
#include "esp_partition.h"
#include "esp_random.h"
#include "esp_rom_sys.h"
#include "esp_system.h"
#include "esp_timer.h"
#include "agent_idf.h"
#include "crash.h"
#include "wire.h"

#define RUNNING 0x4E555245u
#define ENDLESS 0x4C444E45u
#define MODEL_SUBTYPE 0x40

/* What was running, kept over a reset of the processors. */
static RTC_NOINIT_ATTR struct {
    uint32_t magic;
    uint32_t sequence;
    char where[24];
} running;

static struct agent_region regions[3];
static struct agent_board board;
static esp_timer_handle_t limit;

static void add_region(const char *name, void *start, uint32_t size, uint32_t flags)
{
    if (start != NULL && size != 0)
        regions[board.region_count++] = (struct agent_region){name, start, size & ~15u, flags};
}

static void add_model(void)
{
    const void *data = NULL;
    esp_partition_mmap_handle_t handle;
    const esp_partition_t *found =
        esp_partition_find_first(ESP_PARTITION_TYPE_DATA, (esp_partition_subtype_t)MODEL_SUBTYPE, "model");
    if (found != NULL && esp_partition_mmap(found, 0, found->size, ESP_PARTITION_MMAP_DATA, &data, &handle) == ESP_OK)
        add_region("model", (void *)data, found->size, WIRE_CACHED);
}

/* The limit of a call ran out: nothing can take the processor from it but a reset. */
static void endless(void *unused)
{
    (void)unused;
    running.magic = ENDLESS;
    esp_restart();
}

const struct agent_board *agent_port_board(void)
{
    uint8_t mac[6] = {0};
    const esp_timer_create_args_t timer = {.callback = endless, .name = "limit"};
    esp_efuse_mac_get_default(mac);
    ESP_ERROR_CHECK(esp_timer_create(&timer, &limit));
    board.name = "idf";
    board.nonce = (uint64_t)esp_random() << 32 | esp_random();
    for (int i = 0; i < 6; i++)
        board.identity = board.identity << 8 | mac[i];
    board.code = esp_app_get_description()->app_elf_sha256; /* names the ELF file that the app was made from */
    board.code_bytes = 32;
    board.flags = WIRE_CONCURRENT;
#if CONFIG_EMU_LINE_UART0
    board.flags |= WIRE_CAN_BAUD;
#endif
    board.hertz = esp_rom_get_cpu_ticks_per_us() * 1000000u;
    board.nowhere = 0xA0000000u; /* esp_cpu_configure_region_protection makes it so */
    board.regions = regions;
    add_region("sram", heap_caps_aligned_alloc(64, CONFIG_EMU_SRAM_BYTES, MALLOC_CAP_INTERNAL | MALLOC_CAP_8BIT),
               CONFIG_EMU_SRAM_BYTES, WIRE_WRITABLE);
    add_region("psram", heap_caps_aligned_alloc(64, CONFIG_EMU_PSRAM_BYTES, MALLOC_CAP_SPIRAM), CONFIG_EMU_PSRAM_BYTES,
               WIRE_WRITABLE | WIRE_CACHED);
    add_model();
#if CONFIG_EMU_SECOND_CORE
    board.par = cores_par;
#endif
    return &board;
}

const struct agent_board *agent_port_board_with(uint32_t offset, uint32_t size, uint32_t psram)
{
    (void)offset, (void)size, (void)psram;
    return NULL; /* everything is mapped from the start */
}

uint32_t agent_port_cycles(void)
{
    return esp_cpu_get_cycle_count();
}

void agent_port_limit(uint32_t cycles)
{
    esp_timer_stop(limit);
    running.magic = cycles != 0 ? RUNNING : 0;
    if (cycles == 0)
        return;
    memcpy(running.where, agent_where(&running.sequence), sizeof running.where);
    ESP_ERROR_CHECK(esp_timer_start_once(limit, cycles / esp_rom_get_cpu_ticks_per_us() + 1));
}

typedef uint64_t any_function(uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t,
                              uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t,
                              uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t);

uint64_t agent_port_call(emu_function function, const char *signature, const uintptr_t *w, uint32_t n, uint32_t dirt)
{
    (void)signature, (void)n;
    agent_dirty(dirt);
    return ((any_function *)function)(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12],
                                      w[13], w[14], w[15], w[16], w[17], w[18], w[19], w[20], w[21], w[22], w[23]);
}

uint32_t board_reason(struct agent_fault *fault)
{
    uint32_t before = running.magic;
    esp_reset_reason_t reset = esp_reset_reason();
    *fault = (struct agent_fault){.vector = 0};
    running.magic = 0;
    if (before != RUNNING && before != ENDLESS)
        return reset == ESP_RST_SW ? WIRE_ASKED : WIRE_POWER_ON;
    fault->sequence = running.sequence;
    memcpy(fault->where, running.where, sizeof fault->where);
    if (before == ENDLESS)
        return WIRE_ENDLESS;
    return reset == ESP_RST_PANIC ? WIRE_EXCEPTION : reset == ESP_RST_POWERON ? WIRE_POWER_ON : WIRE_ENDLESS;
}

void agent_port_damaged(void)
{
    esp_system_abort("the agent's own memory was overwritten");
}

void agent_port_reset(void)
{
    esp_restart();
}
