"""Ctrl-C ends a run of translated code, also one that never leaves its loop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cpu.lab import CODE, assemble
from tests.image.elf_files import Name, Part, make_elf

ROOT = Path(__file__).parents[2]
HANG = 120.0
"""Seconds: far above what it takes, on any machine."""
ENDLESS = """
    f: entry a1, 32
    _l: slli a3, a2, 3
       xor a2, a2, a3
       srli a3, a2, 5
       xor a2, a2, a3
       s32i a2, a1, 0
       mull a2, a2, a2
       addi a2, a2, 7
       j _l
       .align 4
    g: entry a1, 32
       mov.n a10, a2
       call8 f
       retw
    """
"""Nothing that an optimiser could compute in advance."""
PROGRAM = """
import sys
sys.path.insert(0, {root!r})
from emu.cpu.engine import Engine
from emu.cpu.options import EngineOptions
from emu.image import load_image
engine = Engine(load_image({elf!r}), EngineOptions(tier={tier!r}))
print("running", flush=True)
try:
    engine.call({symbol!r}, [1], budget=1 << 60)
except KeyboardInterrupt:
    state = engine.state
    print("heard", state.instructions > 0, {low} <= state.PC < {high}, flush=True)
    before = state.instructions
    state.budget = 100
    engine.advance()
    print("goes on", state.instructions - before, flush=True)
"""


@pytest.mark.parametrize("tier", ["translator", "stepper"])
@pytest.mark.parametrize("symbol", ["f", "g"])
def test_it_is_heard_and_the_machine_is_whole(tier: str, symbol: str, tmp_path: Path) -> None:
    """The first call of a function runs below the resolver, a callback of native code."""
    made = assemble(ENDLESS, CODE)
    names = [Name(name, made.labels[name], 9) for name in ("f", "g")]
    (tmp_path / "endless.elf").write_bytes(make_elf([Part(CODE, made.data)], names))
    script = PROGRAM.format(
        root=str(ROOT), elf=str(tmp_path / "endless.elf"), tier=tier, symbol=symbol, low=CODE, high=CODE + 64
    )
    environment = {**os.environ, "EMU_CACHE_DIR": str(tmp_path / "cache")}
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "running\n"
    _wait_until_busy(process.pid)
    process.send_signal(signal.SIGINT)
    try:
        out, errors = process.communicate(timeout=HANG)
    except subprocess.TimeoutExpired:
        process.kill()
        pytest.fail("Ctrl-C was not heard")
    assert out == "heard True True\ngoes on 100\n", errors
    assert "ignored" not in errors


def _wait_until_busy(pid: int) -> None:
    """Until the process has used two seconds of processor time: it is in its loop then."""
    ticks = os.sysconf("SC_CLK_TCK")
    while True:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
        if int(fields[11]) + int(fields[12]) > 2 * ticks:
            return
        signal.sigtimedwait((), 0.05)
