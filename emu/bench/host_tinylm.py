"""The language model of firmware/ compiled for this machine with gcc -O3, plain C twins for vector code."""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from emu.models.modelfile.reader import ModelFile
from emu.numerics.types import F32Array, U8Array
from emu.toolchain.build import firmware_folder
from emu.toolchain.errors import ToolchainError
from emu.toolchain.plugin import host_compiler

FLAGS = ("-O3", "-std=c11", "-ffp-contract=off", "-fno-builtin", "-shared", "-fPIC")
_FOLDERS = ("numerics", "kernels", "models")
_LEFT_OUT = ("memory.c", "table.c")
_RUN_BYTES, _LM_BYTES, _ARENA, _SLOW = 256, 4096, 294_912, 442_368
_TWINS = """
#include "copy_taps.h"
#include "emu_model_kernels.h"
#include "int4_rows_job.h"
#include "linear_row.h"
#include "softmax_row.h"
int32_t dot_rows_s8(const int8_t *x, int32_t xs, int32_t rows, const int8_t *w, int32_t cols, int32_t *acc,
                    int32_t as)
{ return dot_rows_s8_c(x, xs, rows, w, cols, acc, as); }
int32_t dot_rows_ternary(const int8_t *x, int32_t xs, int32_t rows, const uint8_t *w, int32_t cols,
                         int32_t *acc, int32_t as)
{ return dot_rows_ternary_c(x, xs, rows, w, cols, acc, as); }
int32_t dot_groups_int4(const int8_t *x, const uint8_t *w, int32_t cols, int32_t group, int32_t *acc)
{ return dot_groups_int4_c(x, w, cols, group, acc); }
void linear_row_q8(const struct linear_row *row) { linear_row_q8_c(row); }
void copy_vectors(const int8_t *from, int8_t *to, int32_t n, int32_t relu)
{ copy_taps(from, to, 16 * n, relu); }
int32_t softmax_row(struct softmax_row *row) { return softmax_row_c(row); }
void linear_int4_rows(const struct int4_rows *r)
{
    int32_t acc[64];
    linear_int4_q8_c(r->x, r->sx, 16 * r->vectors, r->w, r->w_stride, r->scale, 16 * r->group_vectors,
                     r->outs, r->y, acc);
}
"""


class HostTinylm:
    """One sequence at a time. Raises LookupError when there is no compiler or no source."""

    def __init__(self, file: ModelFile) -> None:
        self._library = _compiled()
        self._data = _aligned(len(file.data))
        self._data[:] = np.asarray(file.data).view(np.uint8)
        self._arena, self._slow = _aligned(_ARENA), _aligned(_SLOW)
        self._run, self._lm = _aligned(_RUN_BYTES), _aligned(_LM_BYTES)
        self._logits = np.zeros(4096, np.float32)

    def start(self) -> None:
        """A new sequence. Raises LookupError when the library refuses the model."""
        self._run[:] = 0
        head = np.zeros(2, [("place", "u8"), ("size", "u4"), ("unused", "u4")])
        head["place"] = self._arena.ctypes.data, self._slow.ctypes.data
        head["size"] = _ARENA, _SLOW
        self._run[:32] = head.view(np.uint8)
        size = ctypes.c_uint32(len(self._data))
        status = self._library.tinylm_start(_at(self._data), size, 0, _at(self._lm), _at(self._run))
        if status:
            raise LookupError(f"tinylm_start gives status {status} on this machine")

    def step(self, token: int) -> F32Array:
        """Logits float32 [4096] after one more token."""
        self._library.tinylm_step(_at(self._lm), token, _at(self._logits), _at(self._run))
        return self._logits


def _at(array: U8Array | F32Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)


def _aligned(size: int) -> U8Array:
    whole = np.zeros(size + 64, np.uint8)
    start = -whole.ctypes.data % 64
    return whole[start : start + size]


def _compiled() -> ctypes.CDLL:
    try:
        root, compiler = firmware_folder(), host_compiler()
    except ToolchainError as error:
        raise LookupError(error.problem) from error
    sources = [p for f in _FOLDERS for p in sorted((root / f).glob("*.c")) if p.name not in _LEFT_OUT]
    includes = [f"-I{root / name}" for name in ("include", *_FOLDERS)]
    with tempfile.TemporaryDirectory() as scratch:
        twins, out = Path(scratch) / "twins.c", Path(scratch) / "tinylm.so"
        twins.write_text(_TWINS)
        command = [*compiler, *FLAGS, *includes, *map(str, [*sources, twins]), "-lm", "-o", str(out)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise LookupError(f"{compiler[0]} failed: {done.stderr.strip().splitlines()[-1]}")
        return ctypes.CDLL(str(out))
