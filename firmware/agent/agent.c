/* Sessions, the window, and frames without a sequence number. docs/wire.md sections 3 to 5. */
#include "state.h"
#include "emu_kernels.h"

struct agent agent_state;

static void send_control(uint32_t type, uint32_t length, uint32_t session)
{
    frame_send(agent_state.control, type, length, session, 0, agent_state.next);
}

void agent_send_event(uint32_t type, uint32_t length)
{
    send_control(type, length, agent_state.session);
}

/* --- HELLO, STATUS, BOOT, LOG ------------------------------------------------------------------------------- */
void agent_hello_payload(uint8_t *to)
{
    const struct agent_board *board = agent_state.board;
    to = put_u32(put_u32(to, WIRE_AGENT_VERSION), WIRE_SPEC_VERSION);
    to = put_u64(put_u64(to, board->nonce), board->identity);
    to = put_u32(to, agent_state.build);
    to = put_u32(put_u32(to, (uint32_t)(uintptr_t)board->code), board->code_bytes);
    to = put_u32(put_u32(to, (uint32_t)(uintptr_t)board->constants), board->constants_bytes);
    to = put_u32(put_u32(to, WIRE_PAYLOAD), WIRE_WINDOW);
    to = put_u32(put_u32(to, board->flags), board->hertz);
    to = put_u32(put_u32(to, board->region_count), agent_state.kernels);
    to = put_u32(put_u32(to, AGENT_MODELS), WIRE_BUFFERS);
    agent_pad((char *)to, board->name, 32);
    const struct agent_fault *fault = &agent_state.fault;
    to = put_u32(to + 32, agent_state.reason);
    to = put_u32(put_u32(put_u32(to, fault->vector), fault->cause), fault->pc);
    to = put_u32(put_u32(put_u32(to, fault->vaddr), fault->ps), fault->sequence);
    for (uint32_t i = 0; i < WIRE_NAME; i++)
        *to++ = (uint8_t)fault->where[i];
}

static void start_session(uint32_t session)
{
    agent_state.session = session;
    agent_state.base = agent_state.next = 1;
    for (uint32_t i = 0; i < WIRE_WINDOW; i++)
        agent_state.slots[i].state = SLOT_EMPTY;
    agent_drop_buffers();
}

static void hello(uint32_t session, const uint8_t *payload, uint32_t length)
{
    if (length != 4 || get_u32(payload) != WIRE_HELLO_WORD || session == 0)
        return;
    if (session != agent_state.session)
        start_session(session);
    agent_hello_payload(agent_state.control + WIRE_HEADER);
    send_control(WIRE_HELLO | WIRE_REPLY, HELLO_BYTES, session);
}

static struct agent_slot *slot_of(uint32_t sequence)
{
    return &agent_state.slots[sequence % WIRE_WINDOW];
}

static void send_status(uint32_t session, uint32_t tag)
{
    struct frame_receiver *receiver = &agent_state.receiver;
    uint32_t have = 0, done = 0;
    for (uint32_t i = 0; i < WIRE_WINDOW && agent_state.session != 0; i++) {
        uint32_t state = slot_of(agent_state.base + i)->state;
        have |= (uint32_t)(state != SLOT_EMPTY) << i;
        done |= (uint32_t)(state == SLOT_DONE) << i;
    }
    uint8_t *to = put_u64(agent_state.control + WIRE_HEADER, agent_state.board->nonce);
    to = put_u32(put_u32(to, agent_state.session), agent_state.base);
    to = put_u32(put_u32(put_u32(to, have), done), receiver->damaged);
    to = put_u16(put_u16(to, receiver->last_length), receiver->last_newlines);
    to = put_u32(put_u16(put_u16(to, receiver->last_returns), 0), agent_port_lost());
    for (uint32_t i = 0; i < WIRE_NAME; i++)
        *to++ = (uint8_t)agent_state.where[i];
    put_u32(to, tag);
    send_control(WIRE_POLL | WIRE_REPLY, 68, session);
}

