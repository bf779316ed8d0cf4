"""What the unchanged firmware does in the default campaign: it must be equal, and how long its calls are."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from emu.kernels.spec import Kernel
from emu.mutate.builder import Base
from emu.mutate.drawn import Drawn
from emu.verify.case import materialise
from emu.verify.errors import ToolError
from emu.verify.image_target import ImageTarget
from emu.verify.options import Options
from emu.verify.records import write_whole
from emu.verify.runner import Runner
from emu.verify.target import MirrorTarget

BUDGET = 50_000_000
_SLACK = 8
_LEAST = 200_000


@dataclass(frozen=True)
class Baseline:
    """``instructions``: of the longest call; ``seconds``: of all ``examples`` of the kernel."""

    kernel: str
    instructions: int
    seconds: float


class Baselines:
    """Measures each kernel on the unchanged image when it is first asked for, and keeps it in ``folder``."""

    def __init__(self, base: Base, kernels: Mapping[str, Kernel], drawn: Drawn, folder: Path) -> None:
        self._kernels = kernels
        self._drawn = drawn
        self._elf = base.elf
        self._folder = folder / f"baseline-{hashlib.sha256(base.elf.read_bytes()).hexdigest()[:16]}"
        self._known: dict[str, Baseline] = {}
        self._runner: Runner | None = None

    def of(self, symbol: str) -> Baseline:
        """One kernel's. Raises ToolError when the unchanged firmware differs from its mirror."""
        if symbol not in self._known:
            path = self._folder / f"{symbol}-{self._drawn.digest(symbol)}.json"
            if path.is_file():
                self._known[symbol] = Baseline(**json.loads(path.read_text()))
            else:
                self._known[symbol] = self._measure(symbol)
                write_whole(path, json.dumps(asdict(self._known[symbol])).encode())
        return self._known[symbol]

    def budget(self, symbols: Iterable[str]) -> int:
        """Guest instructions after which a call of any of these kernels hangs."""
        return max([_LEAST, *(_SLACK * self.of(symbol).instructions for symbol in symbols)])

    def _measure(self, symbol: str) -> Baseline:
        kernel = self._kernels[symbol]
        if self._runner is None:
            options = Options(elf=self._elf, budget=BUDGET)
            self._runner = Runner(MirrorTarget(), ImageTarget(self._elf, options), options)
        longest, started = 0, time.monotonic()
        for plan in self._drawn.plans(symbol):
            outcome = self._runner.check(kernel, materialise(kernel, plan))
            if outcome.bad:
                raise ToolError(f"the unchanged firmware differs in {symbol}: run emu verify first")
            longest = max(longest, outcome.instructions or 0)
        return Baseline(symbol, longest, time.monotonic() - started)
