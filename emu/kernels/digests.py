"""Stage digests and CRC-32. Accumulators are uint64 [1]; pieces of a stage add up in them."""

from __future__ import annotations

import numpy as np

from emu.kernels.shapes import N_SCALAR, N
from emu.kernels.spec import Dim, Scalar, Tensor, kernel
from emu.numerics.bits import canonical_bits
from emu.numerics.crc32 import crc32_step
from emu.numerics.digest import mix
from emu.numerics.jit import jit
from emu.numerics.types import F32Array, S8Array, S32Array, U8Array, U64Array

_ACC = Tensor("acc", "uint64", (1,), role="inout", values="bits")
_FIRST = Scalar("first", "uint32", values="bits")


@kernel(
    "digest_f32",
    Tensor("x", "float32", ("n",), values="any"),
    N_SCALAR,
    _FIRST,
    _ACC,
    dims=(N,),
    source="numerics 11",
)
@jit
def digest_f32(x: F32Array, n: np.int32, first: np.uint32, acc: U64Array) -> None:
    """Add the elements of float32 x [n], indices first.. modulo 2^32; every NaN counts as 0x7FC00000."""
    words = x.view(np.uint32)
    total = acc[0]
    for i in range(n):
        total += mix(np.uint32(first + i), canonical_bits(words[i]))
    acc[0] = total


@kernel(
    "digest_s8",
    Tensor("x", "int8", ("n",), values="s8_full"),
    N_SCALAR,
    _FIRST,
    _ACC,
    dims=(N,),
    source="numerics 11",
)
@jit
def digest_s8(x: S8Array, n: np.int32, first: np.uint32, acc: U64Array) -> None:
    """Add the elements of int8 x [n], each as its 8 bits zero-extended."""
    total = acc[0]
    for i in range(n):
        total += mix(np.uint32(first + i), np.uint32(np.uint8(x[i])))
    acc[0] = total


@kernel(
    "digest_u8",
    Tensor("x", "uint8", ("n",), values="u8"),
    N_SCALAR,
    _FIRST,
    _ACC,
    dims=(N,),
    source="numerics 11",
)
@jit
def digest_u8(x: U8Array, n: np.int32, first: np.uint32, acc: U64Array) -> None:
    """Add the elements of uint8 x [n]."""
    total = acc[0]
    for i in range(n):
        total += mix(np.uint32(first + i), np.uint32(x[i]))
    acc[0] = total


@kernel(
    "digest_s32",
    Tensor("x", "int32", ("n",), values="s32"),
    N_SCALAR,
    _FIRST,
    _ACC,
    dims=(N,),
    source="numerics 11",
)
@jit
def digest_s32(x: S32Array, n: np.int32, first: np.uint32, acc: U64Array) -> None:
    """Add the elements of int32 x [n]."""
    total = acc[0]
    for i in range(n):
        total += mix(np.uint32(first + i), np.uint32(x[i]))
    acc[0] = total


@kernel(
    "digest_end",
    Scalar("n", "uint32", values="bits"),
    Scalar("type", "uint32", "type"),
    _ACC,
    dims=(Dim("type", 0, 3),),
    source="numerics 11",
)
@jit
def digest_end(n: np.uint32, type: np.uint32, acc: U64Array) -> None:
    """Close a stage of n elements: add mix(n, type), type 0 float32, 1 int8, 2 uint8, 3 int32."""
    acc[0] += mix(n, type)


@kernel(
    "crc32_bytes",
    Scalar("crc", "uint32", values="bits"),
    Tensor("data", "uint8", ("n",), values="u8"),
    N_SCALAR,
    dims=(N,),
    returns="uint32",
    source="zlib.crc32",
)
@jit
def crc32_bytes(crc: np.uint32, data: U8Array, n: np.int32) -> np.uint32:
    """CRC-32 of data [n] continued from ``crc`` (0 at the start), as ``zlib.crc32(data, crc)``."""
    rest = np.uint32(~crc)
    for i in range(n):
        rest = crc32_step(rest, data[i])
    return np.uint32(~rest)
