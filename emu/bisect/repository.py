"""What bisecting needs from git: commits between two, sources of a commit, hunks of a change."""

from __future__ import annotations

import io
import re
import subprocess
import tarfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from emu.image import Location
from emu.verify.errors import UsageProblem

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass(frozen=True)
class Commit:
    """``name``: the full hash; ``subject``: first line of its message."""

    name: str
    subject: str

    def __str__(self) -> str:
        return f"{self.name[:12]} {self.subject}"


@dataclass(frozen=True)
class Hunk:
    """A piece of a change. ``first``, ``last``: its lines in the new file; ``changed``: those of them that
    are new, or that stand where something was taken out.
    """

    file: str
    first: int
    last: int
    changed: tuple[int, ...]
    text: str

    def distance(self, place: Location) -> int | None:
        """Lines from a place of the code to the nearest changed line; None for another file."""
        if not place.file or not _same_file(place.file, self.file):
            return None
        return min((abs(place.line - line) for line in self.changed), default=0)


class Repository:
    """A git repository. Raises UsageProblem where git refuses."""

    def __init__(self, folder: Path) -> None:
        self.folder = Path(self._git_in(folder, "rev-parse", "--show-toplevel").decode().strip())

    def _git_in(self, folder: Path, *words: str) -> bytes:
        try:
            done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, check=False)
        except OSError as error:
            raise UsageProblem(f"git does not run: {error.strerror}") from None
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            raise UsageProblem(f"git {' '.join(words[:2])}: {said[0] if said else 'failed'}")
        return done.stdout

    def git(self, *words: str) -> bytes:
        """Output of a git command in the repository."""
        return self._git_in(self.folder, *words)

    def commit(self, name: str) -> Commit:
        """The commit of that name."""
        full = self.git("rev-parse", "--verify", "--end-of-options", f"{name}^{{commit}}").decode().strip()
        return Commit(full, self.git("log", "-1", "--format=%s", full).decode("utf-8", "replace").strip())

    def between(self, good: Commit, bad: Commit) -> list[Commit]:
        """Commits behind ``good`` up to ``bad``, along the first parents, the oldest first."""
        text = self.git("log", "--first-parent", "--format=%H %s", f"{good.name}..{bad.name}").decode(
            "utf-8", "replace"
        )
        found = [
            Commit(*line.split(" ", 1)) if " " in line else Commit(line, "") for line in text.splitlines()
        ]
        if not found:
            raise UsageProblem(f"no commit lies between {good.name[:12]} and {bad.name[:12]}")
        return found[::-1]

    def tree(self, commit: Commit, path: str) -> str:
        """The hash of a folder's contents in a commit, "" when it has none ("" is the whole tree)."""
        try:
            return self.git("rev-parse", f"{commit.name}:{path}").decode().strip()
        except UsageProblem:
            return ""

    def unpack(self, commit: Commit, path: str, folder: Path) -> None:
        """Write the files of a commit below ``path`` ("" for all) into a folder."""
        data = self.git("archive", "--format=tar", commit.name, *([path] if path else []))
        with tarfile.open(fileobj=io.BytesIO(data)) as archive:
            archive.extractall(folder, filter="data")

    def hunks(self, old: Commit, new: Commit, path: str = "") -> list[Hunk]:
        """What changed from one commit to another."""
        words = ["diff", "--no-color", "--no-ext-diff", "-U3", old.name, new.name]
        text = self.git(*words, *(["--", path] if path else [])).decode("utf-8", "replace")
        return list(_hunks(text.splitlines()))


def _hunks(lines: Sequence[str]) -> Iterator[Hunk]:
    file, body, start = "", list[str](), 0
    for line in [*lines, "diff "]:
        is_head = line.startswith(("diff ", "@@ "))
        if is_head and body:
            yield _hunk(file, start, body)
            body = []
        if line.startswith("+++ "):
            file = line[4:].removeprefix("b/")
        elif match := _HUNK.match(line):
            start, body = int(match[3]), [line]
        elif body and not line.startswith(("diff ", "index ", "--- ")):
            body.append(line)


def _hunk(file: str, start: int, body: list[str]) -> Hunk:
    at, changed = start, []
    for line in body[1:]:
        if line.startswith("+"):
            changed.append(at)
            at += 1
        elif line.startswith("-"):
            changed.append(at)
        elif not line.startswith("\\"):
            at += 1
    return Hunk(file, start, max(at - 1, start), tuple(dict.fromkeys(changed)), "\n".join(body))


def _same_file(a: str, b: str) -> bool:
    """Whether two paths, each from some folder on, can be one file."""
    left, right = a.split("/")[::-1], b.split("/")[::-1]
    common = min(len(left), len(right))
    return left[:common] == right[:common]


def hunk_of(hunks: Sequence[Hunk], places: Sequence[Location]) -> tuple[Hunk | None, str]:
    """(the hunk that code at these places came from, how sure that is); the earlier a place, the more it
    counts.
    """
    for place in places:
        near = [(d, i) for i, h in enumerate(hunks) if (d := h.distance(place)) is not None]
        if near:
            distance, index = min(near)
            if hunks[index].first <= place.line <= hunks[index].last:
                return hunks[index], f"line {place.line} of {place.file} is in it"
            return hunks[index], f"{distance} lines from line {place.line} of {place.file}"
    if len(hunks) == 1:
        return hunks[0], "the only change"
    return None, ""
