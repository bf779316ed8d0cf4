"""firmware/ compiled for this machine: kernels and models, without the chip's compiler or an emulator.

A second path to the same arithmetic. Plain C twins stand in for vector code (host_vectors.c); the memory
functions, which would replace the C library's, and the table of kernels are left out.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

FIRMWARE = Path(__file__).resolve().parents[2] / "firmware"
FOLDERS = ("numerics", "kernels", "models")
LEFT_OUT = ("memory.c", "table.c")
FLAGS = ["-std=c11", "-O2", "-ffp-contract=off", "-fno-builtin", "-Wall", "-Wextra", "-Werror"]


def host_compiler() -> str:
    """A C compiler of this machine; without one the test fails in CI and is skipped, aloud, elsewhere."""
    found = shutil.which("gcc") or shutil.which("cc")
    if found is None and os.environ.get("CI"):
        pytest.fail("no C compiler; to mend: apt-get install gcc", pytrace=False)
    if found is None:
        pytest.skip("no C compiler; to mend: apt-get install gcc")
    return str(found)


def build(out: Path, firmware: Path = FIRMWARE) -> ctypes.CDLL:
    """Compile the C sources to `out` and load them."""
    sources = [path for folder in FOLDERS for path in (firmware / folder).glob("*.c")]
    used = sorted(str(path) for path in sources if path.name not in LEFT_OUT)
    used.append(str(Path(__file__).with_name("host_vectors.c")))
    includes = [f"-I{firmware / name}" for name in ("include", *FOLDERS)]
    subprocess.run(
        [host_compiler(), *FLAGS, "-shared", "-fPIC", *includes, *used, "-o", str(out)], check=True
    )
    return ctypes.CDLL(str(out))


def call(library: ctypes.CDLL, symbol: str, *args: Any, returns: Any = ctypes.c_int32) -> int:
    """Call `symbol`: arrays become pointers, Python ints 32-bit words, numpy floats floats."""
    function: Callable[..., Any] = getattr(library, symbol)
    function.restype = returns  # type: ignore[attr-defined]
    return int(function(*[_argument(arg) for arg in args]))


def _argument(arg: Any) -> Any:
    if isinstance(arg, np.ndarray):
        return ctypes.c_void_p(arg.ctypes.data)
    if isinstance(arg, np.floating | float):
        return ctypes.c_float(float(arg))
    return ctypes.c_uint32(int(arg) & 0xFFFFFFFF)
