"""Cases over a line that flips bits and is cut, to a board that is reset: every verdict is right."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from faulty_line import At, Damage, FaultyLine

from emu.kernels.spec import REGISTRY, Kernel
from emu.link.board import Board
from emu.link.session import Timing
from emu.verify.board_target import BoardTarget
from emu.verify.case import Case
from emu.verify.check import check
from emu.verify.selection import known_kernels
from emu.verify.strategies import cases
from emu.verify.target import MirrorTarget
from emu.verify.verdict import Verdict

QUICK = Timing(first=0.03, longest=0.3, silent=5.0, patience=120.0, hello=0.2, reopen=0.02)
NO_TWIN = {"dot_rows_ternary", "dot_groups_int4", "dot_rows_s8", "gemm_s8"}
"""On the host their plain C twins run, which take any alignment: refused calls differ."""


def drawn(count: int) -> list[tuple[Kernel, Case]]:
    """Cases of all kernels in turn."""
    known_kernels(None)
    kernels = [k for k in REGISTRY.values() if k.symbol not in NO_TWIN and not k.symbol.endswith("_c")]
    kernels = kernels[:: max(1, len(kernels) // 12)]
    found = []
    streams = {k.symbol: cases(k, 3, 0, count // len(kernels) + 2) for k in kernels}
    while len(found) < count:
        for kernel in kernels:
            _, case = next(iter(streams[kernel.symbol]))
            found.append((kernel, case))
    return found[:count]


def run_campaign(server, count: int, disconnects: int, resets: int, damage: Damage, seed: int) -> None:
    """Each case twice in a row: on the sound board, and every tenth time with a planted fault."""
    rng = random.Random(seed)
    line = FaultyLine(server.port, seed, damage)
    board = Board(line.url, timing=QUICK)
    target, mirror = BoardTarget(board), MirrorTarget()
    events = (At(rng, count, disconnects, line.cut), At(rng, count, resets, server.reset))
    verdicts: list[tuple[str, Verdict, Verdict]] = []
    try:
        for number, (kernel, case) in enumerate(drawn(count)):
            planted = number % 10 == 9
            wanted = Verdict.EQUAL
            if planted:
                index = board.client().kernels[kernel.symbol].index
                mode = 1 + number // 10 % 2
                server.agent.library.host_plant(index, mode)
                wanted = Verdict.MISMATCH if mode == 1 else Verdict.BOARD_FAULT
            for event in events:
                event.case(number)
            verdicts.append((kernel.symbol, wanted, check(kernel, case, mirror, target).verdict))
            server.agent.library.host_plant(0, 0)
        for event in events:
            event.case(count)
    finally:
        target.close()
        line.close()
    print(board.tally.summary(), line.counts)
    assert len(verdicts) == count
    assert [v for v in verdicts if v[1] is not v[2]] == []
    assert events[0].done == disconnects
    assert events[1].done == resets
    assert board.tally.counts["reconnects"] >= disconnects // 2
    assert board.tally.counts["resets"] >= resets // 2
    assert server.agent.guards_intact()


def test_short_campaign(serve) -> None:
    damage = Damage(bit_errors=1e-4, lost=0.01, doubled=0.005, text=0.01)
    run_campaign(serve(), 40, 10, 5, damage, 1)


@pytest.mark.long
@pytest.mark.parametrize("bit_errors", [0.0, 1e-6, 1e-5, 1e-4])
def test_long_campaign(serve, bit_errors: float) -> None:
    """The whole of issue 5: 200 cases, 50 disconnects, 20 resets."""
    damage = Damage(bit_errors=bit_errors, lost=0.01, doubled=0.005, delayed=0.002, text=0.01)
    run_campaign(serve(), 200, 50, 20, damage, 5)
