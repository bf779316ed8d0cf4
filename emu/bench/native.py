"""The programs of firmware/bench/ compiled for this machine by ``gcc -O2``."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

from emu.bench.programs import Program
from emu.toolchain import ToolchainError
from emu.toolchain.build import firmware_folder

FLAGS = ("-std=c11", "-O2", "-ffp-contract=off", "-fPIC", "-shared")
_LEFT_OUT = "table.c"


@cache
def why_not() -> str:
    """Why there is no native code on this machine, with what mends it; empty if there is."""
    if not shutil.which("gcc"):
        return "gcc is not installed (apt-get install gcc)"
    try:
        firmware_folder()
    except ToolchainError as error:
        return f"{error.problem} ({error.mend})"
    return ""


@cache
def version() -> str:
    """First line of what the compiler says about itself."""
    text = subprocess.run(["gcc", "--version"], capture_output=True, text=True, check=False).stdout
    return (text.splitlines() or ["?"])[0]


class NativePrograms:
    """The programs as functions of a library of this process. Raises CalledProcessError when gcc fails."""

    def __init__(self) -> None:
        with tempfile.TemporaryDirectory(prefix="emu-native-") as folder:
            library = Path(folder) / "programs.so"
            sources = (firmware_folder() / "bench").glob("*.c")
            used = sorted(str(path) for path in sources if path.name != _LEFT_OUT)
            subprocess.run(["gcc", *FLAGS, *used, "-o", library], check=True)
            self._library = ctypes.CDLL(str(library))

    def call(self, program: Program, work: np.ndarray, size: int, seed: int, rounds: int) -> int:
        """Run a program on ``work`` (uint8, at least its bytes); its checksum."""
        function = self._library[program.symbol]
        function.restype = ctypes.c_uint32
        words = (ctypes.c_uint32(value) for value in (size, seed, rounds))
        return int(function(ctypes.c_void_p(work.ctypes.data), *words))
