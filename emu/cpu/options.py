"""What an engine can be told: tier, exactness choices, checks, sizes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from emu.cpu.diagnostics import Check
from emu.cpu.map import KIB, MIB, PAGE, PSRAM_LIMIT
from emu.cpu.readings import choose
from emu.cpu.unmodelled import Choice

if TYPE_CHECKING:
    from emu.cpu.engine import Engine

Tier = Literal["translator", "stepper"]
Exceptions = Literal["built-in", "vectors"]
Service = Callable[["Engine", tuple[int, ...]], int]
"""Effect of ``Machine.service``: gets the engine and the values, returns 32 bits."""


@dataclass(frozen=True)
class EngineOptions:
    """Choices of one engine; every combination computes the same results for correct code.

    ``tier``: translated code, or the reference stepper. ``fused``: "fused" executes madd.s and msub.s with
    one rounding as the chip does, "two-roundings" as a product and a sum (diagnosis of contraction).
    ``bounds``: the byte-exact permission map is on: the guest may touch its image, its stack and what was
    allowed with ``engine.memory.shadow``. ``check_init``: loads of never-written bytes of the stack and of
    allowed memory trap too (needs ``bounds``). ``exceptions``: "built-in" spills and fills register windows
    exactly as the standard handlers do and makes every other exception a Trap; "vectors" enters the image's
    own handlers. ``readings``: contested facts to readings other than the chosen ones. ``cache_dir``: where
    the translator keeps objects, None for its default. ``stack_bytes``, ``psram_bytes``: sizes, multiples
    of 4096. ``track_fsr``: compute FSR's sticky flags; None: when the image contains a read of FSR.
    ``services``: effects that belong to a board, by the name that the semantics use. ``unmodelled``: what a
    use of hardware that nobody models does (emu.cpu.unmodelled). ``guard_pages``: guest memory lies between
    host pages that cannot be touched. ``mmu``: flash and PSRAM are shown by the entries of the cache's MMU,
    which software can change (emu.cpu.mmu). ``diagnostics``: what is noticed (emu.cpu.diagnostics); None:
    what the tier notices at no cost. Anything but None or NONE runs on the stepper; with BOUNDS or MEMORY the
    permission map is on, and what it would refuse is noted and takes place. ``check``: all diagnostics.
    """

    tier: Tier = "translator"
    fused: Literal["fused", "two-roundings"] = "fused"
    bounds: bool = False
    check_init: bool = False
    exceptions: Exceptions = "built-in"
    readings: Mapping[str, str] = field(default_factory=dict)
    cache_dir: Path | None = None
    stack_bytes: int = 32 * KIB
    psram_bytes: int = 8 * MIB
    track_fsr: bool | None = None
    watch: bool = True
    """Notice when a result depends on a contested fact."""
    services: Mapping[str, Service] = field(default_factory=dict)
    unmodelled: Choice = "stop"
    guard_pages: bool = False
    mmu: bool = False
    diagnostics: Check | None = None
    check: bool = False

    def __post_init__(self) -> None:
        _one_of("tier", self.tier, ("translator", "stepper"))
        _one_of("fused", self.fused, ("fused", "two-roundings"))
        _one_of("exceptions", self.exceptions, ("built-in", "vectors"))
        _one_of("unmodelled", self.unmodelled, ("stop", "log-once"))
        if self.check:
            object.__setattr__(self, "diagnostics", Check.ALL)
        if self.notes_bounds:
            object.__setattr__(self, "bounds", True)
        choose(self.readings)
        for name, size, limit in (
            ("stack_bytes", self.stack_bytes, 256 * KIB),
            ("psram_bytes", self.psram_bytes, PSRAM_LIMIT),
        ):
            if size % PAGE or not PAGE <= size <= limit:
                raise ValueError(f"{name} is {size}; it must be a multiple of {PAGE} up to {limit}")

    @property
    def notes_bounds(self) -> bool:
        """The permission map is on to note what it would refuse, not to refuse it."""
        wanted = self.diagnostics or Check.NONE
        return bool(wanted & (Check.BOUNDS | Check.MEMORY))


def _one_of(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"{name} is {value!r}; it must be one of {', '.join(allowed)}")
