"""The virtual board in a process of its own, behind a line that is damaged and cut, reset through its control
channel: every verdict is the one that the same image has without any line, and kernels that are wrong in the
image are told as wrong.
"""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "link"))

from faulty_line import At, Damage, FaultyLine

from emu.board.control import ask
from emu.image import Image, load_image
from emu.isa.decode import decode_all
from emu.kernels.spec import REGISTRY, Kernel
from emu.link.board import Board
from emu.link.session import Timing
from emu.verify.board_target import BoardTarget
from emu.verify.case import Case
from emu.verify.check import check
from emu.verify.image_target import ImageTarget
from emu.verify.options import Options
from emu.verify.reference import agent_elf
from emu.verify.selection import known_kernels
from emu.verify.strategies import cases
from emu.verify.target import MirrorTarget
from emu.verify.verdict import Verdict

TIMING = Timing(first=0.05, longest=0.5, silent=10.0, patience=300.0, hello=0.5, reopen=0.02)
SOUND = (
    *("dot_rows_s8", "softmax_s8", "exp_array", "linear_q8"),
    *("quantize_row_s8", "layernorm", "crc32_bytes", "rope"),
)
WRONG = ("add_array", "multiply_array")
"""Planted: a sum becomes a difference, a product a sum. One more ends with an exception."""
STOPS = "to_rgb"
ADD, SUBTRACT, MULTIPLY = 0x0A, 0x1A, 0x2A
"""Third bytes of add.s, sub.s and mul.s."""
ILLEGAL = bytes(3)


def planted(folder: Path) -> Path:
    """The agent's image with three wrong kernels."""
    image = load_image(agent_elf())
    data = bytearray(image.data)
    for symbol, mnemonic, byte in (("add_array", "add.s", SUBTRACT), ("multiply_array", "mul.s", ADD)):
        at = _file_offset(image, _first(image, symbol, mnemonic))
        assert data[at + 2] == (ADD if mnemonic == "add.s" else MULTIPLY)
        data[at + 2] = byte
    at = _file_offset(image, image.symbols.function(STOPS).address + 3)  # behind its entry
    data[at : at + 3] = ILLEGAL
    path = folder / "planted.elf"
    path.write_bytes(data)
    return path


def _first(image: Image, symbol: str, mnemonic: str) -> int:
    function = image.symbols.function(symbol)
    segment = image.segment_at(function.address)
    assert segment is not None
    code = segment.data[function.address - segment.address : function.end - segment.address]
    return next(i.pc for i in decode_all(code, function.address) if i.row.mnemonic == mnemonic)


def _file_offset(image: Image, address: int) -> int:
    segment = image.segment_at(address)
    assert segment is not None
    return image.data.index(segment.data) + address - segment.address


