"""The truth about layers.cpp: methods with their object, and a network of objects that constructors make."""

import numpy as np

from emu.spec import Address, In, Inline, Out, Size, Struct, Value, kernel


def scaled(sums, factor, zero):
    return np.clip((sums.astype(np.int64) * factor + (1 << 15) >> 16) + zero, -128, 127)


@kernel("nn::Dense::run", rows=(1, 9), cols=(1, 70))
def dense_run(
    self: Struct(
        "Dense",
        weights_=In("int8", "rows", "cols"),
        calls_=Inline("uint32", 1, role="inout"),
        members={
            "_vptr$Layer": Address("_ZTVN2nn5DenseE+8"),
            "scale_.factor": Value("int32", "[0,65536]"),
            "scale_.zero": Value("int8"),
            "rows_": Size("rows", "int16"),
            "cols_": Size("cols", "int16"),
        },
    ),
    input: In("int8", "cols"),
    output: Out("int8", "rows"),
):
    self.calls_ += 1
    rows = self.weights_.reshape(-1, len(input)).astype(np.int64)
    output[:] = scaled(rows @ input, self.scale_.factor, self.scale_.zero)


@kernel(setup="init_array")
def network(input: In("int8", 8), output: Out("int8", 2)):
    weights = np.array([[1, -2, 3, -4], [5, -6, 7, -8]])
    output[:] = scaled(weights @ input.reshape(4, 2).max(axis=1), 3 << 15, -1)
