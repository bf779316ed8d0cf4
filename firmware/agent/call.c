/* CALL and BAUD. docs/wire.md sections 6 and 8. */
#include "state.h"
#include "signature.h"
#include "extents.h"
#include "emu_kernels.h"

#define CALL_HEAD 20u

/* Pointer: an address in a buffer, NULL for the null pointer. Word: the word. */
static uint32_t take_argument(const uint8_t *in, const struct parameter *wanted, struct call_argument *to)
{
    uint32_t buffer = get_u32(in), value = get_u32(in + 4);
    if ((buffer != WIRE_NONE) != wanted->pointer || (buffer == WIRE_NULL && value != 0))
        return WIRE_ARGUMENT;
    *to = (struct call_argument){.word = value, .pointer = wanted->pointer, .written = wanted->written};
    if (buffer == WIRE_NONE || buffer == WIRE_NULL)
        return WIRE_OK;
    uint8_t *where = 0;
    uint32_t status = agent_rest(buffer, value, wanted->written, &where, &to->room);
    to->word = (uintptr_t)where;
    return status;
}

static uint32_t take_arguments(const uint8_t *in, uint32_t n, const char *signature, struct call_argument *to)
{
    struct parameter wanted;
    uint32_t i = 0, status;
    const char *at = signature_parameters(signature);
    while ((at = signature_next(at, &wanted)) != 0)
        for (uint32_t k = 0; k < wanted.words; k++, i++)
            if (i >= n)
                return WIRE_ARGUMENT;
            else if ((status = take_argument(in + 8 * i, &wanted, &to[i])) != WIRE_OK)
                return status;
    return i == n ? (uint32_t)WIRE_OK : (uint32_t)WIRE_ARGUMENT;
}

/* Every pointer but NULL leads to where no memory is, with the same alignment. */
static void lead_nowhere(struct call_argument *arguments, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        arguments[i].bytes = 0;
        if (arguments[i].pointer && arguments[i].word != 0)
            arguments[i].word = agent_state.board->nowhere + (arguments[i].word & 63u);
    }
}

/* A status, and which argument it is about. */
static uint32_t check_sizes(const struct agent_kernel *kernel, struct call_argument *arguments, uint32_t n,
                            uint32_t flags, uint32_t *which)
{
    enum extent_problem problem = extents_check(kernel->extents, arguments, n, which);
    if ((flags & WIRE_CALL_NOWHERE) != 0 && problem != EXTENT_NO_VALUE) {
        lead_nowhere(arguments, n);
        return agent_state.board->nowhere != 0 ? WIRE_OK : WIRE_IMPOSSIBLE;
    }
    for (uint32_t i = 0; i < n && problem == EXTENT_NONE; i++)
        if (arguments[i].written)
            agent_touch((const uint8_t *)arguments[i].word, arguments[i].bytes);
    return problem == EXTENT_NONE ? WIRE_OK : problem == EXTENT_OVERLAP ? WIRE_OVERLAP : WIRE_SIZE;
}

static uint32_t check_results(const uint8_t *in, uint32_t n)
{
    uint32_t status = WIRE_OK;
    for (uint32_t i = 0; i < n && status == WIRE_OK; i++, in += 12) {
        uint8_t *from;
        status = agent_range(get_u32(in), get_u32(in + 4), get_u32(in + 8), 0, &from);
    }
    return status;
}

/* CRCs of all results, then the bytes of the first that fit: the length of the reply. */
static uint32_t put_results(const uint8_t *in, uint32_t n, uint8_t *reply, uint32_t at)
{
    uint32_t bytes = at + 4 * n;
    int fits = 1;
    for (uint32_t i = 0; i < n; i++, in += 12) {
        uint8_t *from = 0;
        uint32_t size = get_u32(in + 8);
        agent_range(get_u32(in), get_u32(in + 4), size, 0, &from);
        put_u32(reply + at + 4 * i, crc32_bytes(0, from, (int32_t)size));
        fits = fits && size <= WIRE_PAYLOAD - bytes;
        for (uint32_t k = 0; k < size && fits; k++)
            reply[bytes++] = from[k];
    }
    return bytes;
}

static void check_guards(void)
{
    if (agent_state.guard_before != AGENT_GUARD || agent_state.guard_behind != AGENT_GUARD)
        agent_port_damaged();
}

/* Calls the function and puts the reply together: its length. */
static uint32_t call(const struct agent_kernel *kernel, const uint8_t *in, const struct call_argument *arguments,
                     uint8_t *reply)
{
    uint32_t limit = get_u32(in + 8), a = in[16], r = get_u16(in + 18);
    uintptr_t words[WIRE_ARGUMENTS] = {0};
    for (uint32_t i = 0; i < a; i++)
        words[i] = arguments[i].word;
    agent_set_where(kernel->name);
    agent_port_limit(limit != 0 ? limit : 0x7FFFFFFFu);
    uint32_t before = agent_port_cycles();
    uint64_t value = agent_port_call(kernel->function, kernel->signature, words, a, get_u32(in + 12));
    uint32_t cycles = agent_port_cycles() - before;
    agent_port_limit(0);
    check_guards();
    put_u32(put_u64(reply + 4, value), cycles);
    return put_results(in + CALL_HEAD + 8 * a, r, reply, 16);
}

uint32_t agent_call(const uint8_t *in, uint32_t length, uint8_t *reply, uint32_t *out)
{
    struct call_argument arguments[WIRE_ARGUMENTS];
    if (length < CALL_HEAD)
        return WIRE_BAD_LENGTH;
    uint32_t index = get_u32(in), a = in[16], flags = in[17], r = get_u16(in + 18), which = 0;
    if (a > WIRE_ARGUMENTS || length != CALL_HEAD + 8 * a + 12 * r)
        return WIRE_BAD_LENGTH;
    if (index >= agent_state.kernels)
        return WIRE_NO_SUCH;
    struct agent_kernel kernel = agent_kernel(index);
    if (get_u32(in + 4) != agent_fingerprint(kernel.name, kernel.signature))
        return WIRE_FINGERPRINT;
    if (get_u32(in + 8) > 0x7FFFFFFFu || (flags & ~WIRE_CALL_NOWHERE) != 0)
        return WIRE_VALUE;
    uint32_t status = take_arguments(in + CALL_HEAD, a, kernel.signature, arguments);
    if (status == WIRE_OK)
        status = check_results(in + CALL_HEAD + 8 * a, r);
    if (status == WIRE_OK && (status = check_sizes(&kernel, arguments, a, flags, &which)) >= WIRE_SIZE) {
        put_u32(reply + 4, which);
        *out = 8;
    }
    if (status == WIRE_OK)
        *out = call(&kernel, in, arguments, reply);
    return status;
}

uint32_t agent_baud(const uint8_t *in, uint32_t length, uint8_t *reply, uint32_t *out)
{
    (void)reply, (void)out;
    if (length != 4)
        return WIRE_BAD_LENGTH;
    if ((agent_state.board->flags & WIRE_CAN_BAUD) == 0)
        return WIRE_IMPOSSIBLE;
    uint32_t baud = get_u32(in);
    if (baud < 9600 || baud > 5000000)
        return WIRE_VALUE;
    agent_state.new_baud = baud;
    return WIRE_OK;
}
