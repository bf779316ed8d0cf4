"""What the process must provide: subnormals, a fresh compile cache, and no double arithmetic by accident."""

from __future__ import annotations

import ctypes
import os
import platform
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import llvmlite.binding as llvm
import numpy as np
import pytest

from emu.numerics import jit as jit_module
from emu.numerics.subnormals import SubnormalsDisabledError, require_subnormals, subnormals_work
from tests.numerics import reference

ROOT = Path(__file__).parents[2]

_SET_MXCSR = """
declare void @llvm.x86.sse.ldmxcsr(i8*)
define void @set_mxcsr(i8* %value) {
  call void @llvm.x86.sse.ldmxcsr(i8* %value)
  ret void
}
"""
_DEFAULT, _FLUSHING = 0x1F80, 0x1F80 | 0x8040


def set_mxcsr(value: int) -> None:
    """Set the floating-point mode of this thread, as loading a library built with fast-math does."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine()
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(_SET_MXCSR.replace("i8*", "ptr")), machine)
    engine.finalize_object()
    cell = ctypes.c_uint32(value)
    ctypes.CFUNCTYPE(None, ctypes.c_void_p)(engine.get_function_address("set_mxcsr"))(ctypes.addressof(cell))


def test_subnormals_work_here():
    assert subnormals_work()
    require_subnormals()


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="sets the x86 register MXCSR")
def test_flushed_subnormals_are_refused():
    require_subnormals.cache_clear()
    set_mxcsr(_FLUSHING)
    try:
        assert not subnormals_work()
        with pytest.raises(SubnormalsDisabledError, match="flushes subnormal floats"):
            require_subnormals()
    finally:
        set_mxcsr(_DEFAULT)
    assert subnormals_work()
    require_subnormals()


def test_numpy_itself_keeps_subnormals():
    smallest = np.array([1], np.uint32).view(np.float32)
    assert (smallest * np.float32(1)).view(np.uint32)[0] == 1


_PROBE = """
import numpy as np
from emu.kernels import load_all
kernels = load_all()
y = np.zeros(1, np.float32)
kernels["exp_array"].mirror(np.ones(1, np.float32), y, np.int32(1))
acc = np.zeros(1, np.int32)
status = kernels["dot_rows_ternary_c"].mirror(
    np.zeros(0, np.int8), np.int32(0), np.int32(0), np.zeros(0, np.uint8), np.int32(-1), acc, np.int32(1))
print(hex(y.view(np.uint32)[0]), status)
"""


def run_probe(root: Path, cache: Path) -> tuple[str, str]:
    """(bits of exp(1), status of a call with -1 columns) from the sources in ``root``."""
    environment = {**os.environ, "PYTHONPATH": str(root), "NUMBA_CACHE_DIR": str(cache)}
    done = subprocess.run(
        [sys.executable, "-c", _PROBE], cwd=root, env=environment, capture_output=True, text=True, check=True
    )
    bits, status = done.stdout.split()
    return bits, status


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_an_edited_building_block_is_compiled_again(tmp_path):
    """Numba's own stamp covers one file; a kernel must not keep the arithmetic of an older building block."""
    for room in ("kernels", "numerics"):
        shutil.copytree(
            ROOT / "emu" / room, tmp_path / "emu" / room, ignore=shutil.ignore_patterns("__pycache__")
        )
    shutil.copy(ROOT / "emu" / "__init__.py", tmp_path / "emu")  # else an installed package comes first
    cache = tmp_path / "cache"
    before = run_probe(tmp_path, cache)
    assert before == (hex(reference.exp_f32(reference.ONE)), "1")
    assert sorted(cache.rglob("*.exp_array-*.nbi")), "nothing was cached"
    edit(tmp_path / "emu" / "numerics" / "exponential.py", "0x3F317AFD", "0x3F317AFE")
    edit(tmp_path / "emu" / "kernels" / "dot_checks.py", "MISALIGNED = 0, 1, 2, 3", "MISALIGNED = 0, 7, 2, 3")
    after = run_probe(tmp_path, cache)
    assert after[0] != before[0]
    assert after[1] == "7"


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("keep", [0, 40, 0.5, 0.99])
def test_a_damaged_cache_entry_is_compiled_again(tmp_path, monkeypatch, suffix, keep):
    monkeypatch.setattr("numba.core.config.CACHE_DIR", str(tmp_path))

    def build():
        def triple(x):
            return x + x + x

        return jit_module.jit(triple)

    assert build()(np.float32(2)) == 6
    (entry,) = tmp_path.rglob(f"*.{suffix}")
    content = entry.read_bytes()
    entry.write_bytes(content[: int(keep if keep > 1 else keep * len(content))])
    again = build()
    assert again(np.float32(2)) == 6
    assert sum(again.stats.cache_misses.values()) == 1
    mended = build()
    assert mended(np.float32(2)) == 6
    assert sum(mended.stats.cache_hits.values()) == 1


def test_an_unwritable_cache_is_said_once_and_the_mirror_still_works(monkeypatch):
    def refuse(self: object) -> None:
        raise RuntimeError("cannot cache function 'double': no locator available")

    from numba.core.dispatcher import Dispatcher

    monkeypatch.setattr(Dispatcher, "enable_caching", refuse)
    jit_module._warn_uncached.cache_clear()

    def double(x):
        return x + x

    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR"):
        compiled = jit_module.jit(double)
    assert compiled(np.float32(2)) == 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        jit_module.jit(double)
