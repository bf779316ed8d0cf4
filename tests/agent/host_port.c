/* The agent on this machine: a port over two byte queues (in memory), for tests of the portable core.
 *
 * The test puts bytes in with host_put and takes the answer with host_take. Functions get their integer arguments as
 * words and their floats in floating-point registers, as the System V ABI of x86-64 and AArch64 wants. */
#define _DEFAULT_SOURCE
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include "agent.h"
#include "agent_port.h"
#include "signature.h"
#include "state.h"
#include "wire.h"
#include "emu_kernels.h"

#define QUEUE (1u << 22)

struct queue {
    uint8_t *data;
    uint32_t first, end;
};

static struct queue to_board, to_host;
static uint8_t *memory, *slow, *fixed;
static uint32_t memory_bytes, slow_bytes, fixed_bytes;
static uint64_t nonce = 1;
static uint64_t identity = 0x123456;
static uint32_t cycles, speed = 115200, resets, damaged;
static jmp_buf main_loop;
static struct agent_fault crash;
static emu_function planted;
static uint32_t plant_mode;
static struct agent_region regions[3];
static struct agent_board board;

static void append(struct queue *queue, const uint8_t *data, uint32_t n)
{
    if (queue->data == NULL)
        queue->data = malloc(QUEUE);
    if (queue->first == queue->end)
        queue->first = queue->end = 0;
    if (n > QUEUE - queue->end)
        n = QUEUE - queue->end;
    memcpy(queue->data + queue->end, data, n);
    queue->end += n;
}

static uint32_t fetch(struct queue *queue, uint8_t *to, uint32_t n)
{
    uint32_t there = queue->end - queue->first;
    if (n > there)
        n = there;
    if (n != 0)
        memcpy(to, queue->data + queue->first, n);
    queue->first += n;
    return n;
}

/* --- for the test ------------------------------------------------------------------------------------------------ */
void host_memory(uint8_t *a, uint32_t na, uint8_t *b, uint32_t nb, uint8_t *c, uint32_t nc)
{
    memory = a, memory_bytes = na, slow = b, slow_bytes = nb, fixed = c, fixed_bytes = nc;
}

void host_start(uint32_t reason)
{
    struct agent_fault fault = {1, 29, 0x40378123u, 0xDEAD0000u, 0x30, 7, "rne_array"};
    nonce++;
    to_board.first = to_board.end = 0;
    agent_start(reason, reason == WIRE_EXCEPTION ? &fault : NULL);
}

void host_put(const uint8_t *data, uint32_t n)
{
    append(&to_board, data, n);
}

uint32_t host_take(uint8_t *to, uint32_t n)
{
    return fetch(&to_host, to, n);
}

void host_work(void)
{
    if (setjmp(main_loop) != 0) {
        nonce++;
        agent_start(WIRE_EXCEPTION, &crash);
    }
    while (agent_work())
        ;
}

/* What a port does after an exception. */
static void host_crash(void)
{
    crash = (struct agent_fault){1, 28, 0x40378123u, 0xDEAD0000u, 0x30, 0, {0}};
    memcpy(crash.where, agent_where(&crash.sequence), sizeof crash.where);
    longjmp(main_loop, 1);
}

void host_identity(uint32_t number)
{
    identity = number;
    host_start(0);
}

uint32_t host_resets(void)
{
    return resets;
}

uint32_t host_damaged(void)
{
    return damaged;
}

void host_cycles(uint32_t n)
{
    cycles += n;
}

/* From now on this kernel gives a wrong lowest bit (1), or ends with an exception (2); 0: all is well. */
void host_plant(uint32_t index, uint32_t mode)
{
    planted = emu_kernel_table[index].function;
    plant_mode = mode;
}

static void spoil(const char *signature, const uintptr_t *words)
{
    struct parameter found;
    const char *at = signature_parameters(signature);
    for (uint32_t i = 0; (at = signature_next(at, &found)) != 0; i += found.words)
        if (found.written) {
            *(uint8_t *)words[i] ^= 1;
            return;
        }
}

