"""Errors for people: one message on stderr and the right exit code, never a traceback for bad input."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click
from click import Abort, ClickException
from click.exceptions import Exit

EXIT_USAGE, EXIT_LINK, EXIT_BOARD, EXIT_TOOL, EXIT_INTERRUPTED = 2, 3, 4, 5, 130


def guarded(command: Callable[..., int | None]) -> Callable[..., None]:
    """Turn a command that returns its exit code into one that exits with it and reports its errors."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        context = click.get_current_context()
        pressed: list[int] = []
        try:
            with _ended_as_by_ctrl_c(pressed):
                code = command(*args, **kwargs) or 0
        except (ClickException, Exit, Abort):
            raise
        except KeyboardInterrupt:
            code = _say("interrupted", EXIT_INTERRUPTED)
        except BrokenPipeError:
            sys.stderr.close()
            code = EXIT_TOOL
        except Exception as error:
            # an interrupted compiler of the mirrors raises what it likes
            code = _say("interrupted", EXIT_INTERRUPTED) if pressed else _classify(error)
        context.exit(code)

    return run


@contextlib.contextmanager
def _ended_as_by_ctrl_c(pressed: list[int]) -> Iterator[None]:
    """SIGTERM, which CI systems send when time is up, ends a command as Ctrl-C does: with what it has.

    ``pressed`` gets the numbers of the signals that came. Afterwards the process has the handlers that it
    had before: it may be a program that uses the command.
    """

    def interrupt(number: int, frame: object) -> None:
        pressed.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    signals = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not in the background of a shell
        signals.append(signal.SIGINT)
    before = {number: signal.signal(number, interrupt) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            # None: a handler that was not installed from Python, and that Python cannot put back.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def _classify(error: Exception) -> int:
    from emu.cpu.traps import Trap
    from emu.image.errors import ImageError
    from emu.models.errors import ModelError, RunError
    from emu.toolchain.errors import ToolchainError
    from emu.verify.errors import LinkTrouble, TargetFault, ToolError, UsageProblem

    variant = sys.modules.get("emu.numerics.gemm.variant")  # EMU_GEMM is read while the mirrors are imported
    if variant is not None and isinstance(error, variant.VariantError):
        return _say(str(error), EXIT_USAGE)
    if isinstance(error, UsageProblem | ImageError | ModelError):
        return _say(str(error), EXIT_USAGE)
    if isinstance(error, LinkTrouble) or _is_link_fault(error):
        return _say(str(error), EXIT_LINK)
    if isinstance(error, TargetFault):
        return _say(str(error), EXIT_BOARD)
    if isinstance(error, ToolError | ToolchainError | RunError):
        return _say(str(error), EXIT_TOOL)
    if isinstance(error, OSError) and error.filename:
        return _say(f"{error.filename}: {error.strerror}", EXIT_TOOL)
    if isinstance(error, Trap):
        return _say(str(error), EXIT_BOARD)
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT):
        return _say(f"{error.strerror}: for what is printed here, or for temporary files", EXIT_TOOL)
    return _unexpected(error)


def _is_link_fault(error: Exception) -> bool:
    errors = sys.modules.get("emu.link.errors")  # whoever raised it has imported it
    return errors is not None and isinstance(error, (errors.LinkFault, errors.LineLost))


def _say(text: str, code: int) -> int:
    click.echo(f"emu: {text}", err=True)
    return code


def _unexpected(error: Exception) -> int:
    if os.environ.get("EMU_TRACEBACK"):
        traceback.print_exception(error)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(frame.filename).name}:{frame.lineno}"
    return _say(
        f"internal error at {where}: {type(error).__name__}: {error}\n"
        "This is a fault of emu, not of your input; please report it. EMU_TRACEBACK=1 shows all of it.",
        EXIT_TOOL,
    )
