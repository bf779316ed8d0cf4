"""Integer helpers that GCC calls (GCC internals manual, "Routines for integer arithmetic"; ROM group libgcc).

The functions with a ``v`` trap on overflow (-ftrapv) as libgcc's do, by abort. Division by zero traps as the
processor's own division does.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from emu.cpu.traps import TrapKind
from emu.rom.functions import RomCall, rom_function

MASK32 = 0xFFFFFFFF
MASK64 = (1 << 64) - 1


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def _wide(value: int) -> np.uint64:
    return np.uint64(value & MASK64)


def _quotient(a: int, b: int) -> int:
    """Towards 0."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


_DIVISIONS: dict[str, Callable[[int, int], int]] = {
    "div": _quotient,
    "mod": lambda a, b: a - _quotient(a, b) * b,
    "udiv": lambda a, b: a // b,
    "umod": lambda a, b: a % b,
}


def _division(name: str, rule: Callable[[int, int], int]) -> None:
    is_signed = not name.startswith("u")

    @rom_function(f"__{name}si3")
    def divide(call: RomCall) -> int:
        """32 bits; INT_MIN / -1 wraps."""
        a, b = (call.signed(0), call.signed(1)) if is_signed else (call[0], call[1])
        if not b:
            raise call.divided_by_zero()
        return rule(a, b) & MASK32

    @rom_function(f"__{name}di3")
    def divide_wide(call: RomCall) -> np.uint64:
        """64 bits."""
        a, b = call.wide(0), call.wide(2)
        if is_signed:
            a, b = _signed(a, 64), _signed(b, 64)
        if not b:
            raise call.divided_by_zero()
        return _wide(rule(a, b))


for _name, _rule in _DIVISIONS.items():
    _division(_name, _rule)


@rom_function("__udivmoddi4")
def udivmod(call: RomCall) -> np.uint64:
    """The remainder goes where the fifth word points to, unless that is 0."""
    a, b = call.wide(0), call.wide(2)
    if not b:
        raise call.divided_by_zero()
    if call[4]:
        call.write(call[4], (a % b).to_bytes(8, "little"))
    return _wide(a // b)


@rom_function("__mulsi3")
def mul(call: RomCall) -> int:
    """Modulo 2**32."""
    return call[0] * call[1] & MASK32


@rom_function("__muldi3")
def mul_wide(call: RomCall) -> np.uint64:
    """Modulo 2**64."""
    return _wide(call.wide(0) * call.wide(2))


@rom_function("__negdi2")
def neg_wide(call: RomCall) -> np.uint64:
    """Modulo 2**64."""
    return _wide(-call.wide(0))


@rom_function("__ashldi3")
def shift_left(call: RomCall) -> np.uint64:
    """By 0..63."""
    return _wide(call.wide(0) << (call[2] & 63))


@rom_function("__lshrdi3")
def shift_right(call: RomCall) -> np.uint64:
    """Zeros come in."""
    return _wide(call.wide(0) >> (call[2] & 63))


@rom_function("__ashrdi3")
def shift_right_signed(call: RomCall) -> np.uint64:
    """The sign comes in."""
    return _wide(_signed(call.wide(0), 64) >> (call[2] & 63))


@rom_function("__cmpdi2")
def compare(call: RomCall) -> int:
    """0, 1, 2 for less, equal, greater."""
    a, b = _signed(call.wide(0), 64), _signed(call.wide(2), 64)
    return (a > b) - (a < b) + 1


@rom_function("__ucmpdi2")
def compare_unsigned(call: RomCall) -> int:
    """The same for unsigned numbers."""
    a, b = call.wide(0), call.wide(2)
    return (a > b) - (a < b) + 1


def _leading(value: int, bits: int) -> int:
    return bits - value.bit_length()


def _redundant(value: int, bits: int) -> int:
    """Sign bits besides the first."""
    return _leading(value ^ (MASK64 >> (64 - bits) if value >> (bits - 1) else 0), bits) - 1


def _trailing(value: int, bits: int) -> int:
    return (value & -value).bit_length() - 1 if value else bits


_BITS: dict[str, Callable[[int, int], int]] = {
    "clz": _leading,
    "ctz": _trailing,
    "clrsb": _redundant,
    "ffs": lambda value, bits: _trailing(value, -1) + 1,
    "popcount": lambda value, bits: value.bit_count(),
    "parity": lambda value, bits: value.bit_count() & 1,
}


def _bits(name: str, rule: Callable[[int, int], int]) -> None:
    @rom_function(f"__{name}si2")
    def of_word(call: RomCall) -> int:
        """Of 32 bits; for 0 where C leaves it open: 32."""
        return rule(call[0], 32)

    @rom_function(f"__{name}di2")
    def of_wide(call: RomCall) -> int:
        """Of 64 bits."""
        return rule(call.wide(0), 64)


for _name, _bit_rule in _BITS.items():
    _bits(_name, _bit_rule)


@rom_function("__bswapsi2")
def swap(call: RomCall) -> int:
    """Bytes in the other order."""
    return int.from_bytes(call[0].to_bytes(4, "little"), "big")


@rom_function("__bswapdi2")
def swap_wide(call: RomCall) -> np.uint64:
    """Bytes in the other order."""
    return _wide(int.from_bytes(call.wide(0).to_bytes(8, "little"), "big"))


_TRAPPING: dict[str, tuple[int, Callable[..., int]]] = {
    "add": (2, lambda a, b: a + b),
    "sub": (2, lambda a, b: a - b),
    "mul": (2, lambda a, b: a * b),
    "neg": (1, lambda a: -a),
    "abs": (1, abs),
}


def _trapping(name: str, count: int, rule: Callable[..., int]) -> None:
    def checked(call: RomCall, value: int, bits: int) -> int:
        if _signed(value, bits) != value:
            raise call.trap(TrapKind.ABORT, f"{call.name}: signed overflow (-ftrapv), which calls abort()")
        return value

    @rom_function(f"__{name}vsi{count + 1}")
    def word(call: RomCall) -> int:
        """32 bits."""
        return checked(call, rule(*(call.signed(i) for i in range(count))), 32) & MASK32

    @rom_function(f"__{name}vdi{count + 1}")
    def wide(call: RomCall) -> np.uint64:
        """64 bits."""
        values = (_signed(call.wide(2 * i), 64) for i in range(count))
        return _wide(checked(call, rule(*values), 64))


for _name, (_count, _trap_rule) in _TRAPPING.items():
    _trapping(_name, _count, _trap_rule)


@rom_function("__clear_cache")
def clear_cache(call: RomCall) -> None:
    """Caches are not modelled."""
