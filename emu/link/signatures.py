"""Signatures and fingerprints of functions, as agent and host compare them (docs/wire.md section 6)."""

from __future__ import annotations

import zlib

from emu.kernels.spec import Global, Inline, Kernel, Param, Scalar, Tensor

_LETTERS = {
    "int8": "b",
    "uint8": "B",
    "int16": "h",
    "uint16": "H",
    "int32": "i",
    "uint32": "I",
    "int64": "q",
    "uint64": "Q",
    "float32": "f",
}
_ROLES = {"in": "<", "out": ">", "inout": "="}


def signature(kernel: Kernel) -> str:
    """``i <bi>i`` for ``int32_t f(const int8_t *x, int32_t n, int32_t *y)``.

    Raises ValueError for a dtype or a kind of parameter that the wire has no letter for.
    """
    returns = "v" if kernel.returns is None else _letter(kernel.returns)
    return f"{returns} {''.join(_parameter(p) for p in kernel.params)}"


def fingerprint(name: str, text: str) -> int:
    """CRC-32 of ``name signature``."""
    return zlib.crc32(f"{name} {text}".encode())


def _parameter(param: Param) -> str:
    if not isinstance(param, Tensor | Scalar) or isinstance(param, Global | Inline):
        raise ValueError(f"{type(param).__name__} {param.name!r}: boards know pointers and numbers only")
    role = _ROLES[param.role] if isinstance(param, Tensor) else ""
    return role + _letter(param.dtype)


def _letter(dtype: str) -> str:
    if dtype not in _LETTERS:
        raise ValueError(f"no letter of docs/wire.md stands for {dtype}")
    return _LETTERS[dtype]
