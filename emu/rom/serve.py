"""Hooks host functions at ROM addresses, and in place of functions that need an operating system."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from emu.cpu.engine import Engine
from emu.cpu.hooks import GuestCall, Hook, Result
from emu.cpu.memory import MemoryFault
from emu.image.map import describe
from emu.rom import access
from emu.rom.functions import Entry, RomCall, RomFunction, registry
from emu.rom.symbols import describe_rom, rom_addresses, rom_symbol_at

T = TypeVar("T")
LOG_LINES = 1000
LINE_LIMIT = 4096


class Rom:
    """What the served functions of one engine share.

    ``board``: whatever the caller of :func:`serve` gave; ``log``: text that the guest printed, in order;
    ``shelf``: state of the modules of this package, by module, made when first asked for (:meth:`state`).
    """

    def __init__(self, engine: Engine, board: Any = None) -> None:
        self.engine = engine
        self.board = board
        self.log: list[str] = []
        self.seed = 0
        """Of whatever a function may not rely on: contents and places of fresh memory."""
        self._line = ""
        self.kept = 0
        """Bytes of the stack below the caller's frame that the function that runs has taken."""
        self.served: dict[str, int] = {}
        """Names that are served, each with (one of) its addresses."""
        self.own: frozenset[str] = frozenset()
        """Names that the image's own code keeps."""
        self._shelf: dict[str, Any] = {}
        self._hooks: list[Hook] = []

    def state(self, name: str, make: Callable[[Rom], T]) -> T:
        """The state called ``name``, made by ``make(rom)`` when it is not there yet."""
        if name not in self._shelf:
            self._shelf[name] = make(self)
        found: T = self._shelf[name]
        return found

    def peek(self, name: str) -> Any:
        """The state called ``name``, None when it is not there yet."""
        return self._shelf.get(name)

    def print(self, text: str) -> None:
        """The guest prints: whole lines go to ``log``, of which the first LOG_LINES are kept."""
        *lines, self._line = (self._line + text).split("\n")
        self.log += lines[: LOG_LINES - len(self.log)]
        self._line = self._line[:LINE_LIMIT]

    def printed(self) -> list[str]:
        """All lines of the log, an unfinished one too."""
        return [*self.log, *([self._line] if self._line else [])]

    def reset(self) -> None:
        """As before the first call: nothing logged, nothing allocated."""
        self.log.clear()
        self._line = ""
        self._shelf.clear()

    def remove(self) -> None:
        """Take all hooks away."""
        for hook in self._hooks:
            hook.remove()
        self._hooks.clear()
        self.served.clear()

    # --- guest memory ------------------------------------------------------------------------------------
    def read(self, call: RomCall, address: int, size: int) -> bytes:
        """Bytes that the guest may read. Raises Trap that names the function and its caller."""
        return self._touch(call, lambda: access.read(self.engine.memory, address, size))

    def write(self, call: RomCall, address: int, data: bytes) -> None:
        """Store where the guest may. Raises Trap."""
        self._touch(call, lambda: access.write(self.engine.memory, address, data))

    def string(self, call: RomCall, address: int, limit: int) -> bytes:
        """Bytes up to a 0. Raises Trap."""
        return self._touch(call, lambda: access.string(self.engine.memory, address, limit))

    def check(self, call: RomCall, address: int, size: int, kind: str) -> None:
        """Whether the guest may "load" or "store" there. Raises Trap."""
        self._touch(call, lambda: access.check(self.engine.memory, address, size, kind))

    def _touch(self, call: RomCall, action: Callable[[], T]) -> T:
        try:
            return action()
        except MemoryFault as fault:
            raise self.engine.traps.from_fault(fault, None, f"{call.name} is served") from None

    def explain(self, address: int) -> str:
        """What to say of a jump to a place in the ROM that nobody serves."""
        symbol = rom_symbol_at(address)
        entry = registry().get(symbol.name) if symbol is not None else None
        how = "served only with a board" if entry is not None and entry.needs_board else "not served here"
        return (
            f"the ROM function {describe_rom(address)} at {address:#010x} is called, which is {how}; link a "
            "definition of it into the image, or serve it from the spec"
        )

    # --- hooks -------------------------------------------------------------------------------------------
    def serve_at(self, name: str, address: int, function: RomFunction) -> None:
        """Let ``function`` take the place of what is at ``address``. Raises HookError."""

        def run(guest: GuestCall) -> Result:
            outer, self.kept = self.kept, 0
            try:
                return function(RomCall(name, guest, self))
            finally:
                self.kept = outer

        self._hooks.append(self.engine.serve(address, run))
        self.served.setdefault(name, address)


def serve(
    engine: Engine,
    *,
    board: Any = None,
    system: bool = True,
    own: Collection[str] = (),
    extra: Mapping[str, RomFunction] | None = None,
) -> Rom:
    """Serve the ROM and the system of ``engine``; returns what the functions share.

    Functions at ROM addresses are served where the image brings no code of its own there; those that need an
    operating system (``by_symbol``) also in place of the image's, unless ``own`` names them or ``system`` is
    false: then the image is booted and brings its own. ``extra``: more
    functions by symbol of the image, or other ones for known names. Any other function of the ROM that is
    called traps with its name. ``board``: given to functions that need one; without it they trap.
    """
    rom = Rom(engine, board)
    rom.own = frozenset(own)
    entries = {**registry(), **{n: Entry(n, f, by_symbol=True) for n, f in (extra or {}).items()}}
    taken: set[int] = set()
    for name, entry in entries.items():
        if entry.needs_board and board is None:
            continue
        for address in _places(engine, entry, rom.own, system):
            if address not in taken:
                taken.add(address)
                rom.serve_at(name, address, entry.function)
    engine.traps.explain_rom = rom.explain
    return rom


def _places(engine: Engine, entry: Entry, own: frozenset[str], system: bool) -> list[int]:
    places = [a for a in rom_addresses(entry.name) if not _is_mapped(engine, a)]
    symbols = engine.image.symbols
    if entry.name in symbols and entry.name not in own:
        for symbol in (s for s in symbols if s.name == entry.name and s.kind != "object"):
            is_rom = describe(symbol.address) == "ROM" and not _is_mapped(engine, symbol.address)
            if is_rom or (entry.by_symbol and system):
                places.append(symbol.address)
    return places


def _is_mapped(engine: Engine, address: int) -> bool:
    """Whether code of the image (a ROM dump, for example) lies there."""
    region = engine.memory.find(address)
    return region is not None and region.buffer is not None
