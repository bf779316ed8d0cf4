"""Draws of Hypothesis that depend on the seed alone.

Hypothesis mixes constants into what it draws: some of its own, and those that it finds in the source of local
modules that happen to be loaded. The latter would make example ``n`` of a seed another one in every process
that has loaded other modules. There is no public switch; versions before 6.131 have no such constants. Which
names exist differs between versions, so what is there is replaced, and a test compares two processes.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from importlib import import_module
from typing import Any
from unittest.mock import patch

_MODULE = "hypothesis.internal.conjecture.providers"


@contextlib.contextmanager
def pinned() -> Iterator[None]:
    """While it lasts, what is drawn depends on seed and strategy, not on the modules of the process."""
    try:
        providers = import_module(_MODULE)
    except ImportError:
        yield
        return
    with contextlib.ExitStack() as stack:
        for name, value in _replacements(providers).items():
            if hasattr(providers, name):
                stack.enter_context(patch.object(providers, name, value))
        yield


def _replacements(providers: Any) -> dict[str, Any]:
    """What knows local constants: the function that collects them, and the cache of those that fit."""
    constants = getattr(providers, "Constants", None)
    return {
        "_get_local_constants": (lambda: constants()) if constants is not None else dict,
        "CONSTANTS_CACHE": {},
    }
