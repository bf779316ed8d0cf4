"""How talking to a board can end badly; each kind has its own verdict and exit code."""

from __future__ import annotations


class LinkFault(Exception):
    """The line does not carry what is sent, or nobody answers. Verdict "link fault", exit code 3."""


class LineLost(Exception):
    """The port is gone for now (unplugged, connection closed). Sessions recover from it."""


class Refused(Exception):
    """The board answered a request with a status other than 0: a fault of the client, never of the line.

    ``argument``: which one of CALL it is about, when the board says so.
    """

    def __init__(self, request: str, status: int, reason: str, argument: int | None = None) -> None:
        about = "" if argument is None else f", argument {argument}"
        super().__init__(f"the board refuses {request}: {reason} (status {status}{about})")
        self.status = status
        self.argument = argument


class BoardFault(Exception):
    """The code on the board stopped: exception, endless call, overwritten agent. Exit code 4.

    ``kind``: "exception", "endless", "damaged", "hang", "reset", "panic", "watchdog"; ``where``: kernel
    or stage; ``pc``: address, when known.
    """

    def __init__(self, kind: str, message: str, where: str = "", pc: int | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.where = where
        self.pc = pc


class BoardReset(Exception):
    """The board started again and has lost its buffers: the work in hand has to be done again."""

    def __init__(self, message: str, reason: int = 0) -> None:
        super().__init__(message)
        self.reason = reason


class PowerFault(LinkFault):
    """The board's supply fails again and again: no verdict about its code is possible."""
