"""A model of yours on an image, compared stage by stage; each run ends at the first wrong stage."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from emu.cpu.engine import Stopped
from emu.cpu.hooks import STOP, GuestCall, Hook
from emu.cpu.memory import MemoryFault
from emu.image import Image
from emu.image.errors import SymbolError
from emu.kernels.spec import Kernel
from emu.numerics.types import AnyArray
from emu.verify.case import Case
from emu.verify.check import check
from emu.verify.compare import Difference, difference
from emu.verify.errors import TargetFault, UsageProblem
from emu.verify.image_check import check_image
from emu.verify.image_target import ImageTarget
from emu.verify.modelspec import DTYPES, TAP, ModelSpec, address_of, check_stages, pointer_of
from emu.verify.options import Options
from emu.verify.target import MirrorTarget
from emu.verify.verdict import Verdict


@dataclass
class StageRun:
    """One case.

    ``seen``: stages that were equal, in order; ``wrong``: the first that is not, with ``difference`` or the
    reason in ``message``; ``missing``: stages of the mirror that the image never showed, ``unknown``: those
    that only the image shows.
    """

    verdict: Verdict = Verdict.EQUAL
    seen: list[str] = field(default_factory=list)
    wrong: str = ""
    difference: Difference | None = None
    message: str = ""
    missing: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


class ModelRunner:
    """Runs cases of one model. Raises UsageProblem for a spec that does not fit the image."""

    def __init__(self, spec: ModelSpec, image: Image, options: Options) -> None:
        self.spec = spec
        self._golden: dict[str, AnyArray] = {}
        self.kernel: Kernel = spec.kernel(self._golden.__setitem__)
        check_image(image, [self.kernel])
        self._reference = MirrorTarget()
        self._target = ImageTarget(image, replace(options, bounds=False))
        self._target.repeats = False
        self._places = {name: address_of(image, at.where) for name, at in spec.stages.items()}
        check_stages(spec, image)
        self._has_taps = TAP in image.symbols

    def run(self, case: Case) -> StageRun:
        """Both sides. Raises ToolError when the mirror fails."""
        self._golden.clear()
        self._reference.call(self.kernel, case)
        self._found = StageRun()
        self._hits: dict[str, int] = {}
        hooks = list(self._hooks())
        try:
            outcome = check(self.kernel, case, self._reference, self._target)
        except Stopped:
            return self._found
        finally:
            for hook in hooks:
                hook.remove()
        return self._finished(outcome.fault, outcome.bad)

    def _hooks(self) -> Iterator[Hook]:
        engine = self._target.engine
        if self._has_taps:
            yield engine.hook(TAP, self._tapped)
        for name, address in self._places.items():
            yield engine.hook(address, lambda call, name=name: self._reached(name, call))  # type: ignore[misc]

    def _finished(self, fault: TargetFault | None, is_bad: bool) -> StageRun:
        found = self._found
        found.missing = tuple(name for name in self._golden if name not in found.seen)
        if fault is not None:
            found.verdict, found.message = Verdict.BOARD_FAULT, fault.message
        elif found.missing:
            found.verdict = Verdict.MISMATCH
            found.wrong = found.missing[0]
            found.message = "the image never showed this stage"
        elif is_bad:
            found.verdict = Verdict.MISMATCH
            found.message = "every stage is equal, but what the function leaves is not"
        return found

    def _tapped(self, call: GuestCall) -> object:
        name = call.string(call.argument(0)).decode("utf-8", "replace")
        kind, count = call.argument(2), call.argument(3)
        if name not in self._golden:
            self._found.unknown = (*self._found.unknown, name)
            return None
        if name in self._places:
            return None
        expected = self._golden[name]
        dtype = DTYPES[kind] if kind < len(DTYPES) else f"type {kind}"
        if (dtype, count) != (expected.dtype.name, expected.size):
            return self._wrong(
                name,
                f"the firmware shows {count} elements of {dtype}, the mirror {expected.size} of "
                f"{expected.dtype.name}",
            )
        return self._compare(name, call, call.argument(1))

    def _reached(self, name: str, call: GuestCall) -> object:
        at = self.spec.stages[name]
        self._hits[name] = self._hits.get(name, 0) + 1
        if self._hits[name] != at.hit or name not in self._golden:
            return None
        try:
            return self._compare(name, call, pointer_of(call, at.data))
        except (MemoryFault, SymbolError) as error:
            raise UsageProblem(f"stage {name}: {at.data}: {str(error).splitlines()[0]}") from None

    def _compare(self, name: str, call: GuestCall, address: int) -> object:
        expected = self._golden[name]
        flat = np.ascontiguousarray(expected).reshape(-1)
        try:
            actual = np.frombuffer(call.data(address, flat.nbytes), flat.dtype)
        except MemoryFault:
            return self._wrong(name, f"its {flat.nbytes} bytes at {address:#010x} are not in memory")
        found = difference(name, expected.shape, flat, actual)
        if found is None:
            if name not in self._found.seen:
                self._found.seen.append(name)
            return None
        self._found.difference = found
        return self._wrong(name, "")

    def _wrong(self, name: str, message: str) -> object:
        self._found.verdict, self._found.wrong, self._found.message = Verdict.MISMATCH, name, message
        return STOP
