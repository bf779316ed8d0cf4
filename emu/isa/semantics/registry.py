"""The one place that maps a mnemonic to the function that defines its effect."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, wraps
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emu.cpu.machine import Machine, Operands

Effect = Callable[["Machine", "Operands"], None]


_EFFECTS: dict[str, Effect] = {}


def semantics(*mnemonics: str, **parameters: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register ``function(m, o, **parameters)`` as the effect of each mnemonic.

    May be stacked to give one function several parameter sets. Raises ValueError on a second definition.
    """

    def register(function: Callable[..., None]) -> Callable[..., None]:
        for mnemonic in mnemonics:
            if mnemonic in _EFFECTS:
                raise ValueError(f"two definitions of the effect of {mnemonic}")
            _EFFECTS[mnemonic] = _bind(function, parameters)
        return function

    return register


def _bind(function: Callable[..., None], parameters: dict[str, Any]) -> Effect:
    if not parameters:
        return function
    return lambda m, o: function(m, o, **parameters)


def block(function: Callable[..., Any]) -> Callable[..., Any]:
    """A named step ``function(m, ...)`` of the semantics that a machine may replace by an equal one of its
    own (:attr:`emu.cpu.machine.Machine.blocks`), for example by a better instruction of the host.
    """
    name = function.__name__

    @wraps(function)
    def step(m: Machine, *args: Any) -> Any:
        return m.blocks.get(name, function)(m, *args)

    return step


@cache
def effects() -> dict[str, Effect]:
    """All effects by mnemonic, after loading every module of the package."""
    from emu.isa import semantics as package

    for name in package.MODULES:
        import_module(f"{package.__name__}.{name}")
    return _EFFECTS
