"""When every kernel of a wrong stage computes what its mirror says: the code between the kernels.

The same stretch of a good image is the measure: the first kernel that is called with something else, or the
first piece that is shown from somewhere else, was prepared wrongly by the code before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from emu.bisect.instruction import LIMIT, FirstWrong, first_wrong
from emu.bisect.kernel_calls import KernelCall
from emu.bisect.machines import Machine, has_scratch_only
from emu.bisect.model_runs import Prepared
from emu.bisect.watch import Event, Shown, Watch, Window
from emu.image import Image, Location
from emu.kernels.spec import Kernel
from emu.verify.compare import bits_of, decimal
from emu.verify.families import Array
from emu.verify.shapes import tensors

_STARTS = 4
"""Stretches that are tried, each one event earlier than the one before."""
_FAR = 1 << 20
"""Pointers that are this far apart belong to different things."""


@dataclass(frozen=True)
class WrongCall:
    """A kernel that is called wrongly, or a tap that shows the wrong memory.

    ``symbol``: of the kernel, "" for a tap; ``what``: how it differs from the good image; ``place``: of the
    event in its window; ``caller``: in the bad image.
    """

    symbol: str
    what: str
    place: int
    caller: Location


def first_wrong_call(good: Window, bad: Window, images: tuple[Image, Image]) -> WrongCall | None:
    """The first event of the bad window that is not as in the good one; None when all are alike.

    Both runs have their working memory at the same addresses.
    """
    for place, (x, y) in enumerate(zip(good.events, bad.events, strict=False)):
        what = _difference(x, y)
        if what:
            return _wrong(y, what, place, images[1])
    if len(good.events) != len(bad.events):
        n = min(len(good.events), len(bad.events))
        longer = bad.events if len(bad.events) > n else good.events
        who = "only the bad image" if longer is bad.events else "only the good image"
        return _wrong(longer[n], f"{who} does it", n, images[1 if longer is bad.events else 0])
    return None


def _wrong(event: Event, what: str, place: int, image: Image) -> WrongCall:
    symbol = event.symbol if isinstance(event, KernelCall) else ""
    return WrongCall(symbol, what, place, image.locate(event.caller - 3))


def _difference(x: Event, y: Event) -> str:
    if isinstance(x, Shown) or isinstance(y, Shown):
        return _shown_difference(x, y)
    if x.symbol != y.symbol:
        return f"{y.symbol} is called where the good image calls {x.symbol}"
    for name, value in x.scalars.items():
        if np.array(value).tobytes() != np.array(y.scalars[name]).tobytes():
            return f"{name} is {y.scalars[name]}, in the good image {value}"
    return next(_tensor_differences(x, y), "")


def _shown_difference(x: Event, y: Event) -> str:
    if not isinstance(x, Shown) or not isinstance(y, Shown):
        a, b = (
            f"stage {e.stage} is shown" if isinstance(e, Shown) else f"{e.symbol} is called" for e in (x, y)
        )
        return f"{b} where in the good image {a}"
    if x.stage != y.stage:
        return f"stage {y.stage} is shown where the good image shows {x.stage}"
    moved = _moved(x.piece.data, y.piece.data)
    if moved:
        return f"the memory shown as {y.stage} begins {moved}"
    if x.values.shape != y.values.shape or x.values.tobytes() != y.values.tobytes():
        return f"stage {y.stage} has other contents"
    return ""


def _tensor_differences(x: KernelCall, y: KernelCall) -> Iterator[str]:
    for tensor in tensors(x.kernel):
        name = tensor.name
        if x.case is None or y.case is None:
            if x.trouble != y.trouble:
                yield y.trouble or f"it can be read, in the good image not: {x.trouble}"
            return
        moved = _moved(x.pointers[name], y.pointers[name])
        if tensor.role != "in" and moved and not has_scratch_only(x.kernel, name, y.case):
            yield f"{name} (output) begins {moved}"
        elif tensor.role != "out":
            text = _contents(x.case.arrays[name], y.case.arrays[name])
            if text:
                how = f"begins {moved}; its contents differ" if moved else "has other contents"
                yield f"{name} {how}: {text}"


def _moved(x: int, y: int) -> str:
    """How far a pointer is from where the good image has it."""
    distance = y - x
    if not distance or abs(distance) >= _FAR:
        return ""
    return f"{abs(distance)} bytes {'later' if distance > 0 else 'earlier'} than in the good image"


def _contents(x: Array, y: Array) -> str:
    if x.size != y.size:
        return f"{y.size} elements, in the good image {x.size}"
    unequal = np.flatnonzero(bits_of(x) != bits_of(y))
    if not unequal.size:
        return ""
    at = int(unequal[0])
    a, b = (decimal(int(v[at : at + 1].view(f"u{v.itemsize}")[0]), v.dtype.name) for v in (x, y))
    return f"element {at} is {b}, in the good image {a}; {unequal.size:,} of {x.size:,} differ"


def instruction_before(
    good: Prepared, bad: Prepared, windows: tuple[Window, Window], place: int, kernels: Mapping[str, Kernel]
) -> FirstWrong | None:
    """The first instruction that differs between the event before ``place`` and that event.

    ``good``, ``bad``: runs that have not begun. Where nothing differs there, what is wrong was written before
    the event before it: up to four earlier stretches are looked at.
    """
    for start in range(place, max(place - _STARTS, -1), -1):
        machines = []
        for prepared, window in zip((good, bad), windows, strict=True):
            machine = _at(prepared, window, start, kernels)
            if machine is None:
                return None
            machines.append(machine)
        found = first_wrong(machines[0], machines[1])
        if found is not None:
            return found
    return None


def _at(prepared: Prepared, window: Window, place: int, kernels: Mapping[str, Kernel]) -> Machine | None:
    """A run just behind the event before ``place``; it is over where the event itself begins."""
    before = window.events[place - 1] if place else window.before
    if before is None or place >= len(window.events):
        return None
    watch = Watch(prepared, kernels, stop_behind=before, keeps_calls=False).run()
    if not watch.is_stopped:
        return None
    engine = prepared.engine
    event = window.events[place]
    if isinstance(event, Shown):
        entry = event.address
    else:
        entry = engine.image.symbols.function(event.symbol).address
    engine.state.budget = 2 * LIMIT
    return Machine(engine, lambda: bool(entry == engine.state.PC))
