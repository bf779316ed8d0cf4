/* Signatures: docs/wire.md section 6. */
#ifndef EMU_AGENT_SIGNATURE_H
#define EMU_AGENT_SIGNATURE_H

#include <stdint.h>

struct parameter {
    int pointer;
    int written;
    char type;
    uint32_t words; /* 2 for a 64-bit scalar */
};

/* Where the parameters begin. */
static inline const char *signature_parameters(const char *signature)
{
    while (*signature != 0 && *signature != ' ')
        signature++;
    return *signature == ' ' ? signature + 1 : signature;
}

/* The parameter at `at`; returns what follows it, NULL at the end. */
static inline const char *signature_next(const char *at, struct parameter *found)
{
    found->pointer = *at == '<' || *at == '>' || *at == '=';
    found->written = found->pointer && *at != '<';
    at += found->pointer;
    if (*at == 0)
        return 0;
    found->type = *at;
    found->words = !found->pointer && (*at == 'q' || *at == 'Q') ? 2 : 1;
    return at + 1;
}

#endif
