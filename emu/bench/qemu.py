"""A program of Linux under qemu-xtensa that calls its functions on request (firmware/bench/linux/serve.c)."""

from __future__ import annotations

import shutil
import struct
import subprocess
import tempfile
import time
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import IO

from elftools.elf.elffile import ELFFile

from emu.cpu.calls import Argument, ArgumentError, argument_words, pack_words

QEMU = "qemu-xtensa"
CPU = "de233_fpu"
"""QEMU's core that is nearest to the chip's: same FPU, windows, loops, MAC16.

It has no high product and no vector unit.
"""
ARENA = "serve_arena"
_WRITE, _READ, _CALL = 1, 2, 3
_WORDS = 24
"""Words of arguments that a call carries (serve.c)."""


class QemuError(RuntimeError):
    """QEMU ended, or the program under it did."""


@cache
def why_not() -> str:
    """Why QEMU cannot be a peer on this machine, with the command that mends it; empty if it can."""
    if not shutil.which(QEMU):
        return f"{QEMU} is not installed (apt-get install qemu-user)"
    cpus = subprocess.run([QEMU, "-cpu", "help"], capture_output=True, text=True, check=False).stdout
    return "" if CPU in cpus else f"{QEMU} has no core {CPU} (a newer qemu-user has)"


@cache
def version() -> str:
    """First line of what QEMU says about itself."""
    text = subprocess.run([QEMU, "--version"], capture_output=True, text=True, check=False).stdout
    return (text.splitlines() or ["?"])[0]


def one_at_a_time() -> str:
    """The option for translation blocks of one instruction; its name depends on QEMU's age."""
    text = subprocess.run([QEMU, "--help"], capture_output=True, text=True, check=False).stdout
    return "-one-insn-per-tb" if "-one-insn-per-tb" in text else "-singlestep"


class QemuProgram:
    """The running program. Memory is its own; ``arena`` is the address of 8 MiB for anything."""

    def __init__(self, elf: Path, options: Sequence[str] = (), cpu: str = CPU) -> None:
        """Raises OSError when QEMU cannot be started."""
        self.symbols = read_symbols(elf)
        self.arena = self.symbols[ARENA]
        self._folder = tempfile.TemporaryDirectory(prefix="emu-qemu-")
        command: list[str | Path] = [QEMU, *options, "-cpu", cpu, _runnable(elf, Path(self._folder.name))]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def __enter__(self) -> QemuProgram:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """End the program; it ends by itself when its input does."""
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:
                continue
        try:
            self._process.wait(2)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._folder.cleanup()

    def cpu_seconds(self) -> float:
        """Seconds that the program has run on a processor; of the clock where the system does not tell."""
        try:
            return int(Path(f"/proc/{self._process.pid}/schedstat").read_text().split()[0]) * 1e-9
        except (OSError, ValueError, IndexError):
            return time.perf_counter()

    def write(self, address: int, data: bytes) -> None:
        """Put bytes into the program's memory. Raises QemuError."""
        self._send(struct.pack("<3I", _WRITE, address, len(data)) + data)

    def read(self, address: int, size: int) -> bytes:
        """Bytes of the program's memory. Raises QemuError."""
        self._send(struct.pack("<3I", _READ, address, size))
        return self._receive(size)

    def call(self, function: str | int, arguments: Sequence[Argument] = ()) -> tuple[int, int]:
        """Call a function by symbol or address; the words a2 and a3 of its result.

        Arguments as for :meth:`emu.cpu.Engine.call`. Raises QemuError, with QEMU's words, when the code stops
        it; ArgumentError for too many arguments; KeyError for an unknown symbol.
        """
        address = self.symbols[function] if isinstance(function, str) else function
        in_registers, on_stack = argument_words(arguments)
        words = [*in_registers, *on_stack]
        if len(words) > _WORDS:
            raise ArgumentError(f"{function}: {len(words)} words of arguments; {_WORDS} can be passed")
        words += [0] * (_WORDS - len(words))
        self._send(struct.pack("<3I", _CALL, address, 0) + pack_words(words))
        low, high = struct.unpack("<2I", self._receive(8))
        return low, high

    def _send(self, data: bytes) -> None:
        pipe = _pipe(self._process.stdin)
        try:
            pipe.write(data)
            pipe.flush()
        except BrokenPipeError:
            raise self._ended() from None

    def _receive(self, size: int) -> bytes:
        data = _pipe(self._process.stdout).read(size)
        if len(data) != size:
            raise self._ended()
        return data

    def _ended(self) -> QemuError:
        status = self._process.wait()
        said = _pipe(self._process.stderr).read().decode(errors="replace").strip()
        return QemuError(f"{QEMU} ended with status {status}{': ' if said else ''}{said}")


def _runnable(elf: Path, folder: Path) -> Path:
    """A copy that may be executed: QEMU ends without a word when it may not, as in an installed package."""
    copy = folder / elf.name
    shutil.copyfile(elf, copy)
    copy.chmod(0o700)
    return copy


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    assert pipe is not None
    return pipe


def read_symbols(elf: Path) -> dict[str, int]:
    """Addresses of the global symbols of an ELF file."""
    with elf.open("rb") as file:
        table = ELFFile(file).get_section_by_name(".symtab")
        return {s.name: s["st_value"] for s in table.iter_symbols() if s["st_info"]["bind"] == "STB_GLOBAL"}
