/* The agent on a bare ESP32-S3: board, limits, starts. */
#include "agent.h"
#include "agent_port.h"
#include "chip.h"
#include "crash.h"
#include "external.h"
#include "uart.h"
#include "wire.h"

#define LIMIT_INTERRUPT (1u << 16) /* CCOMPARE2, level 5 */
#define NOWHERE 0xA0000000u

extern const uint8_t _vectors[], _code_end[], _constants[], _constants_end[];
extern uint8_t _pool_start[], _pool_end[];
uint32_t agent_enable(uint32_t mask);
_Noreturn void agent_restart(void);
int main(void);

static struct agent_region regions[3];
static struct agent_board board;

static uint32_t systimer(void)
{
    SYSTIMER_OP = SYSTIMER_UPDATE;
    while ((SYSTIMER_OP & SYSTIMER_VALID) == 0)
        ;
    return SYSTIMER_LOW;
}

/* Cycles per second, measured: nobody says at what speed the ROM left the processor. */
static uint32_t measured_hertz(void)
{
    uint32_t ticks = 800, start = systimer(), before = cycle_count(), now;
    while ((now = systimer()) - start < ticks)
        ;
    uint32_t cycles = cycle_count() - before;
    return cycles * 1000u / (now - start) * (SYSTIMER_HERTZ / 1000u); /* in 32 bits: 50 us of at most 240 MHz */
}

static uint64_t fresh_nonce(void)
{
    uint64_t mixed = (uint64_t)RANDOM << 32 ^ RANDOM ^ (uint64_t)systimer() << 20 ^ cycle_count();
    agent_last_nonce = (agent_last_nonce ^ mixed) * 0x9E3779B97F4A7C15u + 1u;
    return agent_last_nonce;
}

const struct agent_board *agent_port_board(void)
{
    regions[0] = (struct agent_region){"sram", _pool_start, (uint32_t)(_pool_end - _pool_start), WIRE_WRITABLE};
    board.name = "bare";
    board.nonce = fresh_nonce();
    board.identity = (uint64_t)(EFUSE_MAC_HIGH & 0xFFFFu) << 32 | EFUSE_MAC_LOW;
    board.code = _vectors;
    board.code_bytes = (uint32_t)(_code_end - _vectors);
    board.constants = _constants;
    board.constants_bytes = (uint32_t)(_constants_end - _constants);
    board.flags = WIRE_CAN_BAUD | WIRE_RESTARTS;
    board.hertz = measured_hertz();
    board.nowhere = NOWHERE;
    board.region_count = 1;
    board.regions = regions;
    return &board;
}

const struct agent_board *agent_port_board_with(uint32_t offset, uint32_t size, uint32_t psram)
{
    uint32_t n = 1;
    uint8_t *flash, *ram;
    agent_crash.probing = 1;
    int found = external_map(offset, size, psram, &flash, &ram);
    if (size != 0)
        regions[n++] = (struct agent_region){"model", flash, size, WIRE_CACHED};
    if (psram != 0)
        regions[n++] = (struct agent_region){"psram", ram, psram, WIRE_WRITABLE | WIRE_CACHED};
    found = found && external_answers(flash, size, ram, psram);
    agent_crash.probing = 0;
    board.region_count = found ? n : 1;
    return found ? &board : 0;
}

uint32_t agent_port_read(uint8_t *to, uint32_t capacity)
{
    return uart_read(to, capacity);
}

void agent_port_write(const uint8_t *data, uint32_t size)
{
    uart_write(data, size);
}

uint32_t agent_port_lost(void)
{
    return uart_lost();
}

uint32_t agent_port_cycles(void)
{
    return cycle_count();
}

void agent_port_limit(uint32_t cycles)
{
    if (cycles != 0) {
        uint32_t end = cycle_count() + cycles;
        __asm__ volatile("wsr.ccompare2 %0\n\tesync" : : "a"(end)); /* clears the request, too */
    }
    agent_enable(cycles != 0 ? LIMIT_INTERRUPT : 0);
}

typedef uint64_t any_function(uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t,
                              uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t,
                              uint32_t, uint32_t, uint32_t, uint32_t, uint32_t, uint32_t);

/* Arguments of every kind are words on this chip: six in registers, the others on the stack. */
uint64_t agent_port_call(emu_function function, const char *signature, const uintptr_t *w, uint32_t n, uint32_t dirt)
{
    (void)signature, (void)n;
    agent_dirty(dirt);
    return ((any_function *)function)(w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12],
                                      w[13], w[14], w[15], w[16], w[17], w[18], w[19], w[20], w[21], w[22], w[23]);
}

int agent_port_baud(uint32_t baud)
{
    uart_flush();
    uart_set_baud(baud);
    return 0;
}

uint32_t agent_port_speed(void)
{
    return uart_baud();
}

static _Noreturn void restart(uint32_t reason)
{
    agent_crash.magic = reason == WIRE_ASKED ? CRASH_ASKED : CRASH_DAMAGED;
    uart_flush();
    agent_restart();
}

void agent_port_damaged(void)
{
    restart(WIRE_DAMAGED);
}

void agent_port_reset(void)
{
    restart(WIRE_ASKED);
}

static void stop_watchdogs(void)
{
    RTC_WDT_PROTECT = WDT_KEY;
    RTC_WDT_CONFIG0 = 0;
    RTC_WDT_PROTECT = 0;
    RTC_SWD_PROTECT = SWD_KEY;
    RTC_SWD_CONF |= SWD_AUTO_FEED;
    RTC_SWD_PROTECT = 0;
    TG0_WDT_PROTECT = WDT_KEY;
    TG0_WDT_CONFIG0 = 0;
    TG0_WDT_PROTECT = 0;
    TG1_WDT_PROTECT = WDT_KEY;
    TG1_WDT_CONFIG0 = 0;
    TG1_WDT_PROTECT = 0;
}

/* Accesses to the regions of 512 MiB that hold no memory are exceptions, as under ESP-IDF (Xtensa ISA, Region Protection). */
static void protect_nothing(void)
{
    static const uint32_t empty[] = {0x00000000u, 0x80000000u, 0xA0000000u, 0xC0000000u, 0xE0000000u};
    for (uint32_t i = 0; i < sizeof empty / sizeof empty[0]; i++)
        __asm__ volatile("wdtlb %0, %1\n\tdsync" : : "a"(15u), "a"(empty[i]));
}

int main(void)
{
    struct agent_fault fault;
    protect_nothing();
    stop_watchdogs();
    uart_start();
    uint32_t reason = crash_reason(&fault);
    agent_start(reason, reason >= WIRE_EXCEPTION ? &fault : 0);
    for (;;)
        agent_work();
}
