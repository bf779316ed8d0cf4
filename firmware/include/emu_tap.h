/* Stage taps for a firmware of yours: one line where a stage is complete.
 *
 *     EMU_STAGE("conv1", buffer, EMU_TAP_S8, 64 * 16);
 *
 * Built with -DEMU_TAPS the line calls a function that does nothing: the place where the emulator looks at the data.
 * Without it nothing is left of the line. The elements lie one behind the other, as the next layer reads them; the
 * mirror of the model yields the same name with the same number of elements (docs/your-models.md).
 */
#ifndef EMU_TAP_H
#define EMU_TAP_H

#include <stdint.h>

enum emu_tap_type {
    EMU_TAP_F32 = 0,
    EMU_TAP_S8 = 1,
    EMU_TAP_U8 = 2,
    EMU_TAP_S32 = 3,
    EMU_TAP_S16 = 4,
    EMU_TAP_U16 = 5,
    EMU_TAP_U32 = 6,
};

#ifdef EMU_TAPS
#ifdef __cplusplus
extern "C"
#endif
    __attribute__((weak, noinline)) void
    emu_stage_seen(const char *name, const void *data, uint32_t type, uint32_t count)
{
    __asm__ volatile("" : : "r"(name), "r"(data), "r"(type), "r"(count) : "memory");
}
#define EMU_STAGE(name, data, type, count) emu_stage_seen(name, data, type, (uint32_t)(count))
#else
#define EMU_STAGE(name, data, type, count) ((void)0)
#endif

#endif
