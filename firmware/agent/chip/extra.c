/* Functions of this chip that are no kernels. */
#include "probes.h"
#include "state.h"

#define SHIFT 228u /* offsets in a probe's input */
#define LANES 96u
#define MOST_SHIFT 128u

int32_t selftest_probe(uint32_t index, const uint8_t *in, uint8_t *out);

/* Where a probe reads and writes follows from its input: 2 when that is not its scratch memory. The probe with an index takes
 * small ones, and the largest, which leads 4 bytes back or 262,140 ahead: that is what it is to tell. */
static int32_t checked_probe(uint32_t index, const uint8_t *in, uint8_t *out)
{
    if ((((uintptr_t)in | (uintptr_t)out) & 15u) != 0 || get_u32(in + SHIFT) > MOST_SHIFT)
        return 2;
    for (uint32_t i = 0; i < 16 && index == PROBE_INDEXED; i += 2)
        if (get_u16(in + LANES + i) > 15 && get_u16(in + LANES + i) != 0xFFFFu)
            return 2;
    return selftest_probe(index, in, out);
}

const struct agent_kernel agent_extra[] = {
    {"selftest_probe", "i I<B=B", PROBE_EXTENTS, (emu_function)checked_probe},
    {0, 0, 0, 0},
};
