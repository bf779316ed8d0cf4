"""What happens in a run on an image, in order: calls of kernels and stages that are shown."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from emu.bisect.kernel_calls import CallReader, KernelCall
from emu.bisect.model_runs import Failed, Prepared
from emu.cpu.engine import Stopped
from emu.cpu.hooks import STOP, GuestCall, Hook
from emu.cpu.traps import Trap
from emu.kernels.spec import Kernel
from emu.models import guest
from emu.numerics.types import AnyArray

MOST_BYTES = 512 << 20
"""Copies of arguments that are kept at one time; the oldest go first."""


@dataclass(frozen=True)
class Shown:
    """A piece of a stage. ``number``: of calls before it, ``place``: of pieces before it in the run; ``nth``:
    which piece of its stage; ``caller``, ``stack``: as for a call; ``address``: of the code that shows it.
    """

    stage: str
    nth: int
    number: int
    place: int
    piece: guest.Piece
    values: AnyArray
    caller: int
    stack: int
    address: int = 0


Event = KernelCall | Shown


@dataclass(frozen=True)
class Window:
    """Events in their order, and the one before them (None: they are from the beginning of the run)."""

    before: Event | None
    events: tuple[Event, ...]

    @property
    def calls(self) -> list[KernelCall]:
        """The calls among them."""
        return [event for event in self.events if isinstance(event, KernelCall)]


OnPiece = Callable[[Shown, "Watch"], object]
"""Told of each piece before the run goes on; giving STOP ends the run there."""


@dataclass
class Watch:
    """A watched run. ``events``: the latest ones; ``calls``, ``pieces``: how many there were in all.

    ``trap``, ``failed``: how the run ended, when it did not end well; ``is_stopped``: by a hook.
    """

    prepared: Prepared
    kernels: Mapping[str, Kernel]
    on_piece: OnPiece = lambda shown, watch: None
    stop_behind: Event | None = None
    """Stop when this call, or the tap that showed this piece, has returned."""
    keeps_calls: bool = True
    calls_from: int = 0
    """Calls are kept from this many pieces on; before that they are only counted."""
    events: deque[Event] = field(default_factory=deque)
    calls: int = 0
    pieces: int = 0
    trap: Trap | None = None
    failed: Failed | None = None
    is_stopped: bool = False
    _reader: CallReader = field(default_factory=CallReader)
    _bytes: int = 0
    _is_ending: bool = False
    _nth: dict[str, int] = field(default_factory=dict)
    _hooks: list[Hook] = field(default_factory=list)

    def run(self) -> Watch:
        """Run with hooks, and take them away again."""
        self.attach()
        try:
            self.failed = self.prepared.run()
        except Stopped:
            self.is_stopped = True
        except Trap as trap:
            self.trap = trap
        finally:
            self.detach()
        return self

    def attach(self) -> None:
        """Set the hooks."""
        engine = self.prepared.engine
        self._hooks = self.prepared.tap(self._piece)
        for symbol, kernel in self.kernels.items():
            if symbol in engine.image.symbols:
                self._hooks.append(engine.hook(symbol, self._called(kernel)))
        if self.stop_behind is not None:
            self._hooks.append(engine.hook(self.stop_behind.caller, self._returned))

    def detach(self) -> None:
        """Take the hooks away."""
        for hook in self._hooks:
            hook.remove()
        self._hooks = []

    def _called(self, kernel: Kernel) -> Callable[[GuestCall], object]:
        def note(call: GuestCall) -> None:
            if self._is_ending:  # of several hooks at one address all are called
                return
            if self.keeps_calls and self.pieces >= self.calls_from:
                self._keep(self._reader.read(kernel, call, self.calls))
            self.calls += 1

        return note

    def _piece(
        self, call: GuestCall, stage: str, piece: guest.Piece, values: AnyArray, is_function: bool
    ) -> object:
        nth = self._nth.get(stage, 0)
        self._nth[stage] = nth + 1
        shown = Shown(
            stage, nth, self.calls, self.pieces, piece, values,
            call.caller if is_function else call.address, call.register(1), call.address,
        )  # fmt: skip
        self._keep(shown)
        self.pieces += 1
        wish = self.on_piece(shown, self)
        self._is_ending = wish is STOP
        return wish

    def _returned(self, call: GuestCall) -> object:
        event = self.stop_behind
        assert event is not None
        is_past = self.pieces > event.place if isinstance(event, Shown) else self.calls > event.number
        return STOP if is_past and call.register(1) == event.stack else None

    def _keep(self, event: Event) -> None:
        self.events.append(event)
        self._bytes += _size(event)
        while self._bytes > MOST_BYTES and len(self.events) > 1:
            self._bytes -= _size(self.events.popleft())

    def window(self) -> Window:
        """The events since the last piece before the latest event that has calls of kernels behind it."""
        kept = list(self.events)
        called = False
        for place in range(len(kept) - 1, -1, -1):
            event = kept[place]
            called = called or isinstance(event, KernelCall)
            if called and isinstance(event, Shown) and place < len(kept) - 1:
                return Window(event, tuple(kept[place + 1 :]))
        return Window(None, tuple(kept))


def _size(event: Event) -> int:
    if isinstance(event, Shown):
        return event.values.nbytes
    return sum(a.nbytes for a in event.case.arrays.values()) if event.case is not None else 0
