"""What both specs of ESP-NN draw: numbers of TensorFlow Lite's int8 layers, and sizes of planes."""

import os
from typing import Any

from emu.spec import In, Value

MULT, SHIFT, BIAS = "[0x40000000,0x7fffffff]", "[-31,3]", "[-20000,20000]"
OFFSET, ZERO = Value("int32", "[-127,128]"), Value("int32", "[-128,127]")
LOWEST, HIGHEST = Value("int32", "[-128,0]"), Value("int32", "[1,127]")
SHIFTS, MULTS = In("int32", "outs", values=SHIFT), In("int32", "outs", values=MULT)
FAULTS = bool(os.environ.get("ESP_NN_FAULTS"))
"""Whether shapes are drawn for which functions are known to be wrong (docs/foreign-code.md)."""

PLANES: dict[str, Any] = dict(  # noqa: C408 (as it is passed on)
    in_w=(1, 9), in_h=(1, 9), size_w=(1, 5), size_h=(1, 5), step_w=(1, 3), step_h=(1, 3),
    pad_w=(0, 2), pad_h=(0, 2),
    tail_w=(0, 1), tail_h=(0, 1),
    out_w="max(1, (in_w + 2 * pad_w + tail_w - size_w) // step_w + 1)",
    out_h="max(1, (in_h + 2 * pad_h + tail_h - size_h) // step_h + 1)",
    requires="2 * pad_w + tail_w < size_w and size_w <= in_w + 2 * pad_w"
             " and 2 * pad_h + tail_h < size_h and size_h <= in_h + 2 * pad_h"
             " and (out_w - 1) * step_w - pad_w < in_w and (out_h - 1) * step_h - pad_h < in_h",
)  # fmt: skip
"""``tail``: one row of padding more behind than before."""
