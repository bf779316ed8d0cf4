"""One campaign as `emu verify` runs it, with the engine's times measured inside the workers.

``python -m emu.bench.verify_once ELF EXAMPLES [KERNEL ...]`` prints JSON; what is cold follows from the cache
folders that the environment names (EMU_CACHE_DIR, NUMBA_CACHE_DIR).
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from emu.bench.probe import Times, probing
from emu.image import load_image
from emu.kernels import load_all
from emu.verify.memory import Memory
from emu.verify.options import Options
from emu.verify.results import Piece
from emu.verify.runner import Runner
from emu.verify.sampled import run_sampled
from emu.verify.selection import choose
from emu.verify.targets import make_runner


class ProbedRunner(Runner):
    """Leaves a file with this worker's times behind after each stretch of cases."""

    def __init__(self, options: Options, folder: Path) -> None:
        self._probe = probing()
        self._times: Times = self._probe.__enter__()
        self._started = time.perf_counter()
        self._file = folder / f"{os.getpid()}.json"
        whole = make_runner(options)
        super().__init__(whole.reference, whole.target, options)

    def run(self, *args: Any, **kwargs: Any) -> Piece:
        """See Runner."""
        piece = super().run(*args, **kwargs)
        found = {**self._times.as_dict(), "worker": time.perf_counter() - self._started}
        self._file.write_text(json.dumps(found))
        return piece


def main(elf: Path, examples: int, names: tuple[str, ...] = ()) -> dict[str, Any]:
    """Run the campaign; seconds and examples of it, and the workers' times summed up."""
    image = load_image(elf)
    options = Options(elf=elf, examples=examples, jobs=os.cpu_count() or 1)
    kernels = [k for k in choose(load_all(), names) if k.symbol in image.symbols]
    with tempfile.TemporaryDirectory(prefix="emu-bench-") as name:
        make: Callable[[], Runner] = lambda: ProbedRunner(options, Path(name))  # noqa: E731
        campaign = run_sampled(kernels, options, make, Memory(None))
        workers = [json.loads(path.read_text()) for path in Path(name).glob("*.json")]
    done = sum(result.examples for result in campaign.results.values())
    bad = [s for s, result in campaign.results.items() if result.failure is not None or result.error]
    times = {
        key: sum(w[key] for w in workers) for key in ("worker", "translating", "stepping", "instructions")
    }
    return {
        **times,
        "kernels": len(kernels),
        "examples": done,
        "seconds": campaign.seconds,
        "jobs": options.jobs,
        "bad": bad,
    }


if __name__ == "__main__":
    print(json.dumps(main(Path(sys.argv[1]), int(sys.argv[2]), tuple(sys.argv[3:]))))
