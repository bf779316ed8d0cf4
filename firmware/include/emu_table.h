/* The kernels of an image by name: what an agent offers, and what keeps a linker from dropping them. */
#ifndef EMU_TABLE_H
#define EMU_TABLE_H

typedef void (*emu_function)(void);

struct emu_kernel {
    const char *name;
    emu_function function;
};

/* Ends with a null name. */
extern const struct emu_kernel emu_kernel_table[];

#endif
