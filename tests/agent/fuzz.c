/* A driver for the agent under AddressSanitizer and UBSan: mutated conversations, from a seed.
 *
 *     fuzz SEED COUNT
 *
 * Inputs are sequences of sound requests with a sound check whose fields are random, extreme or near what is
 * allowed, mixed with damaged frames, text and rubbish. Regions lie in allocations of their own, so that any access beside them is
 * an error. Prints the number of inputs and what they led to. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "state.h"
#include "emu_kernels.h"
#include "fuzz_random.h"

void host_memory(uint8_t *a, uint32_t na, uint8_t *b, uint32_t nb, uint8_t *c, uint32_t nc);
void host_start(uint32_t reason);
void host_put(const uint8_t *data, uint32_t n);
uint32_t host_take(uint8_t *to, uint32_t n);
void host_work(void);

#define SRAM 4096u
#define PSRAM 2048u
#define MODEL 1024u

/* Numbers that checks get wrong. */
static uint32_t number(void)
{
    static const uint32_t odd[] = {0, 1, 2, 4, 15, 16, 31, 32, 255, 256, 1024, 1040, 2048, 4095, 4096, 4097, 65535, 65536,
                                   0x7FFFFFFF, 0x80000000, 0x80000001, 0xFFFFFFF0, 0xFFFFFFFE, 0xFFFFFFFF};
    uint32_t kind = pick(8);
    if (kind < 3)
        return odd[pick(sizeof odd / sizeof odd[0])];
    return kind < 6 ? pick(40) * 16 : kind < 7 ? pick(8192) : draw();
}

static uint32_t session = 1, sequence = 1;

static void send(uint32_t type, const uint8_t *payload, uint32_t length, uint32_t seq)
{
    uint8_t frame[WIRE_FRAME], out[WIRE_STUFFED + 8];
    uint32_t n = WIRE_HEADER + length, at = 1, code = 0, size = 0;
    frame[0] = pick(200) ? WIRE_VERSION : (uint8_t)draw();
    frame[1] = (uint8_t)type;
    put_u16(frame + 2, pick(200) ? length : draw());
    put_u32(frame + 4, pick(100) ? session : draw());
    put_u32(frame + 8, pick(50) ? seq : number());
    put_u32(frame + 12, pick(20) ? sequence - pick(16) % sequence : number());
    memcpy(frame + WIRE_HEADER, payload, length);
    put_u32(frame + n, pick(100) ? crc32_bytes(0, frame, (int32_t)n) : draw());
    out[0] = 0;
    for (uint32_t i = 0; i < n + 4; i++) {
        if (frame[i] != 0)
            out[++at] = frame[i];
        if (frame[i] == 0 || at - code == 255) {
            out[1 + code] = (uint8_t)(at - code);
            code = at++;
            if (frame[i] != 0)
                at = code + 1;
        }
    }
    (void)size;
    out[1 + code] = (uint8_t)(at - code);
    out[at + 1] = 0;
    if (pick(60) == 0)
        out[pick(at + 2)] ^= (uint8_t)(1u << pick(8));
    host_put(out, pick(80) ? at + 2 : pick(at + 2));
}

static uint32_t words(uint8_t *to, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        put_u32(to + 4 * i, number());
    return 4 * n;
}

static uint32_t function(uint8_t *to)
{
    uint32_t i = pick(agent_state.kernels + 2);
    struct agent_kernel kernel = i < agent_state.kernels ? agent_kernel(i) : (struct agent_kernel){"x", "v ", 0};
    put_u32(to, i);
    put_u32(to + 4, pick(8) ? agent_fingerprint(kernel.name, kernel.signature) : draw());
    return i;
}

/* CALL with arguments of the right kind and wild values for everything but sizes, which belong to the kernel. */
static uint32_t call(uint8_t *to)
{
    uint32_t a = pick(4) ? pick(10) : pick(30), r = pick(4), n = 20;
    function(to);
    put_u32(to + 8, number());
    put_u32(to + 12, draw());
    put_u16(to + 16, a);
    put_u16(to + 18, r);
    for (uint32_t i = 0; i < a; i++, n += 8) {
        put_u32(to + n, pick(3) ? WIRE_NONE : pick(4) ? pick(3) : number());
        put_u32(to + n + 4, number());
    }
    return n + words(to + n, 3 * r);
}