void agent_log(const char *text)
{
    uint32_t length = agent_length(text);
    if (length > WIRE_PAYLOAD)
        length = WIRE_PAYLOAD;
    for (uint32_t i = 0; i < length; i++)
        agent_state.control[WIRE_HEADER + i] = (uint8_t)text[i];
    agent_send_event(WIRE_LOG, length);
}

/* --- the window ------------------------------------------------------------------------------------------------ */
static void send_reply(struct agent_slot *slot, uint32_t sequence)
{
    frame_send(slot->frame, slot->type | WIRE_REPLY, slot->length, agent_state.session, sequence, agent_state.next);
}

/* The host has all replies below ack. It cannot have those of requests that were not executed. */
static void acknowledge(uint32_t ack)
{
    if (ack - agent_state.base > agent_state.next - agent_state.base)
        return;
    for (; agent_state.base != ack; agent_state.base++)
        slot_of(agent_state.base)->state = SLOT_EMPTY;
}

static void take_request(const uint8_t *frame, uint32_t type, uint32_t length, uint32_t sequence)
{
    if (sequence - agent_state.base >= WIRE_WINDOW)
        return;
    struct agent_slot *slot = slot_of(sequence);
    if (slot->state == SLOT_DONE)
        send_reply(slot, sequence);
    if (slot->state != SLOT_EMPTY)
        return;
    slot->state = SLOT_WAITING;
    slot->type = type;
    slot->length = length;
    for (uint32_t i = 0; i < length; i++)
        slot->frame[WIRE_HEADER + i] = frame[WIRE_HEADER + i];
}

static void poll(uint32_t session, const uint8_t *payload, uint32_t length)
{
    if (length != 8)
        return;
    uint32_t wanted = get_u32(payload);
    for (uint32_t i = 0; i < WIRE_WINDOW && session == agent_state.session; i++) {
        struct agent_slot *slot = slot_of(agent_state.base + i);
        if ((wanted >> i & 1u) != 0 && slot->state == SLOT_DONE)
            send_reply(slot, agent_state.base + i);
    }
    send_status(session, get_u32(payload + 4));
}

static void take_control(const uint8_t *frame, uint32_t type, uint32_t length, uint32_t session)
{
    const uint8_t *payload = frame + WIRE_HEADER;
    if (type == WIRE_HELLO) {
        hello(session, payload, length);
    } else if (type == WIRE_POLL) {
        poll(session, payload, length);
    } else if (type == WIRE_PING) {
        for (uint32_t i = 0; i < length; i++)
            agent_state.control[WIRE_HEADER + i] = payload[i];
        send_control(WIRE_PING | WIRE_REPLY, length, session);
    } else if (type == WIRE_RESET && length == 4 && get_u32(payload) == WIRE_RESET_WORD) {
        agent_port_reset();
    }
}

static void take_frame(void)
{
    const uint8_t *frame = agent_state.receiver.piece;
    uint32_t session = get_u32(frame + 4), sequence = get_u32(frame + 8), type = frame[1];
    agent_state.old_baud = 0; /* the speed is right */
    if (session == agent_state.session && session != 0)
        acknowledge(get_u32(frame + 12));
    if (sequence == 0)
        take_control(frame, type, agent_state.receiver.length, session);
    else if (session == agent_state.session && session != 0)
        take_request(frame, type, agent_state.receiver.length, sequence);
}

static void take_byte(uint8_t byte)
{
    int found = frame_byte(&agent_state.receiver, byte);
    agent_state.quiet++;
    if (found > 0) {
        take_frame();
    } else if (found < 0 && agent_state.quiet >= 256) {
        agent_state.quiet = 0;
        send_status(agent_state.session, 0);
    }
}

/* --- execution --------------------------------------------------------------------------------------------------- */
static agent_handler *handler_of(uint32_t type)
{
    static agent_handler *const handlers[] = {
        agent_list, agent_buffer, agent_write, agent_read, agent_fill, agent_checksum, agent_call, agent_run, agent_baud,
        agent_map};
    uint32_t index = type - WIRE_LIST;
    return index < sizeof handlers / sizeof handlers[0] ? handlers[index] : 0;
}

