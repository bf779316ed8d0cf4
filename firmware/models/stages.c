/* Names of stages and calls of the tap. See stages.h. */
#include "stages.h"

static char *put_number(char *to, const char *end, uint32_t number)
{
    char digits[10];
    int32_t n = 0;
    do
        digits[n++] = (char)('0' + number % 10u);
    while ((number /= 10u) != 0);
    while (n > 0 && to < end)
        *to++ = digits[--n];
    return to;
}

void stage_name(const struct emu_run *run, const char *template, char *name)
{
    char *to = name, *end = name + EMU_STAGE_NAME - 1;
    for (; *template != 0 && to < end; template++) {
        if (*template == '#')
            to = put_number(to, end, (uint32_t)run->step);
        else if (*template == '*')
            to = put_number(to, end, (uint32_t)run->block);
        else
            *to++ = *template == '@' ? (run->branch ? 'u' : 'c') : *template;
    }
    while (to <= end)
        *to++ = 0;
}

void stage_tap_piece(struct emu_run *run, const char *template, const struct emu_piece *piece)
{
    char name[EMU_STAGE_NAME];
    stage_name(run, template, name);
    run->tap(run, name, piece);
}

void stage_tap(struct emu_run *run, const char *template, const void *data, uint32_t dtype, int32_t rows,
               int32_t cols, int32_t stride)
{
    struct emu_piece piece = {
        data, dtype, 0, (uint32_t)rows, (uint32_t)cols, (uint32_t)stride, (uint32_t)cols, (uint32_t)(rows * cols)};
    stage_tap_piece(run, template, &piece);
}

int32_t stage_status(struct emu_run *run, const char *template, int32_t status, int32_t bad)
{
    if (status == EMU_NOT_FINITE) {
        stage_name(run, template, run->stage);
        run->bad = (uint32_t)bad;
    }
    return status;
}
