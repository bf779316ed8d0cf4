"""What happened on a line: counted while it happens, told at the end."""

from __future__ import annotations

from collections import Counter, deque

_WORDS = {
    "sent": "bytes sent",
    "received": "bytes received",
    "damaged": "damaged pieces received",
    "damaged_there": "damaged pieces at the board",
    "stale": "frames of earlier sessions dropped",
    "duplicates": "replies that came twice",
    "repeated": "requests sent again",
    "polls": "questions what is missing",
    "lost_there": "bytes the board could not fetch in time",
    "reconnects": "times the port was opened again",
    "resets": "unexpected starts of the board",
    "redone": "cases done again after a start of the board",
    "text": "lines of text between frames",
    "requests": "requests",
}
_QUIET = ("sent", "received", "requests", "text", "polls")
_AGAIN = ("damaged", "damaged_there", "repeated", "reconnects", "resets", "redone")
_LOG_LINES = 500


class Tally:
    """Counts by name (see ``_WORDS``), and the last lines of text that the board printed."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.log: deque[str] = deque(maxlen=_LOG_LINES)

    def add(self, name: str, n: int = 1) -> None:
        """Count ``n`` more of ``name``."""
        self.counts[name] += n

    def at_least(self, name: str, n: int) -> None:
        """The board counts itself: keep the highest number seen."""
        self.counts[name] = max(self.counts[name], n)

    def say(self, text: str) -> None:
        """Keep text of the board, line by line."""
        for line in text.replace("\r", "\n").split("\n"):
            if line.strip():
                self.log.append(line.rstrip())
                self.counts["text"] += 1

    @property
    def clean(self) -> bool:
        """Nothing had to be mended."""
        return not any(n for name, n in self.counts.items() if name not in _QUIET)

    @property
    def mended(self) -> int:
        """So often something had to be done again, by either side."""
        return sum(self.counts[name] for name in _AGAIN)

    def summary(self) -> str:
        """One line: what was carried, and what had to be mended."""
        carried = ", ".join(f"{self.counts[n]:,} {_WORDS[n]}" for n in ("requests", "sent", "received"))
        mended = [
            f"{n:,} {_WORDS.get(name, name)}"
            for name, n in sorted(self.counts.items())
            if n and name not in ("requests", "sent", "received", "text")
        ]
        return f"link: {carried}; " + (", ".join(mended) if mended else "nothing had to be mended")
