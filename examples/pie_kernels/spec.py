"""The truth about kernels.S: assembly has no prototypes in its debug information, the spec alone has them."""

import numpy as np

from emu.spec import Dim, In, Out, Size, Value, kernel

LENGTHS = Dim("n", 0, 2048, 16, special=(16, 32, 2048))


@kernel(n=LENGTHS)
def dot_s8(
    x: In("int8", "n", align=16),
    w: In("int8", "n", align=16),
    n: Size("n"),
    shift: Value("int32", "[0,31]"),
) -> np.int32:
    total = int(x.astype(np.int64) @ w.astype(np.int64)) >> int(shift)
    return max(-(2**31), min(total, 2**31 - 1))


@kernel(n=LENGTHS)
def add_relu_s8(
    a: In("int8", "n", align=16),
    b: In("int8", "n", align=16),
    y: Out("int8", "n", align=16),
    n: Size("n"),
):
    y[:] = np.clip(a.astype(np.int16) + b, 0, 127)
