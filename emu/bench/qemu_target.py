"""Scalar kernels of firmware/ under QEMU, as a target like the engine: same cases, same layout of buffers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from emu.bench.kernel_subjects import words_of
from emu.bench.qemu import QemuError, QemuProgram
from emu.kernels.spec import Kernel
from emu.verify.case import Case
from emu.verify.errors import TargetFault
from emu.verify.layout import Layout
from emu.verify.target import ARENA_BYTES, CallResult, host_arena


class QemuTarget:
    """Runs kernels of ``LINUX_KERNELS`` in one QEMU process; pointers equal the engine's modulo 4096."""

    name = "qemu"

    def __init__(self, elf: Path) -> None:
        """Raises OSError when QEMU cannot be started."""
        self._elf = elf
        self._program = QemuProgram(elf)
        self._arena = host_arena()

    def call(self, kernel: Kernel, case: Case) -> CallResult:
        """Run a case. Raises TargetFault when the code ends QEMU; a new QEMU is started then."""
        layout = Layout(kernel, case, self._arena)
        base = self._program.arena
        words = words_of(kernel, case, layout, base)
        try:
            self._program.write(base, self._arena[: layout.used].tobytes())
            low, high = self._program.call(kernel.symbol, words)
            after = self._program.read(base, layout.used)
        except QemuError as error:
            self._restart()
            raise TargetFault("qemu", str(error), kernel.symbol, 0) from None
        self._arena[: layout.used] = np.frombuffer(after, np.uint8)
        return CallResult(layout.outputs(), _returned(kernel, low, high), None, layout.damage())

    def _restart(self) -> None:
        self._program.close()
        self._program = QemuProgram(self._elf)

    def arena(self, size: int = ARENA_BYTES) -> bytes:
        """The first ``size`` bytes of the buffers' memory after the last call."""
        return self._arena[:size].tobytes()

    def close(self) -> None:
        """End QEMU."""
        self._program.close()


def _returned(kernel: Kernel, low: int, high: int) -> int | None:
    if kernel.returns is None:
        return None
    bits = 8 * np.dtype(kernel.returns).itemsize
    return (high << 32 | low) & ((1 << bits) - 1)
