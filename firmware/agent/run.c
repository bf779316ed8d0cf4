/* RUN: checks everything, lets a model run, reports. docs/wire.md section 6. */
#include "run.h"
#include "signature.h"

#define RUN_HEAD 44u
#define ARGUMENT_BYTES 12u
#define TENSOR_BYTES 40u

static struct run_job job;

static uint32_t memory_of(const uint8_t *in, uint8_t **start, uint32_t *size)
{
    *start = 0;
    *size = 0;
    if (get_u32(in) == WIRE_NONE)
        return WIRE_OK;
    uint32_t status = agent_rest(get_u32(in), get_u32(in + 4), 1, start, size);
    if (status == WIRE_OK)
        agent_touch(*start, *size);
    return status == WIRE_OK && ((uintptr_t)*start & 15u) != 0 ? (uint32_t)WIRE_VALUE : status;
}

static uint32_t take_memory(const uint8_t *in)
{
    uint8_t *records = 0;
    uint32_t bytes = 0, status = memory_of(in, &job.run.arena, &job.run.arena_bytes);
    if (status == WIRE_OK)
        status = memory_of(in + 8, &job.run.slow, &job.run.slow_bytes);
    if (status == WIRE_OK)
        status = memory_of(in + 16, &records, &bytes);
    job.table.records = (struct emu_digest *)(void *)records;
    job.table.capacity = bytes / sizeof(struct emu_digest);
    job.pieces[0] = (struct run_piece){job.run.arena, job.run.arena_bytes, 1};
    job.pieces[1] = (struct run_piece){job.run.slow, job.run.slow_bytes, 1};
    job.pieces[2] = (struct run_piece){records, bytes, 1};
    job.piece_count = 3;
    return status;
}

static uint32_t take_argument(const uint8_t *in, const struct parameter *wanted, struct run_argument *to)
{
    uint32_t buffer = get_u32(in), item = wanted->type == 'b' || wanted->type == 'B' ? 1 : 4;
    if ((buffer != WIRE_NONE) != wanted->pointer)
        return WIRE_ARGUMENT;
    to->word = get_u32(in + 4);
    to->length = get_u32(in + 8);
    to->data = 0;
    if (buffer == WIRE_NONE || buffer == WIRE_NULL)
        return buffer == WIRE_NULL && (to->word | to->length) != 0 ? WIRE_ARGUMENT : WIRE_OK;
    uint32_t status = agent_range(buffer, to->word, to->length, wanted->written, &to->data);
    job.pieces[job.piece_count++] = (struct run_piece){to->data, status == WIRE_OK ? to->length : 0, wanted->written};
    if (status == WIRE_OK && (to->length % item != 0 || (uintptr_t)to->data % item != 0))
        status = WIRE_VALUE;
    return status;
}

static uint32_t take_arguments(const uint8_t *in, uint32_t n, const char *signature)
{
    struct parameter wanted;
    uint32_t i = 0, status;
    const char *at = signature_parameters(signature);
    while ((at = signature_next(at, &wanted)) != 0) {
        if (i >= n)
            return WIRE_ARGUMENT;
        if ((status = take_argument(in + ARGUMENT_BYTES * i, &wanted, &job.arguments[i])) != WIRE_OK)
            return status;
        i++;
    }
    return i == n ? (uint32_t)WIRE_OK : (uint32_t)WIRE_ARGUMENT;
}

static uint32_t take_tensors(const uint8_t *in, uint32_t n)
{
    uint32_t status = WIRE_OK;
    job.tensor_count = n;
    for (uint32_t i = 0; i < n && status == WIRE_OK; i++, in += TENSOR_BYTES) {
        struct run_tensor *tensor = &job.tensors[i];
        for (uint32_t k = 0; k < WIRE_NAME; k++)
            tensor->name[k] = (char)in[k];
        tensor->length = get_u32(in + WIRE_NAME + 8);
        tensor->first = get_u32(in + WIRE_NAME + 12);
        tensor->dtype = tensor->total = tensor->seen = 0;
        status = agent_range(get_u32(in + WIRE_NAME), get_u32(in + WIRE_NAME + 4), tensor->length, 1, &tensor->to);
        job.pieces[job.piece_count++] = (struct run_piece){tensor->to, status == WIRE_OK ? tensor->length : 0, 1};
    }
    return status;
}

/* What the model writes has no byte in common with anything else that it uses. */
static uint32_t check_pieces(void)
{
    for (uint32_t i = 0; i < job.piece_count; i++)
        for (uint32_t k = 0; k < i; k++) {
            const struct run_piece *a = &job.pieces[i], *b = &job.pieces[k];
            if ((a->written || b->written) && agent_overlap(a->start, a->size, b->start, b->size))
                return WIRE_OVERLAP;
        }
    return WIRE_OK;
}

