"""`python -m emu.toolchain [show|install|env]`, like `emu toolchain`, for scripts."""

from __future__ import annotations

import shlex
import sys

from emu.toolchain.errors import ToolchainError
from emu.toolchain.find import find_toolchain


def main(words: list[str]) -> int:
    """Do what the one word says; returns the exit code (0, 2 wrong use, 5 no toolchain)."""
    action = words[0] if words else "show"
    if len(words) > 1 or action not in ("show", "install", "env"):
        print("use: python -m emu.toolchain [show|install|env]", file=sys.stderr)
        return 2
    try:
        toolchain = find_toolchain(install=action == "install")
    except ToolchainError as error:
        print(error, file=sys.stderr)
        return 5
    if action == "env":
        settings = {**toolchain.env, "EMU_GCC_PREFIX": toolchain.prefix}
        print("\n".join(f"export {name}={shlex.quote(value)}" for name, value in settings.items()))
    else:
        print(toolchain.describe())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
