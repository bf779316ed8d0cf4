"""Which instructions of a call a trace shows, and running the call for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from emu.cpu.calls import CallResult
from emu.cpu.engine import RETURN_ADDRESS, Engine
from emu.cpu.traps import Trap
from emu.debug.calls import Call, Started, start
from emu.debug.record import Recorder, Step


@dataclass(frozen=True)
class Selection:
    """What is shown: each time from the arrival at ``first`` to the arrival at ``last`` (None: from
    the beginning, to the end), without the ``skip`` first and at most ``count`` instructions of it in all."""

    first: int | None = None
    last: int | None = None
    skip: int = 0
    count: int | None = None


class Trace:
    """Runs ``call`` on the reference stepper; iterate over it for the selected steps, in order.

    When the iteration is over, ``result`` or ``trap`` says how the call ended, ``shown`` how many steps were
    selected and ``executed`` how many instructions ran. Raises what :func:`emu.debug.calls.start` raises.
    """

    def __init__(self, engine: Engine, call: Call, selection: Selection | None = None) -> None:
        self.engine = engine
        self.selection = selection or Selection()
        self.started: Started = start(engine, call)
        self.result: CallResult | None = None
        self.trap: Trap | None = None
        self.shown = 0

    @property
    def executed(self) -> int:
        """Instructions executed since the call began."""
        return int(self.engine.state.instructions) - self.started.entered.instructions

    def __iter__(self) -> Iterator[Step]:
        try:
            with Recorder(self.engine) as recorder:
                yield from self._selected(recorder)
            self._finish()
        except Trap as trap:
            self.trap = trap

    def _selected(self, recorder: Recorder) -> Iterator[Step]:
        selection, state = self.selection, self.engine.state
        is_on, skip = selection.first is None, selection.skip
        while not recorder.done and self.shown != selection.count:
            pc = state.PC
            if not is_on or pc == selection.last:
                is_on = pc == selection.first
            if not is_on or skip:
                skip -= is_on
                recorder.skip()
                continue
            step = recorder.step()
            self.shown += 1
            yield step
            if step.trap is not None:
                raise step.trap

    def _finish(self) -> None:
        """Run to the end what nobody wants to see."""
        if self.engine.state.PC != RETURN_ADDRESS:
            self.engine.run()
        self.result = self.engine.finish(self.started.entered)
