"""A spec file of the bundled firmware, for docs/pytest.md."""

import numpy as np

from emu.spec import In, Out, Size, kernel


@kernel(n=(0, 40))
def fmix32_array(x: In("uint32", "n", values="bits"), y: Out("uint32", "n"), n: Size("n")):
    v = x.copy()
    v ^= v >> np.uint32(16)
    v *= np.uint32(0x85EBCA6B)
    v ^= v >> np.uint32(13)
    v *= np.uint32(0xC2B2AE35)
    y[:] = v ^ (v >> np.uint32(16))
