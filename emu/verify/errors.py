"""The three ways in which a run can end badly, kept apart so that nobody blames the kernel for our own
trouble.
"""

from __future__ import annotations


class UsageProblem(Exception):
    """The user's input is wrong (file, name, spec, option). Exit code 2."""


class ToolError(Exception):
    """Trouble of our own or of the host: a crashed worker, a mirror that raises. Exit code 5."""


class LinkTrouble(ToolError):
    """The line to a board cannot be mended, so there is no verdict about its code. Exit code 3."""


class TargetFault(Exception):
    """The code under test trapped: endless loop, bad address, illegal instruction, broken ABI. Verdict "board
    fault".

    ``kind`` is the engine's trap kind ("budget", "load", ...), ``where`` names symbol and source line when
    known.
    """

    def __init__(self, kind: str, message: str, where: str = "", pc: int | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.where = where
        self.pc = pc

    def __reduce__(self) -> tuple[type[TargetFault], tuple[str, str, str, int | None]]:
        return TargetFault, (self.kind, self.message, self.where, self.pc)
