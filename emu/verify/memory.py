"""Failing cases of earlier runs, tried again first: Hypothesis' example database, keyed by kernel."""

from __future__ import annotations

from pathlib import Path

from hypothesis.database import DirectoryBasedExampleDatabase, ExampleDatabase, InMemoryExampleDatabase

from emu.kernels.spec import Kernel
from emu.toolchain.cache import cache_dir
from emu.verify.case import Case
from emu.verify.casefile import decode, encode
from emu.verify.errors import UsageProblem

_LIMIT = 16
_LARGEST = 1 << 20


def default_folder() -> Path:
    """Where failing cases are kept between runs: ``failures`` in the cache folder."""
    return cache_dir() / "failures"


class Memory:
    """Remembers shrunk failing cases in a folder, or any other database of Hypothesis; None remembers within
    this process only.
    """

    def __init__(self, place: Path | ExampleDatabase | None) -> None:
        if place is None:
            place = InMemoryExampleDatabase()
        self._database = DirectoryBasedExampleDatabase(place) if isinstance(place, Path) else place

    def recall(self, kernel: Kernel) -> list[Case]:
        """Remembered cases of a kernel; those that no longer fit its spec are forgotten."""
        found = []
        for data in sorted(self._database.fetch(_key(kernel)))[:_LIMIT]:
            try:
                found.append(decode(data, {kernel.symbol: kernel})[1])
            except UsageProblem:
                self._database.delete(_key(kernel), data)
        return found

    def remember(self, kernel: Kernel, case: Case) -> None:
        """Keep a failing case, unless it is too large to be worth it."""
        data = encode(case)
        if len(data) <= _LARGEST:
            self._database.save(_key(kernel), data)

    def forget(self, kernel: Kernel, case: Case) -> None:
        """Drop a case that passes now."""
        self._database.delete(_key(kernel), encode(case))


def _key(kernel: Kernel) -> bytes:
    return b"esp32s3-emu/" + kernel.symbol.encode()
