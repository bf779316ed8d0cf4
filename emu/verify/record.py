"""What an exhaustive run has finished, on disk, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from pathlib import Path

from emu.kernels.spec import Kernel
from emu.verify.options import Options
from emu.verify.records import write_whole


class Record:
    """Finished blocks of one kernel in ``folder``, valid for one fingerprint of everything that could change
    them.
    """

    def __init__(self, folder: Path | None, kernel: Kernel, fingerprint: str, block: int) -> None:
        self._path = folder / f"exhaustive-{kernel.symbol}.json" if folder else None
        self._head = {"fingerprint": fingerprint, "block": block}
        self.done: set[int] = self._load()

    def _load(self) -> set[int]:
        if self._path is None or not self._path.is_file():
            return set()
        try:
            document = json.loads(self._path.read_bytes())
            if {k: document[k] for k in self._head} != self._head:
                return set()
            return {b for a, e in document["done"] for b in range(int(a), int(e))}
        except (ValueError, KeyError, TypeError):
            return set()

    def add(self, blocks: Iterable[int]) -> None:
        """Keep these as finished."""
        self.done.update(blocks)
        if self._path is not None:
            ranges = _ranges(sorted(self.done))
            write_whole(self._path, json.dumps({**self._head, "done": ranges}).encode())


def _ranges(numbers: Sequence[int]) -> list[list[int]]:
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][1] == number:
            found[-1][1] += 1
        else:
            found.append([number, number + 1])
    return found


def source_fingerprint(elf_sha256: str, options: Options) -> str:
    """SHA-256 over the image, the options that matter and every source of the package."""
    digest = hashlib.sha256(f"{elf_sha256} {options.target} {options.tier} {options.fused}".encode())
    root = Path(__file__).parents[1]
    for path in sorted(root.glob("*/**/*.py")):
        digest.update(str(path.relative_to(root)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()
