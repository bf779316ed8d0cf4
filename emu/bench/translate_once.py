"""One process that makes or loads the native code of all functions of the benchmark image, and says how long
it took: ``python -m emu.bench.translate_once CACHE_FOLDER quick|full`` prints JSON.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from emu.bench.build import CHIP, find_image
from emu.bench.probe import probing
from emu.cpu.engine import Engine
from emu.cpu.options import EngineOptions
from emu.image import load_image

_BOOT = ("_", "main")
"""Beginnings of names of what is no function of the windowed ABI, or never returns."""


def main(folder: Path, effort: str) -> None:
    """Visit every function once, in the state in which C code is called.

    ``effort``: quick, as a unit is made at first; full, as it is made when it has run often.
    """
    image = load_image(find_image(CHIP))
    engine = Engine(image, EngineOptions(cache_dir=folder))
    with probing() as times:
        tier = engine.tier
        if effort == "full":
            tier.patience = 0  # type: ignore[attr-defined]
        helpers = times.translating
        functions = [s for s in image.symbols.functions() if not s.name.startswith(_BOOT)]
        for function in functions:
            engine.begin(function.address)
            engine.state.budget = 1  # the unit is made, then left for the stepper
            engine.advance()
    found = {**times.as_dict(), "helpers": helpers, "functions": len(functions)}
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
