#include "crash.h"
#include "uart.h"
#include "wire.h"

struct crash agent_crash __attribute__((section(".noinit")));
uint64_t agent_last_nonce __attribute__((section(".noinit")));

#define LIMIT_VECTOR 5u

static const char *const causes[] = {
    "IllegalInstruction", "Syscall", "InstructionFetchError", "LoadStoreError", "Level1Interrupt", "Alloca",
    "IntegerDivideByZero", "PCValue", "Privileged", "LoadStoreAlignment", "res", "res", "InstrPDAddrError",
    "LoadStorePIFDataError", "InstrPIFAddrError", "LoadStorePIFAddrError", "InstTLBMiss", "InstTLBMultiHit",
    "InstFetchPrivilege", "res", "InstrFetchProhibited", "res", "res", "res", "LoadStoreTLBMiss", "LoadStoreTLBMultihit",
    "LoadStorePrivilege", "res", "LoadProhibited", "StoreProhibited", "res", "res", "Cp0Dis", "Cp1Dis", "Cp2Dis",
    "Cp3Dis", "Cp4Dis", "Cp5Dis", "Cp6Dis", "Cp7Dis",
};

static void say(const char *text)
{
    uint32_t n = 0;
    while (text[n] != 0)
        n++;
    uart_write((const uint8_t *)text, n);
}

static void say_word(uint32_t value)
{
    char text[11] = "0x";
    for (uint32_t i = 0; i < 8; i++)
        text[2 + i] = "0123456789abcdef"[value >> (28 - 4 * i) & 15u];
    say(text);
}

static void say_register(const char *name, uint32_t value, uint32_t i)
{
    say(name);
    say(": ");
    say_word(value);
    say(i % 4 == 3 ? "\n" : "  ");
}

static void say_registers(void)
{
    static const char *const names[16] = {"A0  ", "A1  ", "A2  ", "A3  ", "A4  ", "A5  ", "A6  ", "A7  ",
                                          "A8  ", "A9  ", "A10 ", "A11 ", "A12 ", "A13 ", "A14 ", "A15 "};
    say("PC      : ");
    say_word(agent_crash.pc);
    say("  PS      : ");
    say_word(agent_crash.ps);
    say("  EXCCAUSE: ");
    say_word(agent_crash.cause);
    say("  EXCVADDR: ");
    say_word(agent_crash.vaddr);
    say("\n");
    for (uint32_t i = 0; i < 16; i++)
        say_register(names[i], agent_crash.a[i], i);
}

/* A return address without the size of the window in its upper bits. */
static uint32_t caller(uint32_t a0)
{
    return (a0 & 0x3FFFFFFFu) | 0x40000000u;
}

void agent_panic(void)
{
    const char *running = agent_where(&agent_crash.sequence);
    for (uint32_t i = 0; i < sizeof agent_crash.where; i++)
        agent_crash.where[i] = running[i];
    agent_crash.where[sizeof agent_crash.where - 1] = 0;
    say("\n\nGuru Meditation Error: Core  0 panic'ed (");
    if (agent_crash.vector == LIMIT_VECTOR)
        say("Endless call");
    else if (agent_crash.cause < sizeof causes / sizeof causes[0])
        say(causes[agent_crash.cause]);
    else
        say("Unknown");
    say("). Exception was unhandled.\nRunning: ");
    say(running);
    say("\nCore  0 register dump:\n");
    say_registers();
    say("\nBacktrace: ");
    say_word(agent_crash.pc);
    say(":");
    say_word(agent_crash.a[1]);
    say(" ");
    say_word(caller(agent_crash.a[0]));
    say(":");
    say_word(agent_crash.a[1]);
    say("\n\nThe agent starts again.\n");
    uart_flush();
}

uint32_t crash_reason(struct agent_fault *fault)
{
    uint32_t magic = agent_crash.magic;
    agent_crash.magic = 0;
    if (magic != CRASH_EXCEPTION)
        agent_crash.probing = 0;
    *fault = (struct agent_fault){.vector = 0};
    if (magic == CRASH_ASKED)
        return WIRE_ASKED;
    if (magic == CRASH_DAMAGED)
        return WIRE_DAMAGED;
    if (magic != CRASH_EXCEPTION)
        return WIRE_POWER_ON;
    *fault = (struct agent_fault){agent_crash.vector, agent_crash.cause, agent_crash.pc, agent_crash.vaddr,
                                  agent_crash.ps, agent_crash.sequence, {0}};
    for (uint32_t i = 0; i < sizeof fault->where; i++)
        fault->where[i] = agent_crash.where[i];
    return agent_crash.vector == LIMIT_VECTOR ? WIRE_ENDLESS : WIRE_EXCEPTION;
}
