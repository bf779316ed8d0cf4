"""Which kernels a command works on: bundled or of a spec file, chosen by name or pattern."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path

from emu.kernels.spec import Kernel
from emu.verify.errors import UsageProblem
from emu.verify.specfile import load_spec, validate


def known_kernels(spec: Path | None) -> dict[str, Kernel]:
    """The kernels of a spec file, or the bundled ones; all of them checked. Raises UsageProblem."""
    if spec is not None:
        found = load_spec(spec)
    else:
        from emu.kernels import load_all

        found = dict(load_all())
    validate(found)
    return found


def choose(kernels: Mapping[str, Kernel], names: Sequence[str]) -> list[Kernel]:
    """Kernels that match any of ``names``, all when empty. Raises UsageProblem for one that matches none."""
    if not names:
        return list(kernels.values())
    for name in names:
        if not any(fnmatchcase(symbol, name) for symbol in kernels):
            several = "; say --kernel once for each name" if "," in name else ""
            raise UsageProblem(
                f"no kernel is called {name!r}{similar(name, kernels)}{several}; 'emu kernels' lists them"
            )
    return [k for s, k in kernels.items() if any(fnmatchcase(s, name) for name in names)]


def similar(name: str, among: Iterable[str]) -> str:
    """`` (did you mean a, b?)`` or nothing."""
    close = get_close_matches(name, list(among), n=3)
    return f" (did you mean {', '.join(close)}?)" if close else ""