/* --- the port ------------------------------------------------------------------------------------------------------ */
/* Addresses that stay without memory: an access ends the process. */
static uintptr_t nowhere(void)
{
    static void *reserved;
    if (reserved == NULL)
        reserved = mmap(NULL, (size_t)1 << 31, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return reserved == MAP_FAILED ? 0 : (uintptr_t)reserved;
}

const struct agent_board *agent_port_board(void)
{
    static const uint8_t code[16] = "host code", constants[16] = "host constants";
    regions[0] = (struct agent_region){"sram", memory, memory_bytes, WIRE_WRITABLE};
    regions[1] = (struct agent_region){"psram", slow, slow_bytes, WIRE_WRITABLE | WIRE_CACHED};
    regions[2] = (struct agent_region){"model", fixed, fixed_bytes, WIRE_CACHED};
    board = (struct agent_board){"host", nonce, identity, code, 16, constants, 16, WIRE_CAN_BAUD | WIRE_RESTARTS,
                                 1000000, 3, regions, nowhere(), NULL, NULL};
    return &board;
}

const struct agent_board *agent_port_board_with(uint32_t offset, uint32_t size, uint32_t psram)
{
    (void)offset, (void)size, (void)psram;
    return NULL;
}

uint32_t agent_port_read(uint8_t *to, uint32_t capacity)
{
    return fetch(&to_board, to, capacity);
}

void agent_port_write(const uint8_t *data, uint32_t size)
{
    append(&to_host, data, size);
}

uint32_t agent_port_lost(void)
{
    return 0;
}

uint32_t agent_port_cycles(void)
{
    return cycles += 7;
}

void agent_port_limit(uint32_t limit)
{
    (void)limit;
}

typedef uint64_t any_function(uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                              uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                              uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t,
                              float, float, float, float, float, float, float, float);

__attribute__((weak)) uint64_t agent_port_call(emu_function function, const char *signature, const uintptr_t *words, uint32_t n,
                         uint32_t dirt)
{
    uintptr_t w[24] = {0};
    float f[8] = {0};
    uint32_t i = 0, nw = 0, nf = 0;
    struct parameter wanted;
    const char *at = signature_parameters(signature);
    (void)dirt;
    while ((at = signature_next(at, &wanted)) != 0 && i < n) {
        if (wanted.words == 2) {
            w[nw++] = words[i] | words[i + 1] << 32;
        } else if (!wanted.pointer && wanted.type == 'f') {
            uint32_t bits = (uint32_t)words[i];
            memcpy(&f[nf++ & 7], &bits, 4);
        } else {
            w[nw++] = words[i];
        }
        i += wanted.words;
    }
    if (function == planted && plant_mode == 2) {
        host_crash();
        return 0;
    }
    uint64_t value = ((any_function *)function)(
        w[0], w[1], w[2], w[3], w[4], w[5], w[6], w[7], w[8], w[9], w[10], w[11], w[12], w[13], w[14], w[15], w[16],
        w[17], w[18], w[19], w[20], w[21], w[22], w[23], f[0], f[1], f[2], f[3], f[4], f[5], f[6], f[7]);
    if (function == planted && plant_mode == 1)
        spoil(signature, words);
    return value;
}

int agent_port_baud(uint32_t baud)
{
    speed = baud;
    return 0;
}

uint32_t agent_port_speed(void)
{
    return speed;
}

void agent_port_damaged(void)
{
    damaged++;
}

void agent_port_reset(void)
{
    resets++;
    host_start(WIRE_ASKED);
}

/* --- what only the chip has ------------------------------------------------------------------------------------ */
const struct agent_kernel agent_extra[] = {{NULL, NULL, NULL, NULL}};

/* --- vector code whose twin the models do not need ------------------------------------------------------------------ */
int32_t gemm_s8(const int8_t *x, int32_t x_stride, int32_t rows, const int8_t *w, int32_t w_stride, int32_t outs,
                int32_t cols, int32_t *acc, int32_t acc_stride)
{
    return gemm_s8_c(x, x_stride, rows, w, w_stride, outs, cols, acc, acc_stride);
}
