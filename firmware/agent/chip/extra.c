/* Functions of this chip that are no kernels. */
#include "state.h"

int32_t selftest_probe(uint32_t index, const uint8_t *in, uint8_t *out);

const struct agent_kernel agent_extra[] = {
    {"selftest_probe", "i I<B=B", (emu_function)selftest_probe},
    {0, 0, 0},
};
