"""The first commit that is wrong, and the hunk that its wrong instruction came from."""

from __future__ import annotations

import hashlib
import shlex
import shutil
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from emu.bisect.repository import Commit, Repository
from emu.toolchain import ToolchainError
from emu.toolchain.build import build_firmware, compiler_of
from emu.toolchain.cache import make_once
from emu.toolchain.find import find_toolchain
from emu.verify.errors import UsageProblem

FIRMWARE = "firmware"
_ELF = "image.elf"
_TOLD = 6
"""Last lines of what a failing build said."""


@dataclass(frozen=True)
class Builder:
    """Makes the image of a commit once. ``command``: run in the unpacked sources, leaves ``product``; without
    one the project's own firmware is built.
    """

    repository: Repository
    command: str = ""
    product: str = ""

    @property
    def path(self) -> str:
        """What of a commit the image depends on."""
        return "" if self.command else FIRMWARE

    def image(self, commit: Commit) -> Path:
        """The ELF file. Raises ToolchainError with the reason when the commit cannot be built."""
        tree = self.repository.tree(commit, self.path)
        if not tree:
            raise ToolchainError(f"{commit} has no folder {self.path}", "choose commits that have one")
        compiler = {} if self.command else compiler_of(find_toolchain())
        what = f"{tree} {self.command} {self.product} {sorted(compiler.items())}"
        key = hashlib.sha256(what.encode()).hexdigest()[:24]
        folder = make_once(
            f"bisect-builds/{key}",
            lambda fresh, final: self._build(commit, fresh),
            lambda final: (final / _ELF).is_file(),
        )
        return folder / _ELF

    def _build(self, commit: Commit, fresh: Path) -> None:
        sources = fresh / "sources"
        sources.mkdir()
        self.repository.unpack(commit, self.path, sources)
        if self.command:
            self._run(commit, sources)
            shutil.copyfile(sources / self.product, fresh / _ELF)
        else:
            made = build_firmware(find_toolchain(), fresh / "built", sources=sources / FIRMWARE)
            shutil.copyfile(made.elf, fresh / _ELF)
        shutil.rmtree(sources)

    def _run(self, commit: Commit, sources: Path) -> None:
        words = shlex.split(self.command)
        try:
            done = subprocess.run(words, cwd=sources, capture_output=True, text=True, check=False)
        except OSError as error:
            raise ToolchainError(f"{words[0]}: {error.strerror}", "give a command that exists") from None
        if done.returncode:
            said = "\n".join((done.stderr or done.stdout).strip().splitlines()[-_TOLD:])
            raise ToolchainError(
                f"{commit}: {self.command} ended with {done.returncode}:\n{said}",
                "try the command in a checkout of that commit",
            )
        if not (sources / self.product).is_file():
            raise ToolchainError(
                f"{commit}: {self.command} left no {self.product}", "name the ELF file with --product"
            )


@dataclass
class Search:
    """A search by halving. ``known``: verdicts of earlier runs by commit (None: it cannot be judged)."""

    commits: Sequence[Commit]
    judge: Callable[[Commit], bool | None]
    known: dict[str, bool | None] = field(default_factory=dict)
    asked: int = 0

    def first_bad(self) -> tuple[Commit, list[Commit]]:
        """The first bad commit, and commits just before it that cannot be judged (it may be one of them).

        The last commit is bad, what lies before the first one is good. Supposes that what is bad stays bad.
        """
        low, high = 0, len(self.commits) - 1
        while low < high:
            middle = self._judged_between(low, high)
            if middle is None:
                break
            place, is_bad = middle
            if is_bad:
                high = place
            else:
                low = place + 1
        doubtful = [c for c in self.commits[low:high] if self.known.get(c.name, False) is None]
        return self.commits[high], doubtful

    def _judged_between(self, low: int, high: int) -> tuple[int, bool] | None:
        """The commit nearest to the middle of low..high - 1 that can be judged."""
        middle = (low + high) // 2
        for place in sorted(range(low, high), key=lambda i: abs(i - middle)):
            verdict = self._verdict(self.commits[place])
            if verdict is not None:
                return place, verdict
        return None

    def _verdict(self, commit: Commit) -> bool | None:
        if commit.name not in self.known:
            self.asked += 1
            self.known[commit.name] = self.judge(commit)
        return self.known[commit.name]


def parse_range(repository: Repository, good: str, bad: str) -> tuple[Commit, Commit, list[Commit]]:
    """(good, bad, the commits to search). Raises UsageProblem."""
    first, last = repository.commit(good), repository.commit(bad)
    if first.name == last.name:
        raise UsageProblem(f"{good} and {bad} are the same commit")
    return first, last, repository.between(first, last)