@pytest.fixture(scope="module")
def elf(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return planted(Path(tmp_path_factory.mktemp("planted")))


@dataclass(frozen=True)
class Served:
    """A board in another process: its TCP port, and its control channel."""

    port: int
    control: Path

    def reset(self) -> None:
        """Power off and on."""
        ask(self.control, "reset")


@pytest.fixture
def served(elf: Path, tmp_path: Path) -> Iterator[Served]:
    control = tmp_path / "control"
    emu = "from emu.cli import main; main()"
    options = ("board", "serve", "--tcp", "0", "--elf", str(elf), "--control", str(control))
    process = subprocess.Popen([sys.executable, "-c", emu, *options], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    yield Served(int(url.rpartition(":")[2]), control)
    process.terminate()
    process.wait()


def drawn(count: int, seed: int) -> list[tuple[Kernel, Case]]:
    """Cases of the chosen kernels in turn."""
    known_kernels(None)
    names = (*SOUND, *WRONG, STOPS)
    streams = {name: iter(cases(REGISTRY[name], seed, 0, count // len(names) + 2)) for name in names}
    return [(REGISTRY[n], next(streams[n])[1]) for n in (names[i % len(names)] for i in range(count))]


class Soon:
    """Calls ``event`` from a thread within 300 ms, so that it strikes in the middle of something."""

    def __init__(self, rng: random.Random, event: Callable[[], object]) -> None:
        self._rng = rng
        self._event = event
        self._timers: list[threading.Timer] = []

    def __call__(self) -> None:
        self._timers.append(threading.Timer(self._rng.uniform(0, 0.3), self._event))
        self._timers[-1].start()

    def join(self) -> None:
        """Wait for those that have not come yet."""
        for timer in self._timers:
            timer.join()


@dataclass
class Outcome:
    """What a campaign found, for its record."""

    cases: int
    wrong: list[tuple[int, str, Verdict, str]]
    verdicts: Counter[Verdict]
    seconds: float
    told: str
    line: dict[str, int]
    resets: int


def run_campaign(
    served: Served, elf: Path, count: int, disconnects: int, resets: int, damage: Damage, seed: int
) -> Outcome:
    """Verdicts over the damaged line against those of the image itself."""
    rng, work = random.Random(seed), drawn(count, seed)
    mirror = MirrorTarget()
    image = ImageTarget(elf, Options(elf=elf, bounds=False))
    expected = [check(kernel, case, mirror, image).verdict for kernel, case in work]
    line = FaultyLine(served.port, seed, damage)
    board = Board(line.url, load_image(elf), TIMING)
    target = BoardTarget(board)
    strikes = [Soon(rng, line.cut), Soon(rng, served.reset)]
    events = [At(rng, count, n, s) for n, s in zip((disconnects, resets), strikes, strict=True)]
    started, found = time.monotonic(), []
    try:
        for number, (kernel, case) in enumerate(work):
            for event in events:
                event.case(number)
            found.append(check(kernel, case, mirror, target))
        for event in events:
            event.case(count)
    finally:
        for strike in strikes:
            strike.join()
        target.close()
        line.close()
    assert [event.done for event in events] == [disconnects, resets]
    wrong = [
        (i, work[i][0].symbol, want, f"{got.verdict}: {got.fault}")
        for i, (want, got) in enumerate(zip(expected, found, strict=True))
        if want is not got.verdict
    ]
    return Outcome(
        len(found),
        wrong,
        Counter(outcome.verdict for outcome in found),
        time.monotonic() - started,
        board.tally.summary(),
        line.counts,
        board.tally.counts["resets"],
    )


def judge(outcome: Outcome, disconnects: int, resets: int) -> None:
    """Nothing wrong, nothing lost, and the planted faults are there."""
    verdicts = ", ".join(f"{n} {verdict.value}" for verdict, n in outcome.verdicts.items())
    print(f"\n{outcome.cases} cases in {outcome.seconds:.0f} s: {verdicts}; wrong: {len(outcome.wrong)}")
    print(f"{outcome.told}\nline: {outcome.line}; starts of the board: {outcome.resets}")
    assert outcome.wrong == []
    assert outcome.verdicts[Verdict.MISMATCH] >= outcome.cases // 10
    assert outcome.verdicts[Verdict.EQUAL] >= outcome.cases // 2
    assert outcome.line["cut"] >= disconnects - 1  # the last one may come when all is done
    assert outcome.resets >= resets // 2


def test_a_short_campaign(served: Served, elf: Path) -> None:
    damage = Damage(bit_errors=1e-4, lost=0.01, doubled=0.005, text=0.01)
    judge(run_campaign(served, elf, 33, 6, 3, damage, 1), 6, 3)


@pytest.mark.long
@pytest.mark.parametrize("bit_errors", [0.0, 1e-6, 1e-5, 1e-4])
def test_the_whole_campaign(served: Served, elf: Path, bit_errors: float) -> None:
    """200 cases, 50 disconnects, 20 resets (docs/wire.md tells what it printed, and how long it took)."""
    damage = Damage(bit_errors=bit_errors, lost=0.01, doubled=0.005, delayed=0.002, text=0.01)
    outcome = run_campaign(served, elf, 200, 50, 20, damage, 5)
    judge(outcome, 50, 20)
