"""Instructions and time of each stage of a model on an image: from one stage that is told to the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from emu.cpu.engine import Engine
from emu.cpu.hooks import GuestCall
from emu.models.clock import StageClock
from emu.models.names import family

_STARTS = ("t2i_run", "ternary_run", "tinylm_step")


class StageCosts:
    """Counts while it is entered. What is computed for two stages at once counts for the one told first.

    ``instructions`` (exact) and ``seconds``: by family of stages (:func:`emu.models.names.family`), the
    firmware's own digest of the stage before included.
    """

    def __init__(self, engine: Engine) -> None:
        self.instructions: Counter[str] = Counter()
        self._clock = StageClock()
        self._engine = engine
        self._last = 0

    @property
    def seconds(self) -> Mapping[str, float]:
        """See above."""
        return self._clock.seconds

    def __enter__(self) -> StageCosts:
        starts = [name for name in _STARTS if name in self._engine.image.symbols]
        self._hooks = [self._engine.hook(name, self._start) for name in starts]
        if "emu_tap_tensor" in self._engine.image.symbols:
            self._hooks.append(self._engine.hook("emu_tap_tensor", self._told))
        return self

    def __exit__(self, *error: object) -> None:
        for hook in self._hooks:
            hook.remove()

    def _start(self, call: GuestCall) -> None:
        self._last = self._engine.state.instructions
        self._clock.start()

    def _told(self, call: GuestCall) -> None:
        stage = call.string(call.argument(0)).decode("ascii", "replace")
        now = self._engine.state.instructions
        self.instructions[family(stage)] += now - self._last
        self._clock(stage)
        self._last = now
