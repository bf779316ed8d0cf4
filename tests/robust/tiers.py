"""The same call on both tiers: how it ends, the whole processor and all of the memory must be the same."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from emu.cpu import state_tools
from emu.cpu.engine import Engine
from emu.cpu.options import EngineOptions
from emu.cpu.traps import Trap
from emu.image import Image
from tests.cpu import handlers

BUDGET = 20_000
Prepare = Callable[[Engine], None]


@dataclass
class End:
    """How a run ended. ``digest`` of every region of RAM; ``text`` of the trap, "" without one."""

    how: str
    values: Mapping[str, int] = field(repr=False)
    digest: str = field(repr=False)
    instructions: int
    text: str = field(default="", compare=False)


class Both:
    """Two engines for one image, reused: ``run`` compares them and gives the common end."""

    def __init__(
        self, image: Image, *, vectors: bool = False, prepare: Prepare | None = None, **options: object
    ) -> None:
        self.vectors = vectors
        self.prepare = prepare or (lambda engine: None)
        self.engines = [
            Engine(
                image,
                EngineOptions(
                    tier=tier,  # type: ignore[arg-type]
                    exceptions="vectors" if vectors else "built-in",
                    psram_bytes=1 << 16,
                    guard_pages=True,
                    **options,  # type: ignore[arg-type]
                ),
            )
            for tier in ("stepper", "translator")
        ]
        self._images = [_ram(engine) for engine in self.engines]

    def run(self, symbol: str, arguments: Sequence[int] = (), *, budget: int = BUDGET, dirty: int = 1) -> End:
        """Call on both from the same machine. AssertionError with the first differences."""
        stepped, translated = (
            self._one(engine, image, symbol, arguments, budget, dirty)
            for engine, image in zip(self.engines, self._images, strict=True)
        )
        different = {n: (hex(v), hex(translated.values[n])) for n, v in stepped.values.items()
                     if v != translated.values[n]}  # fmt: skip
        assert stepped.how == translated.how, f"{stepped.text} | {translated.text}"
        assert not different, f"(stepper, translator): {different}"
        assert stepped == translated, (stepped.instructions, translated.instructions)
        return stepped

    def _one(
        self,
        engine: Engine,
        image: Mapping[int, bytes],
        symbol: str,
        arguments: Sequence[int],
        budget: int,
        dirty: int,
    ) -> End:
        for start, data in image.items():
            if engine.memory.read(start, len(data)) != data:
                engine.memory.write(start, data)
        engine.reset()
        if self.vectors:
            handlers.install(engine)
        state_tools.dirty(engine.state, dirty)
        engine.begin(symbol, list(arguments))
        self.prepare(engine)
        engine.interrupts.changed()
        engine.state.budget = budget
        before, text = engine.state.instructions, ""
        try:
            how = engine.advance().name
        except Trap as trap:
            how, text = f"{trap.kind.name} {trap.pc:#x} {trap.address}", str(trap)
        digest = hashlib.sha256()
        for data in _ram(engine).values():
            digest.update(data)
        executed = engine.state.instructions - before
        return End(how, state_tools.values(engine.state), digest.hexdigest(), executed, text)


def _ram(engine: Engine) -> dict[int, bytes]:
    """Bytes of all RAM by address, each buffer once."""
    seen: set[int] = set()
    found = {}
    for region in engine.memory.regions:
        if region.buffer is not None and id(region.buffer) not in seen:
            seen.add(id(region.buffer))
            found[region.start] = engine.memory.read(region.start, region.size)
    return found
