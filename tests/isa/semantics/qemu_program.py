"""A static ELF that runs many pieces of code under qemu-xtensa and prints the memory they leave behind.

Every case has a record: registers before, registers after, a buffer. Its code loads all registers from the
record, runs the piece, stores all registers. The program then writes all records to its standard output.
The same bytes run on our stepper, so both sides execute every instruction of the frame as well.
"""

from __future__ import annotations

import shutil
import struct
import subprocess
import tempfile
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from instruction_driver import assemble

from emu.cpu import state_tools
from emu.cpu.memory import Memory
from emu.cpu.state import new_state
from emu.cpu.stepper import Stepper
from emu.cpu.trapping import TrapMaker
from tests.coverage_log import executed

QEMU = "qemu-xtensa"
CPU = "de233_fpu"
"""QEMU's core with the same FPU, MAC16, booleans, loops and windows."""
BASE = 0x00100000
RECORD, BUFFER = 0x400, 0x100
IN_A, IN_F, IN_S, OUT_A, OUT_F, OUT_S, BUFFER_AT = 0x00, 0x40, 0x80, 0x100, 0x140, 0x180, 0x200
SPECIAL = ("sar", "br", "scompare1", "acclo", "acchi", "m0", "m1", "m2", "m3", "lbeg", "lend")
"""Special registers that are loaded and stored; LCOUNT is only stored."""
USER = ("fcr", "fsr")
STORED = (*SPECIAL, *USER, "lcount")
STACK = 0x4000
"""Bytes behind the records for register windows; they are compared as well."""


@dataclass
class Case:
    """Registers to start with (names as in :data:`STORED`, a0.., f0..), buffer contents, code without labels.

    "@n" stands for the address n bytes behind the start of the instruction, "@fn0" for that of the first
    function, "@lit0" for that of a word which holds it. Execution must reach the end of the code. a1 points
    to the top of a stack unless it is given.
    """

    code: list[str]
    registers: dict[str, int] = field(default_factory=dict)
    buffer: bytes = bytes(BUFFER)
    functions: list[list[str]] = field(default_factory=list)


def buffer_address(index: int) -> int:
    """Address of the buffer of case ``index``."""
    return BASE + index * RECORD + BUFFER_AT


def record(case: Case, stack_top: int) -> bytes:
    """The record of a case before it runs."""
    data = bytearray(RECORD)
    for number in range(16):
        default = stack_top if number == 1 else 0
        struct.pack_into("<I", data, IN_A + 4 * number, case.registers.get(f"a{number}", default))
        struct.pack_into("<I", data, IN_F + 4 * number, case.registers.get(f"f{number}", 0))
    for number, name in enumerate((*SPECIAL, *USER)):
        struct.pack_into("<I", data, IN_S + 4 * number, case.registers.get(name, 0))
    data[BUFFER_AT : BUFFER_AT + BUFFER] = case.buffer
    return bytes(data)


def _prologue() -> list[str]:
    texts = [f"lsi f{n}, a0, {IN_F + 4 * n}" for n in range(16)]
    for number, name in enumerate((*SPECIAL, *USER)):
        access = "wur" if name in USER else "wsr"
        texts += [f"l32i a1, a0, {IN_S + 4 * number}", f"{access}.{name} a1"]
    texts += [f"l32i a{n}, a0, {IN_A + 4 * n}" for n in range(1, 16)]
    return [*texts, "l32i a0, a0, 0"]


def _epilogue() -> list[str]:
    texts = [f"s32i a{n}, a0, {OUT_A + 4 * n}" for n in range(1, 16)]
    texts += ["rur.threadptr a1", f"s32i a1, a0, {OUT_A}"]
    texts += [f"ssi f{n}, a0, {OUT_F + 4 * n}" for n in range(16)]
    for number, name in enumerate(STORED):
        access = "rur" if name in USER else "rsr"
        texts += [f"{access}.{name} a1", f"s32i a1, a0, {OUT_S + 4 * number}"]
    return texts


