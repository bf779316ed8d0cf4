"""What Python does for the functions of an image that a kernel calls: the ROM, the system, the spec's own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from emu.cpu.engine import Engine
from emu.cpu.hooks import Hook
from emu.cpu.traps import Trap
from emu.kernels.spec import Kernel
from emu.rom import Rom, RomCall, serve
from emu.rom.allocation import heap_if_any
from emu.verify.callbacks import TypedCallback
from emu.verify.errors import TargetFault, ToolError, UsageProblem
from emu.verify.marshal import Marshal

HEAP_DAMAGE = "heap damage"
_SHOWN = 6


class Services:
    """The host functions of one engine. They are set again when a kernel wants other ones."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._wanted: tuple[Any, ...] = ()
        self._rom: Rom | None = None
        self._hooks: list[Hook] = []

    @property
    def rom(self) -> Rom:
        """What the served functions share."""
        assert self._rom is not None
        return self._rom

    def prepare(self, kernel: Kernel, marshal: Marshal, seed: int) -> None:
        """For one call of a kernel: an empty heap and log. Raises UsageProblem for a name that is unknown."""
        wanted = (tuple(kernel.served.items()), kernel.own, tuple(marshal.callbacks.items()))
        if self._rom is None or wanted != self._wanted:
            self._set(kernel, marshal)
            self._wanted = wanted
        self.rom.reset()
        self.rom.seed = seed

    def _set(self, kernel: Kernel, marshal: Marshal) -> None:
        if self._rom is not None:
            self._rom.remove()
        for hook in self._hooks:
            hook.remove()
        extra = {name: _guarded(kernel, name, function) for name, function in kernel.served.items()}
        self._rom = serve(self._engine, own=kernel.own, extra=extra)
        unknown = sorted(set(extra) - set(self._rom.served))
        if unknown:
            raise UsageProblem(
                f"kernel {kernel.symbol}: served names {', '.join(unknown)}, neither a function of the image "
                "nor of the ROM"
            )
        self._hooks = [
            self._engine.serve(address, TypedCallback(kernel, callback).serve)
            for address, callback in marshal.callbacks.items()
        ]

    def check_heap(self) -> None:
        """After a call. Raises TargetFault for bytes that were written around blocks, or into freed ones."""
        heap = heap_if_any(self.rom)
        wrong = next(heap.damage(), "") if heap is not None else ""
        if wrong:
            raise TargetFault(HEAP_DAMAGE, f"{wrong}{self.log_text()}")

    def leaks(self) -> tuple[str, ...]:
        """Blocks that the call has left allocated."""
        heap = heap_if_any(self.rom)
        return tuple(str(block) for block in heap.live.values()) if heap is not None else ()

    def log_text(self) -> str:
        """The last lines that the guest printed, to be put behind a message."""
        return "".join(f"\n  it printed: {line}" for line in self.log())

    def log(self) -> tuple[str, ...]:
        """The last lines that the guest printed."""
        return tuple(self.rom.printed()[-_SHOWN:]) if self._rom is not None else ()


def _guarded(kernel: Kernel, name: str, function: Callable[[RomCall], Any]) -> Callable[[RomCall], Any]:
    """Whatever the spec's own function raises is told with its name; traps are the guest's."""

    def run(call: RomCall) -> Any:
        try:
            return function(call)
        except (Trap, ToolError):
            raise
        except Exception as error:
            what = f"{name}, served by the spec of kernel {kernel.symbol},"
            raise ToolError(f"{what} raised {type(error).__name__}: {error}") from error

    return run