static uint32_t run(uint8_t *to)
{
    uint32_t i = pick(AGENT_MODELS + 1), a = pick(10), t = pick(4), n = 44;
    put_u32(to, i);
    put_u32(to + 4, i < AGENT_MODELS ? agent_fingerprint(agent_models[i].name, agent_models[i].signature) : 0);
    put_u32(to + 8, number());
    put_u32(to + 12, pick(8));
    for (uint32_t k = 0; k < 6; k++)
        put_u32(to + 16 + 4 * k, k % 2 == 0 ? (pick(3) ? pick(3) : WIRE_NONE) : 16 * pick(8));
    put_u16(to + 40, a);
    put_u16(to + 42, t);
    for (uint32_t k = 0; k < a; k++, n += 12) {
        put_u32(to + n, pick(2) ? pick(3) : WIRE_NONE);
        put_u32(to + n + 4, pick(2) ? 16 * pick(16) : number());
        put_u32(to + n + 8, pick(2) ? 4 * pick(64) : number());
    }
    for (uint32_t k = 0; k < t; k++, n += 40) {
        memset(to + n, 'a', 24);
        words(to + n + 24, 4);
    }
    return n;
}

static uint32_t payload(uint32_t type, uint8_t *to)
{
    switch (type) {
    case WIRE_CALL:
        return call(to);
    case WIRE_RUN:
        return run(to);
    case WIRE_BUFFER:
        put_u32(to, pick(6));
        put_u32(to + 4, pick(4));
        put_u32(to + 8, pick(2) ? 16 * pick(64) : number());
        put_u32(to + 12, pick(2) ? 16 * pick(64) : number());
        return pick(30) ? 16 : pick(64);
    case WIRE_CHECKSUM:
        put_u32(to, pick(10) ? pick(6) : number());
        return 4 + words(to + 4, pick(18));
    case WIRE_HELLO:
        put_u32(to, WIRE_HELLO_WORD);
        return 4;
    case WIRE_WRITE:
        words(to, 2);
        put_u32(to, pick(4));
        return 8 + pick(WIRE_PAYLOAD - 8);
    default:
        words(to, 4);
        put_u32(to, pick(4) ? pick(4) : number());
        return pick(4) ? 4 * (1 + pick(4)) : pick(WIRE_PAYLOAD);
    }
}

static void noise(void)
{
    uint8_t data[1200];
    uint32_t n = pick(sizeof data);
    for (uint32_t i = 0; i < n; i++)
        data[i] = pick(3) ? (uint8_t)draw() : (uint8_t)('a' + pick(26));
    host_put(data, n);
}

/* Kernels run with sizes that the client chose: only their arguments' checks are under test here. */
uint64_t agent_port_call(emu_function function, const char *signature, const uintptr_t *w, uint32_t n, uint32_t dirt)
{
    (void)function, (void)signature, (void)w, (void)n, (void)dirt;
    return 0x0123456789ABCDEFu;
}

int main(int argc, char **argv)
{
    static const uint8_t types[] = {WIRE_HELLO, WIRE_POLL, WIRE_PING, WIRE_LIST, WIRE_BUFFER, WIRE_BUFFER, WIRE_WRITE,
                                    WIRE_READ, WIRE_FILL, WIRE_CHECKSUM, WIRE_CALL, WIRE_RUN, WIRE_BAUD, WIRE_MAP, 0x42};
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : 1000, taken = 0, executed = 0;
    uint8_t *out = malloc(1 << 16), data[WIRE_FRAME + 1024];
    state = (argc > 1 ? strtoull(argv[1], NULL, 10) : 1) * 0x9E3779B97F4A7C15u + 1;
    host_memory(aligned_alloc(64, SRAM), SRAM, aligned_alloc(64, PSRAM), PSRAM, aligned_alloc(64, MODEL), MODEL);
    host_start(0);
    for (uint64_t i = 0; i < count; i++) {
        uint32_t type = types[pick(sizeof types)], n;
        if (pick(500) == 0)
            session = sequence = 1 + pick(3);
        if (pick(40) == 0) {
            noise();
        } else {
            n = payload(type, data);
            if (n > WIRE_PAYLOAD)
                n = WIRE_PAYLOAD;
            send(type, data, n, type < WIRE_LIST ? 0 : agent_state.next + pick(20) / 18);
        }
        uint32_t before = agent_state.next;
        host_work();
        executed += agent_state.next > before ? agent_state.next - before : 0;
        sequence = agent_state.next;
        if (agent_state.session != 0 && pick(4))
            session = agent_state.session;
        for (uint32_t got; (got = host_take(out, 1 << 16)) != 0;)
            taken += got;
    }
    printf("%llu inputs, %llu bytes answered, %u damaged pieces, %llu executed\n", (unsigned long long)count,
           (unsigned long long)taken, agent_state.receiver.damaged, (unsigned long long)executed);
    free(out);
    return 0;
}