/* A file that the agent has found good itself need not be looked through again. */
static int is_checked(const struct run_argument *file)
{
    return file->length != 0 && file->data == agent_state.checked.start && file->length == agent_state.checked.size;
}

static void prepare(uint32_t flags)
{
    const struct agent_board *board = agent_state.board;
    job.table.count = job.table.dropped = 0;
    if ((flags & WIRE_DIGESTS) == 0)
        job.table.capacity = 0;
    job.run.tap = (flags & WIRE_DIGESTS) != 0 || job.tensor_count != 0 ? run_tap : 0;
    job.run.tap_arg = &job;
    job.run.par = (flags & WIRE_BOTH_CORES) != 0 ? board->par : 0;
    job.run.par_arg = (flags & WIRE_BOTH_CORES) != 0 ? board->par_arg : 0;
    job.run.flags = (flags & WIRE_TRUST) != 0 && is_checked(&job.arguments[0]) ? EMU_TRUST_MODEL : 0;
    job.run.arena_high = job.run.slow_high = job.run.bad = job.run.reason = job.run.row = job.run.column = 0;
    job.run.step = job.run.branch = job.run.block = 0;
    job.run.arena_used = job.run.slow_used = 0;
    agent_pad(job.run.stage, "", EMU_STAGE_NAME);
    job.cycles = 0;
}

static uint8_t *put_report(uint8_t *to, int32_t result)
{
    const struct emu_run *run = &job.run;
    to = put_u64(put_u32(to, (uint32_t)result), job.cycles);
    to = put_u32(put_u32(to, job.table.count), job.table.dropped);
    to = put_u32(put_u32(put_u32(to, run->arena_high), run->slow_high), run->bad);
    to = put_u32(put_u32(put_u32(to, run->reason), run->row), run->column);
    for (uint32_t i = 0; i < EMU_STAGE_NAME; i++)
        *to++ = (uint8_t)run->stage[i];
    for (uint32_t i = 0; i < job.tensor_count; i++) {
        const struct run_tensor *tensor = &job.tensors[i];
        to = put_u32(put_u32(put_u32(to, tensor->dtype), tensor->total), tensor->seen);
    }
    return to;
}

/* Everything but the model itself: a status of the wire. */
static uint32_t take(const uint8_t *in, uint32_t length)
{
    if (length < RUN_HEAD)
        return WIRE_BAD_LENGTH;
    uint32_t index = get_u32(in), a = get_u16(in + 40), t = get_u16(in + 42);
    if (a > 8 || t > RUN_TENSORS || length != RUN_HEAD + ARGUMENT_BYTES * a + TENSOR_BYTES * t)
        return WIRE_BAD_LENGTH;
    if (index >= AGENT_MODELS)
        return WIRE_NO_SUCH;
    const struct agent_model *model = &agent_models[index];
    if (get_u32(in + 4) != agent_fingerprint(model->name, model->signature))
        return WIRE_FINGERPRINT;
    job.limit = get_u32(in + 8);
    if (job.limit > 0x7FFFFFFFu || (get_u32(in + 12) & ~7u) != 0)
        return WIRE_VALUE;
    uint32_t status = take_memory(in + 16);
    if (status == WIRE_OK)
        status = take_arguments(in + RUN_HEAD, a, model->signature);
    if (status == WIRE_OK)
        status = take_tensors(in + RUN_HEAD + ARGUMENT_BYTES * a, t);
    return status == WIRE_OK ? check_pieces() : status;
}

uint32_t agent_run(const uint8_t *in, uint32_t length, uint8_t *reply, uint32_t *out)
{
    int32_t result = 0;
    uint32_t status = take(in, length);
    if (status != WIRE_OK)
        return status;
    uint32_t index = get_u32(in);
    prepare(get_u32(in + 12));
    agent_set_where(agent_models[index].name);
    if (job.limit == 0)
        job.limit = 0x7FFFFFFFu;
    agent_port_limit(job.limit);
    job.last = job.mark = agent_port_cycles();
    status = run_model(index, &job, &result);
    run_tick(&job);
    agent_port_limit(0);
    if (status == WIRE_OK && result == EMU_OK && run_has_file(index))
        agent_state.checked = (struct agent_span){job.arguments[0].data, job.arguments[0].length};
    if (status == WIRE_OK)
        *out = (uint32_t)(put_report(reply + 4, result) - reply);
    return status;
}
