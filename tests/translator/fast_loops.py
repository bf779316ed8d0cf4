"""Which fast versions of loops are written during a test."""

from __future__ import annotations

from collections import Counter

import pytest

from emu.cpu.translator import versions


def count_fast_loops(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """A counter that grows with them: with a "shifted" index, with "booleans", with a "shared" pointer."""
    seen: Counter[str] = Counter()
    opened, start_of = versions.FastLoop.open, versions.FastLoop._start_of

    def count_kinds(self, *arguments):  # type: ignore[no-untyped-def]
        seen["booleans"] += bool(self.body.booleans)
        seen["shifted"] += any(access.part is not None for access in self.body.accesses)
        return opened(self, *arguments)

    def count_shared(self, stream, host, known):  # type: ignore[no-untyped-def]
        before = len(known)
        found = start_of(self, stream, host, known)
        seen["shared"] += len(known) == before
        return found

    monkeypatch.setattr(versions.FastLoop, "open", count_kinds)
    monkeypatch.setattr(versions.FastLoop, "_start_of", count_shared)
    return seen
