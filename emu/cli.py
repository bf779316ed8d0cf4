"""The ``emu`` command: thin over the rooms, and quick to start because each subcommand imports its room only
when run.

Exit codes: 0 equal, 1 mismatch, 2 wrong use or wrong input, 3 link fault, 4 board fault (the code under test
trapped), 5 trouble of our own, 130 interrupted.
"""

from __future__ import annotations

import importlib
from importlib import metadata
from typing import Any

import rich_click as click

_COMMANDS = {
    "verify": ("emu.cli_verify", "verify"),
    "kernels": ("emu.cli_tools", "kernels"),
    "spec": ("emu.cli_spec", "spec"),
    "disasm": ("emu.cli_debug", "disasm"),
    "trace": ("emu.cli_debug", "trace"),
    "run": ("emu.cli_debug", "run"),
    "lockstep": ("emu.cli_debug", "lockstep"),
    "draw": ("emu.cli_models", "draw"),
    "classify": ("emu.cli_models", "classify"),
    "generate": ("emu.cli_models", "generate"),
    "compare": ("emu.cli_models", "compare"),
    "model": ("emu.cli_models", "model"),
    "history": ("emu.cli_history", "history"),
    "golden": ("emu.cli_golden", "golden"),
    "bisect": ("emu.cli_bisect", "bisect"),
    "mutate": ("emu.cli_mutate", "mutate"),
    "doctor": ("emu.cli_tools", "doctor"),
    "toolchain": ("emu.cli_tools", "toolchain"),
    "board": ("emu.cli_board", "board"),
    "profile": ("emu.cli_profile", "profile"),
    "boards": ("emu.cli_link", "boards"),
    "flash": ("emu.cli_link", "flash"),
    "selftest": ("emu.cli_link", "selftest"),
    "bench": ("emu.cli_bench", "bench"),
}


class LazyGroup(click.RichGroup):
    """A group whose commands live in modules that are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Commands in the order in which they are worth reading."""
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> Any:
        """The command of that name, or None."""
        if cmd_name not in _COMMANDS:
            return None
        module, name = _COMMANDS[cmd_name]
        return getattr(importlib.import_module(module), name)


def _version() -> str:
    """The installed version; a checkout that runs without being installed says so."""
    try:
        return metadata.version("esp32s3-emu")
    except metadata.PackageNotFoundError:
        return "of a checkout that is not installed (pip install -e .)"


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(_version(), prog_name="emu")
def main() -> None:
    """Prove that ESP32-S3 firmware computes bit for bit what its Python model says."""


if __name__ == "__main__":
    main()
