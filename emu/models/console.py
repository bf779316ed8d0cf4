"""Texts from a command line and to a terminal, whatever their encodings."""

from __future__ import annotations

import os
import sys
from typing import Any


def typed_text(argument: str) -> str:
    """The text that a person typed, from an argument that Python decoded by the locale.

    The bytes decide: UTF-8 when they are valid UTF-8 (a C locale, or a locale that does not match the
    terminal), else what the locale made of them, else cp1251, the usual encoding of consoles that send
    Russian text without saying so.
    """
    if argument.isascii():
        return argument
    try:
        raw = os.fsencode(argument)
    except UnicodeEncodeError:
        return argument
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        pass
    if any(0xDC80 <= ord(c) <= 0xDCFF for c in argument):
        return raw.decode("cp1251", "replace")
    return argument


def announce_compilation() -> None:
    """Say once, on the terminal, when mirrors have to be compiled before anything can run."""
    from numba.core import event

    class Announcer(event.Listener):  # type: ignore[misc]
        told = False

        def on_start(self, event: Any) -> None:
            if not self.told:
                print("compiling the mirrors for this machine; this is done once", file=sys.stderr)
            self.told = True

        def on_end(self, event: Any) -> None:
            pass

    event.register("numba:compile", Announcer())


def forgiving_output() -> None:
    """Let characters that the terminal's encoding lacks become ?, instead of ending the command."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="replace")


def prepare_terminal() -> None:
    """What every command of the models does first."""
    forgiving_output()
    announce_compilation()
