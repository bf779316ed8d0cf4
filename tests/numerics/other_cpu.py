"""Object code of a matrix product as the product compiles it on another processor than this one."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROCESSORS = {
    "sapphirerapids": "+amx-tile,+amx-int8",
    "cascadelake": "+avx512vnni",
    "haswell": "+avx2",
    "x86-64": "+sse2",
}
"""LLVM's names of the first processors with AMX, AVX-512 VNNI, AVX2, and of any; features that they have.

(Where no feature is named, numba would add those of this machine.)
"""
_CODE = """
import sys
from pathlib import Path
from emu.numerics.gemm.native import native

function = native(sys.argv[1])  # compiled as always, never called
Path(sys.argv[2]).write_bytes(function._library._get_compiled_object())
print(function._wrapper_name)
"""


@dataclass(frozen=True)
class ObjectCode:
    """An ELF object file and the symbol of the C function in it."""

    data: bytes
    symbol: str


def compile_for(processor: str, variant: str) -> ObjectCode:
    """Compile a variant in a process that takes one of PROCESSORS for its own."""
    with tempfile.TemporaryDirectory(prefix="other-cpu.") as folder:
        file = Path(folder) / "object.o"
        own = {"NUMBA_CPU_NAME": processor, "NUMBA_CPU_FEATURES": PROCESSORS[processor]}
        env = {**os.environ, **own, "NUMBA_CACHE_DIR": folder, "PYTHONPATH": str(ROOT)}
        command = [sys.executable, "-c", _CODE, variant, str(file)]
        done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, f"{variant} cannot be compiled for {processor}:\n{done.stderr}"
        return ObjectCode(file.read_bytes(), done.stdout.strip())


def disassembly(code: ObjectCode) -> str:
    """The instructions as objdump prints them."""
    with tempfile.NamedTemporaryFile(suffix=".o") as file:
        file.write(code.data)
        file.flush()
        command = ["objdump", "--disassemble", "--no-show-raw-insn", file.name]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout
