"""Counting instructions by function and by stage: hooks at every function and behind every call.

Between two hooks all instructions belong to one function and to the stage that is told next, so each is
counted once and the sums of both tables are the number of instructions that the engine executed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from emu.cpu.engine import Engine
from emu.cpu.hooks import GuestCall, Hook
from emu.profile.sites import Code

TAPS = "(taps)"
LOADING = "(loading)"
END = "(end)"
ASIDE = {
    "emu_model_open": LOADING,
    "stage_tap": TAPS,
    "stage_tap_piece": TAPS,
    "t2i_tap_branches": TAPS,
    "tap_final_mod": TAPS,
    "emu_tap_digest": TAPS,
    "emu_tap_tensor": TAPS,
}
"""Functions whose instructions, and those of all that they call, belong to no stage of the model."""


@dataclass
class Node:
    """A function called along one path: its calls, its own instructions, and what it calls."""

    name: str
    calls: int = 0
    own: int = 0
    children: dict[str, Node] = field(default_factory=dict)

    def child(self, name: str) -> Node:
        """The node of a called function; made when it is new."""
        found = self.children.get(name)
        if found is None:
            found = self.children[name] = Node(name)
        return found

    @property
    def total(self) -> int:
        """Own instructions and those of everything called."""
        return self.own + sum(child.total for child in self.children.values())

    def walk(self, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Node]]:
        """All nodes below and this one, with their paths, callers first."""
        here = (*path, self.name)
        yield here, self
        for child in self.children.values():
            yield from child.walk(here)


@dataclass
class _Frame:
    node: Node
    back: int
    pointer: int
    aside: str


class Tracer:
    """Counts while it is installed; see the module.

    ``root``: the tree of calls; ``stages``: instructions by stage, in the order of the model;
    ``parts``: instructions by (stage, function).
    """

    def __init__(self, engine: Engine, code: Code) -> None:
        self.root = Node("run")
        self.stages: Counter[str] = Counter()
        self.parts: Counter[tuple[str, str]] = Counter()
        self._engine, self._code = engine, code
        self._state = engine.state
        self._pending: Counter[str] = Counter()
        self._stack = [_Frame(self.root, 0, 0, "")]
        self._last = 0
        self._hooks: list[Hook] = []

    def __enter__(self) -> Tracer:
        symbols = self._engine.image.symbols
        for function in self._code.functions:
            self._hooks.append(self._engine.hook(function.start, self._entry(function.name)))
        for address in self._code.returns:
            self._hooks.append(self._engine.hook(address, self._back))
        if "emu_tap_tensor" in symbols:
            self._hooks.append(self._engine.hook("emu_tap_tensor", self._tap))
        self._last = self._state.instructions
        return self

    def __exit__(self, *error: object) -> None:
        self._count()
        self._tell(END)
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()

    def functions(self) -> dict[str, tuple[int, int]]:
        """Function to (its own instructions, calls), the largest first."""
        own: Counter[str] = Counter()
        calls: Counter[str] = Counter()
        for _, node in self.root.walk():
            own[node.name] += node.own
            calls[node.name] += node.calls
        return {name: (count, calls[name]) for name, count in own.most_common() if count}

    def _count(self) -> None:
        """Everything since the last event belongs to the function on top."""
        now = self._state.instructions
        frame, executed = self._stack[-1], now - self._last
        self._last = now
        frame.node.own += executed
        if frame.aside:
            self.stages[frame.aside] += executed
            self.parts[frame.aside, frame.node.name] += executed
        else:
            self._pending[frame.node.name] += executed

    def _entry(self, name: str) -> Callable[[GuestCall], None]:
        aside = ASIDE.get(name, "")

        def enter(call: GuestCall) -> None:
            self._count()
            top = self._stack[-1]
            node = top.node.child(name)
            node.calls += 1
            self._stack.append(_Frame(node, call.caller, self._state.get_a(1), top.aside or aside))

        return enter

    def _back(self, call: GuestCall) -> None:
        top = self._stack[-1]
        if top.back == call.address and top.pointer == self._state.get_a(1):
            self._count()
            self._stack.pop()

    def _tap(self, call: GuestCall) -> None:
        self._tell(call.string(call.argument(0)).decode("ascii", "replace"))

    def _tell(self, stage: str) -> None:
        """What is pending belongs to this stage."""
        self.stages[stage] += self._pending.total()
        for function, count in self._pending.items():
            self.parts[stage, function] += count
        self._pending.clear()
