/* What a function takes and touches: formulas of docs/wire.md section 6. */
#ifndef EMU_AGENT_EXTENTS_H
#define EMU_AGENT_EXTENTS_H

#include <stdint.h>

/* An argument of CALL. For a pointer: `room` bytes lie behind it in its buffer, `bytes` of them may be touched. */
struct call_argument {
    uintptr_t word;
    uint32_t room;
    uint32_t bytes;
    int pointer;
    int written;
};

enum extent_problem { EXTENT_NONE = 0, EXTENT_DOMAIN, EXTENT_NO_VALUE, EXTENT_OUTSIDE, EXTENT_OVERLAP };

/* Fills `bytes`. Something other than EXTENT_NONE: *which is the argument. EXTENT_DOMAIN: a number that the function does not take
 * (said before anything about pointers); EXTENT_NO_VALUE: more than 2^31 - 1 bytes; EXTENT_OUTSIDE: more than there are;
 * EXTENT_OVERLAP: a piece that is written, and another, have bytes in common. */
enum extent_problem extents_check(const char *formulas, struct call_argument *arguments, uint32_t n, uint32_t *which);

#endif
