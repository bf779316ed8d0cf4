/* Calls functions of this program for someone at the other end of a pipe.
 *
 * A request is three words, a kind, an address and a size: WRITE is followed by that many bytes for the memory, READ
 * is answered by as many from it, CALL is followed by 24 words of arguments, as they
 * stand in registers and on the stack, and answered by the two words of the last call's result. The end of the
 * input ends the program.
 */
#include <stdint.h>

enum { WRITE = 1, READ = 2, CALL = 3 };
enum { LINUX_READ = 12, LINUX_WRITE = 13, LINUX_EXIT = 118 };
enum { CLEAN = 0, CUT_SHORT = 1, BAD_REQUEST = 2 };

/* Where the other end may put its data. */
uint8_t serve_arena[8 << 20] __attribute__((aligned(4096)));

typedef uint32_t word;
typedef uint64_t function(
    word, word, word, word, word, word, word, word, word, word, word, word,
    word, word, word, word, word, word, word, word, word, word, word, word);

int32_t linux_call(uint32_t number, uint32_t a, uint32_t b, uint32_t c);
void serve(void);

static void leave(uint32_t status)
{
    for (;;)
        linux_call(LINUX_EXIT, status, 0, 0);
}

/* Moves all bytes, or leaves; only between requests is the end of the input in its place. */
static void move(uint32_t call, uint32_t file, uint32_t address, uint32_t size, uint32_t at_end)
{
    while (size != 0) {
        int32_t done = linux_call(call, file, address, size);
        if (done <= 0)
            leave(at_end);
        address += (uint32_t)done;
        size -= (uint32_t)done;
        at_end = CUT_SHORT;
    }
}

static void receive(void *to, uint32_t size, uint32_t at_end)
{
    move(LINUX_READ, 0, (uint32_t)to, size, at_end);
}

static void call(uint32_t address)
{
    word a[24];
    receive(a, sizeof a, CUT_SHORT);
    uint64_t result = ((function *)address)(
        a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11],
        a[12], a[13], a[14], a[15], a[16], a[17], a[18], a[19], a[20], a[21], a[22], a[23]);
    move(LINUX_WRITE, 1, (uint32_t)&result, sizeof result, CUT_SHORT);
}

void serve(void)
{
    struct {
        uint32_t kind, address, size;
    } request;
    for (;;) {
        receive(&request, sizeof request, CLEAN);
        if (request.kind == WRITE)
            receive((void *)request.address, request.size, CUT_SHORT);
        else if (request.kind == READ)
            move(LINUX_WRITE, 1, request.address, request.size, CUT_SHORT);
        else if (request.kind == CALL)
            call(request.address);
        else
            leave(BAD_REQUEST);
    }
}
