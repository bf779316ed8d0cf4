"""Object code of a matrix product as the product compiles it on another processor than this one."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SAPPHIRE_RAPIDS = {"NUMBA_CPU_NAME": "sapphirerapids", "NUMBA_CPU_FEATURES": "+amx-tile,+amx-int8"}
"""The first processor with AMX; it has everything that the other variants need, too."""
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


def compile_for(processor: dict[str, str], variant: str) -> ObjectCode:
    """Compile a variant in a process that takes ``processor`` for its own."""
    with tempfile.TemporaryDirectory(prefix="other-cpu.") as folder:
        file = Path(folder) / "object.o"
        env = {**os.environ, **processor, "NUMBA_CACHE_DIR": folder, "PYTHONPATH": str(ROOT)}
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
