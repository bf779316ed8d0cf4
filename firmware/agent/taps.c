/* What happens between two stages of a model: digest, cycles, wanted tensors, and a look at the line. */
#include "run.h"

uint32_t run_tick(struct run_job *job)
{
    uint32_t now = agent_port_cycles(), passed = now - job->last;
    job->cycles += passed;
    job->last = now;
    return passed;
}

static int is_named(const char *a, const char *b)
{
    for (uint32_t i = 0; i < WIRE_NAME; i++)
        if (a[i] != b[i])
            return 0;
    return 1;
}

static void copy_element(struct run_tensor *tensor, const uint8_t *from, uint32_t element, uint32_t item)
{
    uint32_t at = element - tensor->first;
    if (element < tensor->first || at >= tensor->length / item)
        return;
    for (uint32_t k = 0; k < item; k++)
        tensor->to[at * item + k] = from[k];
    tensor->seen++;
}

static void copy_piece(struct run_tensor *tensor, const struct emu_piece *piece)
{
    uint32_t item = piece->dtype == EMU_F32 || piece->dtype == EMU_S32 ? 4 : 1;
    tensor->dtype = piece->dtype;
    tensor->total = piece->total;
    for (uint32_t r = 0; r < piece->rows; r++) {
        const uint8_t *row = (const uint8_t *)piece->data + r * piece->stride * item;
        for (uint32_t c = 0; c < piece->cols; c++)
            copy_element(tensor, row + c * item, piece->first + r * piece->pitch + c, item);
    }
}

/* The cycles of a stage are those before its first and between its pieces. */
static void add_cycles(struct emu_digest_table *table, const char *name, uint32_t passed)
{
    for (uint32_t i = table->count; i-- > 0;)
        if (is_named(table->records[i].name, name)) {
            table->records[i].unused += passed;
            return;
        }
}

static void tell(struct run_job *job, const char *name)
{
    uint32_t second = agent_state.board->hertz;
    agent_set_where(name);
    if (second == 0 || agent_port_cycles() - job->mark < second)
        return;
    job->mark = agent_port_cycles();
    for (uint32_t i = 0; i < WIRE_NAME; i++)
        agent_state.control[WIRE_HEADER + i] = (uint8_t)agent_state.where[i];
    agent_send_event(WIRE_MARK, WIRE_NAME);
}

void run_tap(struct emu_run *run, const char *name, const struct emu_piece *piece)
{
    struct run_job *job = run->tap_arg;
    uint32_t passed = run_tick(job);
    agent_port_limit(0);
    if (job->table.capacity != 0) {
        run->tap_arg = &job->table;
        emu_tap_digest(run, name, piece);
        run->tap_arg = job;
        add_cycles(&job->table, name, passed);
    }
    for (uint32_t i = 0; i < job->tensor_count; i++)
        if (is_named(job->tensors[i].name, name))
            copy_piece(&job->tensors[i], piece);
    tell(job, name);
    agent_listen();
    job->last = agent_port_cycles();
    agent_port_limit(job->limit);
}
