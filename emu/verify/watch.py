"""``emu verify --watch``: the same verification again for every new build, until Ctrl-C."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from emu.image import ImageError, load_image
from emu.verify.errors import UsageProblem

Stamp = tuple[int, int, int]
POLL = 0.2
SETTLED = 0.4
"""Seconds for which a file must not have changed: a linker writes for a while."""
PATIENCE = 5.0
"""Seconds after which a file that is no image is told about."""


def stamp(path: Path) -> Stamp | None:
    """What changes with every build; None while there is no file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino


@dataclass
class Watcher:
    """Waits for whole, new versions of ``elf``; a change of one of ``others`` (the spec) counts too."""

    elf: Path
    others: Sequence[Path] = ()
    say: Callable[[str], None] = print
    _seen: tuple[Stamp | None, ...] | None = field(default=None, init=False)

    def wait(self) -> None:
        """Return as soon as there is an image that was not seen yet."""
        told = False
        since = time.monotonic()
        while True:
            now = self._stamps()
            if now != self._seen and now[0] is not None and self._is_settled(now):
                problem = self._problem()
                if not problem:
                    self._seen = now
                    return
                if not told and time.monotonic() - since > PATIENCE:
                    self.say(f"waiting for a whole image: {problem}")
                    told = True
            elif now[0] is None and not told and time.monotonic() - since > PATIENCE:
                self.say(f"waiting for {self.elf}")
                told = True
            time.sleep(POLL)

    def has_changed(self) -> bool:
        """Whether the files are other ones than those that :meth:`wait` returned for."""
        return self._stamps() != self._seen

    def _stamps(self) -> tuple[Stamp | None, ...]:
        return tuple(stamp(path) for path in (self.elf, *self.others))

    def _is_settled(self, now: tuple[Stamp | None, ...]) -> bool:
        end = time.monotonic() + SETTLED
        while time.monotonic() < end:
            time.sleep(POLL / 2)
            if self._stamps() != now:
                return False
        return True

    def _problem(self) -> str:
        try:
            load_image(self.elf)
        except ImageError as error:
            return str(error)
        return ""


def watch(elf: Path, others: Sequence[Path], arguments: Sequence[str], say: Callable[[str], None]) -> int:
    """Run ``emu verify ARGUMENTS`` for every new build; the exit code of the last whole run after Ctrl-C.

    Each run is a process of its own, so that a changed spec file is read anew. Raises UsageProblem for a
    place where no file can appear.
    """
    if not elf.absolute().parent.is_dir():
        raise UsageProblem(f"--watch {elf}: there is no folder {elf.absolute().parent}")
    if elf.is_dir():
        raise UsageProblem(f"--watch {elf}: a folder; give the ELF file that the build writes")
    watcher = Watcher(elf, others, say)
    code = 0
    try:
        while True:
            watcher.wait()
            say(f"{time.strftime('%H:%M:%S')}  {elf}")
            done = subprocess.run([sys.executable, "-m", "emu.cli", "verify", *arguments], check=False)
            if watcher.has_changed():
                say("the build has changed meanwhile; once more")
                continue
            code = done.returncode
            say(f"exit code {code}; waiting for the next build (Ctrl-C ends)")
    except KeyboardInterrupt:
        return code
