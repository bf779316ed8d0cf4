"""Running the tools: a clean environment, captured output, errors that name the command."""

from __future__ import annotations

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from emu.toolchain.errors import ToolchainError

MISLEADING = (
    "COMPILER_PATH",
    "CPATH",
    "CPLUS_INCLUDE_PATH",
    "C_INCLUDE_PATH",
    "GCC_EXEC_PREFIX",
    "LD_LIBRARY_PATH",
    "LIBRARY_PATH",
    "XTENSA_GNU_CONFIG",
)
"""Variables that redirect a compiler; a user's own settings of them must not change what we build."""


def clean_env(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """This process's environment without `MISLEADING`, messages in English, plus `extra`."""
    env = {name: value for name, value in os.environ.items() if name not in MISLEADING}
    return env | {"LC_ALL": "C", "LANGUAGE": "C"} | dict(extra or {})


def execute(
    command: Sequence[str | Path], env: Mapping[str, str] | None = None, what: str = "cannot run a tool"
) -> subprocess.CompletedProcess[str]:
    """Run `command` to its end, without input, and return what it wrote.

    Raises:
        ToolchainError: it could not be started or ended with another status than 0; the message holds `what`,
            the command and its last lines of output.
    """
    words = [str(word) for word in command]
    try:
        done = subprocess.run(
            words,
            env=dict(env) if env is not None else clean_env(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
    except OSError as error:
        raise ToolchainError(f"{what}: {words[0]}: {error.strerror}") from error
    if done.returncode:
        tail = "\n".join((done.stderr.strip() or done.stdout.strip()).splitlines()[-20:])
        ending = f"{shlex.join(words)} ended with status {done.returncode}"
        raise ToolchainError(f"{what}: {ending}\n{tail}".rstrip())
    return done


def run(
    command: Sequence[str | Path], env: Mapping[str, str] | None = None, what: str = "cannot run a tool"
) -> str:
    """`execute`, and only the standard output of it."""
    return execute(command, env, what).stdout
