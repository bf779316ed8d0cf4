"""For scripts that build an application: what is built is printed, trouble with the compiler is told."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from emu.toolchain.errors import ToolchainError
from emu.toolchain.find import find_toolchain
from emu.toolchain.tools import Toolchain

_TROUBLE = 5


def print_built(build: Callable[[Toolchain], Iterable[Path]]) -> int:
    """Print each file that ``build`` makes; 0, or 5 when it or the compiler fails.

    A compiler is fetched when there is none.
    """
    try:
        for path in build(find_toolchain(install=True)):
            print(path)
    except ToolchainError as error:
        print(error, file=sys.stderr)
        return _TROUBLE
    return 0
