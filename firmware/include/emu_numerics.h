/* The scalar building blocks of docs/numerics.md, for kernels and models. */
#ifndef EMU_NUMERICS_H
#define EMU_NUMERICS_H

#include "../numerics/activation.h"
#include "../numerics/arith.h"
#include "../numerics/digest.h"
#include "../numerics/exp.h"
#include "../numerics/ln.h"
#include "../numerics/quantize.h"
#include "../numerics/random.h"
#include "../numerics/rne.h"
#include "../numerics/sincos.h"

#endif
