"""One bash for the commands of a page, so that folders, variables and jobs in the background stay."""

from __future__ import annotations

import os
import select
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType


@dataclass(frozen=True)
class Done:
    """What a command did: its exit code, and all that it printed."""

    code: int
    printed: str


class Shell:
    """A running bash. ``scratch`` keeps its scripts and outputs, out of the reader's folder."""

    def __init__(self, folder: Path, scratch: Path, environment: dict[str, str]) -> None:
        scratch.mkdir(parents=True, exist_ok=True)
        self._scratch = scratch
        self._step = 0
        self._answers, write_end = os.pipe()
        self._bash = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=[write_end],
            start_new_session=True,
            text=True,
        )
        self._fd = write_end
        os.close(write_end)

    def run(self, command: str, seconds: float) -> Done:
        """Run one command. Raises TimeoutError; the shell is then of no more use."""
        self._step += 1
        script, out = self._scratch / f"{self._step}.sh", self._scratch / f"{self._step}.out"
        script.write_text(command + "\n")
        assert self._bash.stdin is not None
        # Jobs must not hold the pipe, so that its end shows when a command ends bash itself.
        self._bash.stdin.write(f". '{script}' >'{out}' 2>&1 </dev/null {self._fd}>&-; echo $? >&{self._fd}\n")
        self._bash.stdin.flush()
        code = self._answer(seconds)
        printed = out.read_text(errors="replace") if out.exists() else ""
        if code is None:
            raise TimeoutError(f"`{command}` had not ended after {seconds:.0f} s; it printed:\n{printed}")
        return Done(code, printed)

    def _answer(self, seconds: float) -> int | None:
        """The exit code; that of bash itself where the command ended it."""
        if not select.select([self._answers], [], [], seconds)[0]:
            return None
        text = os.read(self._answers, 100).decode()
        return int(text) if text else self._bash.wait()

    def __enter__(self) -> Shell:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self._bash.pid, number)
                self._bash.wait(5)
            except (ProcessLookupError, subprocess.TimeoutExpired):
                pass
        os.close(self._answers)