static void change_speed(void)
{
    uint32_t old = agent_port_speed();
    if (agent_port_baud(agent_state.new_baud) == 0)
        agent_state.old_baud = old;
    agent_state.baud_since = agent_port_cycles();
    agent_state.new_baud = 0;
}

static void execute(struct agent_slot *slot)
{
    uint32_t session = agent_state.session, out = 4;
    for (uint32_t i = 0; i < slot->length; i++)
        agent_state.request[i] = slot->frame[WIRE_HEADER + i];
    slot->state = SLOT_RUNNING;
    agent_state.running = agent_state.next;
    agent_handler *handler = handler_of(slot->type);
    uint32_t status = handler != 0 ? handler(agent_state.request, slot->length, agent_state.reply, &out)
                                   : (uint32_t)WIRE_UNKNOWN_TYPE;
    uint32_t sequence = agent_state.running;
    agent_state.running = 0;
    agent_set_where("");
    if (session != agent_state.session)
        return; /* another session began meanwhile: nobody waits for this */
    put_u32(agent_state.reply, status);
    slot->length = status == WIRE_OK || status >= WIRE_SIZE ? out : 4;
    for (uint32_t i = 0; i < slot->length; i++)
        slot->frame[WIRE_HEADER + i] = agent_state.reply[i];
    slot->state = SLOT_DONE;
    agent_state.next = sequence + 1;
    send_reply(slot, sequence);
    if (agent_state.new_baud != 0)
        change_speed();
}

/* The host could not follow a change of speed: go back. */
static void watch_speed(void)
{
    uint32_t second = agent_state.board->hertz;
    if (agent_state.old_baud != 0 && second != 0 && agent_port_cycles() - agent_state.baud_since > second) {
        agent_port_baud(agent_state.old_baud);
        agent_state.old_baud = 0;
    }
}

static int listen_once(void)
{
    uint8_t some[128];
    uint32_t n = agent_port_read(some, sizeof some);
    for (uint32_t i = 0; i < n; i++)
        take_byte(some[i]);
    watch_speed();
    return n != 0;
}

void agent_listen(void)
{
    for (uint32_t i = 0; i < 32 && listen_once(); i++) /* a host that never stops cannot stop the computation */
        ;
}

int agent_work(void)
{
    int busy = listen_once();
    struct agent_slot *slot = slot_of(agent_state.next);
    if (agent_state.session == 0 || slot->state != SLOT_WAITING)
        return busy;
    execute(slot);
    return 1;
}

const char *agent_where(uint32_t *sequence)
{
    *sequence = agent_state.running;
    return agent_state.where;
}

void agent_start(uint32_t reason, const struct agent_fault *fault)
{
    static const struct agent_fault none;
    const struct agent_board *board = agent_port_board();
    agent_state.reason = reason;
    agent_state.fault = fault != 0 ? *fault : none;
    agent_state.guard_before = agent_state.guard_behind = AGENT_GUARD;
    agent_state.board = board;
    agent_state.build = crc32_bytes(0, board->code, (int32_t)board->code_bytes);
    agent_state.build = crc32_bytes(agent_state.build, board->constants, (int32_t)board->constants_bytes);
    agent_state.session = agent_state.running = agent_state.old_baud = agent_state.new_baud = 0;
    agent_state.base = agent_state.next = 1;
    agent_state.quiet = 256;
    agent_drop_buffers();
    agent_state.checked.size = agent_state.sequence.size = 0;
    agent_set_where("");
    for (agent_state.table = 0; emu_kernel_table[agent_state.table].name != 0;)
        agent_state.table++;
    for (agent_state.kernels = agent_state.table; agent_extra[agent_state.kernels - agent_state.table].name != 0;)
        agent_state.kernels++;
    agent_hello_payload(agent_state.control + WIRE_HEADER);
    agent_send_event(WIRE_BOOT, HELLO_BYTES);
}