class Program:
    """The image: records from BASE on, then code."""

    def __init__(self, cases: list[Case]) -> None:
        self.cases = cases
        stack = BASE + len(cases) * RECORD
        top = stack + STACK - 0x100
        # The frame's own caller, to whose stack the windows beyond a0..a3 of the frame are spilled.
        caller = struct.pack("<I", top + 0x80)
        self.records = b"".join(record(case, top) for case in cases) + bytes(STACK)
        at = top - 12 - BASE
        self.records = self.records[:at] + caller + self.records[at + 4 :]
        self.code_at = BASE + len(self.records)
        self.code = bytearray()
        self.entry = 0
        for index, case in enumerate(cases):
            start = self._frame(index, case)
            self.entry = self.entry or start
        self.end = self._finish()

    @property
    def pc(self) -> int:
        """Address of the next byte of code."""
        return self.code_at + len(self.code)

    def _put(self, text: str) -> None:
        self.code += assemble(text, self.pc)

    def _literal(self, value: int) -> int:
        """A word in the code, jumped over; returns its address."""
        skip = self.pc + 3
        target = (skip + 3 & ~3) + 4
        self._put(f"j {target:#x}")
        self.code += bytes(target - 4 - self.pc) + struct.pack("<I", value)
        return target - 4

    def _align(self) -> None:
        self.code += bytes(-self.pc & 3)

    def _functions(self, functions: list[list[str]]) -> dict[str, int]:
        """Place functions and the literals that point to them; returns their labels."""
        labels: dict[str, int] = {}
        for number, texts in enumerate(functions):
            self._align()
            labels[f"fn{number}"] = self.pc
            for text in texts:
                self._put(_resolve(text, self.pc, labels))
        self._align()
        for number in range(len(functions)):
            labels[f"lit{number}"] = self.pc
            self.code += struct.pack("<I", labels[f"fn{number}"])
        return labels

    def _skipped(self, functions: list[list[str]]) -> dict[str, int]:
        """Functions behind a jump over them."""
        jump = len(self.code)
        self._put(f"j {self.pc + 4:#x}")
        labels = self._functions(functions)
        self.code[jump : jump + 3] = assemble(f"j {self.pc:#x}", self.code_at + jump)
        return labels

    def _frame(self, index: int, case: Case) -> int:
        # Execution falls from case to case: what is not code lies in jumped-over places.
        start = self.pc
        labels = self._skipped(case.functions) if case.functions else {}
        literal = self._literal(BASE + index * RECORD)
        self._put(f"l32r a0, {literal:#x}")
        for text in _prologue():
            self._put(text)
        for text in case.code:
            self._put(_resolve(text, self.pc, labels))
        self._put("wur.threadptr a0")
        self._put(f"l32r a0, {literal:#x}")
        for text in _epilogue():
            self._put(text)
        return start

    def _finish(self) -> int:
        """write(1, records, size), exit_group(0); returns where our side stops."""
        where, size = self._literal(BASE), self._literal(len(self.records))
        end = self.pc
        for text in ("movi a2, 13", "movi a6, 1", f"l32r a3, {where:#x}", f"l32r a4, {size:#x}", "syscall"):
            self._put(text)
        for text in ("movi a2, 119", "movi a6, 0", "syscall"):
            self._put(text)
        return end

    def image(self) -> bytes:
        """All bytes from BASE on."""
        return self.records + bytes(self.code)

    def elf(self) -> bytes:
        """A static executable with one segment (ELF32, little-endian, EM_XTENSA = 94)."""
        body, offset = self.image(), 0x1000
        header = struct.pack(
            "<16sHHIIIIIHHHHHH",
            b"\x7fELF\x01\x01\x01",
            2,
            94,
            1,
            self.entry,
            52,
            0,
            0x300,
            52,
            32,
            1,
            0,
            0,
            0,
        )
        segment = struct.pack("<IIIIIIII", 1, offset, BASE, BASE, len(body), len(body), 7, 0x1000)
        return (header + segment).ljust(offset, b"\0") + body


def _resolve(text: str, pc: int, labels: dict[str, int]) -> str:
    """Addresses for labels."""
    before, at, label = text.partition("@")
    if not at:
        return text
    return f"{before}{labels[label] if label in labels else pc + int(label):#x}"


def run_qemu(program: Program) -> tuple[bytes, int, str]:
    """What QEMU leaves in the records; exit status; messages."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "cases")
        path.write_bytes(program.elf())
        path.chmod(0o755)
        command = [QEMU, _one_at_a_time(), "-cpu", CPU, str(path)]
        done = subprocess.run(command, capture_output=True, timeout=120, check=False)
    return done.stdout, done.returncode, done.stderr.decode(errors="replace")


@cache
def _one_at_a_time() -> str:
    """The option for blocks of one instruction.

    In longer blocks QEMU keeps two copies of the boolean and MAC16 registers, one for rsr/wsr and one for
    operands, and uses stale ones (seen in 7.2: ``any8 b12, b8`` then ``all8 b8, b8``; ``wsr.m2`` after
    ``mul.dd``).
    """
    text = subprocess.run([QEMU, "--help"], capture_output=True, check=False).stdout.decode()
    return "-one-insn-per-tb" if "-one-insn-per-tb" in text else "-singlestep"


def run_stepper(program: Program) -> bytes:
    """What our stepper leaves in the records."""
    state, memory = new_state(), Memory()
    image = program.image()
    memory.add_ram("program", BASE, (len(image) + 0xFFF) & ~0xFFF, "rwx")
    memory.write(BASE, image)
    state_tools.reset(state)
    state_tools.prepare_call(state)
    state.PC, state.budget = program.entry, 1 << 40
    stepper = Stepper(state, memory, TrapMaker(state, memory))
    while program.end != state.PC:
        stepper.step()
        executed("qemu", stepper)
    return memory.read(BASE, len(program.records))


def why_not() -> str:
    """Reason why QEMU cannot be used here, empty if it can."""
    if not shutil.which(QEMU):
        return f"{QEMU} is not installed (Debian package qemu-user)"
    found = subprocess.run([QEMU, "-cpu", "help"], capture_output=True, check=False).stdout.decode()
    return "" if CPU in found else f"{QEMU} has no core {CPU}"
