"""Compilers for the chip: found, or fetched and re-targeted; checked before anyone relies on them.

    from emu.toolchain import find_toolchain
    tc = find_toolchain()
    tc.compile("dot.c", "dot.o", ["-O2"])

`find_toolchain` raises `ToolchainError`, whose message says what is missing and which command mends it.
"""

from emu.toolchain.errors import ToolchainError
from emu.toolchain.find import find_toolchain
from emu.toolchain.script import print_built
from emu.toolchain.tools import Toolchain

__all__ = ["Toolchain", "ToolchainError", "find_toolchain", "print_built"]
