"""Spec files of the tests, as text: mirrors of two functions of the reference image, one of them wrong."""

GOOD = """
import numpy as np
from emu.kernels.spec import Dim, Scalar, Tensor, kernel

N = Dim("n", 0, 40)


@kernel(
    "fmix32_array",
    Tensor("x", "uint32", ("n",), values="bits"),
    Tensor("y", "uint32", ("n",), role="out"),
    Scalar("n", "int32", "n"),
    dims=(N,),
)
def fmix32_array(x, y, n):
    v = x.copy()
    v ^= v >> np.uint32(16)
    v *= np.uint32(0x85EBCA6B)
    v ^= v >> np.uint32(13)
    v *= np.uint32(0xC2B2AE35)
    y[:] = v ^ (v >> np.uint32(16))


@kernel(
    "relu_in_place",
    Tensor("x", "float32", ("n",), role="inout", values="finite"),
    Scalar("n", "int32", "n"),
    dims=(N,),
)
def relu_in_place(x, n):
    x[:] = np.where(x > 0, x, np.float32(0))
"""
WRONG = GOOD.replace("np.where(x > 0, x,", "np.where((x > 0) | ((n > 30) & (x > -1)), x,")
"""Its relu lets values between -1 and 0 pass in long arrays."""
