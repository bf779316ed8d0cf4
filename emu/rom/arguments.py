"""Variable arguments: words behind the fixed ones, or a ``va_list`` (Xtensa ABI, "Variable arguments").

A va_list is three words passed by value: the stack area (minus 32), the register area, the bytes that are
used up; 24 bytes lie in the register area.
"""

from __future__ import annotations

from emu.rom.functions import RomCall

_IN_REGISTERS = 24


class Rest:
    """The arguments behind the first ``fixed`` words."""

    def __init__(self, call: RomCall, fixed: int) -> None:
        self._call = call
        self._next = fixed

    def word(self) -> int:
        """The next word."""
        self._next += 1
        return self._call[self._next - 1]

    def wide(self) -> int:
        """The next 64 bits, at an even word."""
        self._next += self._next % 2
        low = self.word()
        return self.word() << 32 | low


class VaList:
    """The arguments of a va_list whose first word is word ``first`` of the call."""

    def __init__(self, call: RomCall, first: int) -> None:
        self._call = call
        self._stack, self._registers, self._used = call[first], call[first + 1], call[first + 2]

    def word(self) -> int:
        """The next word."""
        return int.from_bytes(self._take(4), "little")

    def wide(self) -> int:
        """The next 64 bits."""
        self._used = (self._used + 7) & ~7
        return int.from_bytes(self._take(8), "little")

    def _take(self, size: int) -> bytes:
        before, self._used = self._used, self._used + size
        if self._used <= _IN_REGISTERS:
            return self._call.read(self._registers + self._used - size, size)
        if before <= _IN_REGISTERS:
            self._used = 32 + size
        return self._call.read(self._stack + self._used - size, size)
