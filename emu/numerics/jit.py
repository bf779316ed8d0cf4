"""The one decorator under which every mirror is compiled: strict IEEE arithmetic, cached on disk."""

from __future__ import annotations

import functools
import hashlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def jit(function: F) -> F:
    """Compile ``function`` with numba on first use: no fastmath, IEEE division, the GIL released, cached.

    Types are those of the arguments. Constants must be numpy scalars: a bare Python float is a double and
    would turn the expression around it into double arithmetic (docs/numerics.md section 1).
    """
    dispatcher = numba.njit(nogil=True, error_model="numpy", fastmath=False)(function)
    enable_cache(dispatcher, function.__module__)
    return cast(F, dispatcher)


def enable_cache(dispatcher: Any, module: str) -> None:
    """Cache compiled code of a module under a stamp that covers every building block.

    Numba stamps an entry with the text of the function's own file only. A kernel whose building block was
    edited in another file would go on running its old arithmetic, so the stamp gets a digest of all of them.
    """
    try:
        dispatcher.enable_caching()
    except RuntimeError as error:
        _warn_uncached(str(error))
        return
    file = dispatcher._cache._cache_file
    file._source_stamp = (file._source_stamp, sources_digest(*_rooms(module)))
    _forget_damage(dispatcher._cache)


def _forget_damage(cache: Any) -> None:
    """Treat an entry that cannot be read (cut off, overwritten) as absent, and drop it."""
    load = cache.load_overload

    def load_or_forget(signature: Any, target_context: Any) -> Any:
        try:
            return load(signature, target_context)
        except Exception:  # unpickling damaged bytes may raise anything
            cache.flush()
            return None

    cache.load_overload = load_or_forget


def _rooms(module: str) -> tuple[str, ...]:
    """Rooms whose sources a module's compiled code may contain, () for numerics and kernels."""
    if not module.startswith("emu.models."):
        return ()
    return "numerics", "kernels", "models/blocks", "/".join(module.split(".")[1:3])


@functools.cache
def _warn_uncached(reason: str) -> None:
    warnings.warn(
        f"compiled mirrors cannot be cached and will be compiled again in every process: {reason}; "
        "set NUMBA_CACHE_DIR to a writable directory",
        RuntimeWarning,
        stacklevel=2,
    )


@functools.cache
def sources_digest(*rooms: str) -> str:
    """SHA-256 (hex) of the Python sources of rooms (default: numerics and kernels), by name and content."""
    package = Path(__file__).parent.parent
    digest = hashlib.sha256()
    for room in rooms or ("numerics", "kernels"):
        for path in sorted((package / room).rglob("*.py")):
            name = path.relative_to(package).as_posix()
            digest.update(f"{name}\0".encode() + path.read_bytes() + b"\0")
    return digest.hexdigest()
